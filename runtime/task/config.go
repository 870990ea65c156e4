package task

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/arithlang/mlc/runtime/config"
)

// A Config says what problems look like. Generated code holds one.
type Config config.Task

// A Pad is the width that numbers are padded to.
type Pad = config.Pad

func (c *Config) hinted() bool { return (*config.Task)(c).Hinted() }

// check wants a Config that makes problems.
func (c *Config) check() error {
	if err := cmp.Or(c.checkCurriculum(), c.checkRounds()); err != nil {
		return err
	}
	if c.Recurrences.ByLength() && !c.Sequence {
		return fmt.Errorf("recurrences by length are of a loop, which reads sequences")
	}
	if c.Kind == "mixed" {
		if len(c.Of) == 0 || slices.Contains(c.Of, "mixed") || slices.Contains(c.Of, "sort") || !c.Sequence {
			return fmt.Errorf("a mix of %v: want sequences of one or more other kinds of numbers", c.Of)
		}
		return nil // the parts are checked
	}
	if c.Kind == ofFile {
		return c.checkFile()
	}
	k, ok := kindOf(c)
	switch {
	case !ok:
		return fmt.Errorf("there are %s", kindNames())
	case c.Base < 2 || c.Base > len(digits) || c.Sequence && c.Base > 10:
		return fmt.Errorf("base %d: bases are 2 to %d, of sequences to 10", c.Base, len(digits))
	case c.Interleave && k.arity != 2:
		return fmt.Errorf("one operand cannot be interleaved")
	case c.Used && (c.hinted() || c.RandomPad != 0):
		return fmt.Errorf("a vocabulary of what is used has no hints and no fillers")
	case c.Unended && (c.Pad.To == 0 || k.arity == 0):
		return fmt.Errorf("answers without an end are for numbers of a known width")
	case k.family == sums{} && c.Sequence:
		return fmt.Errorf("decoder-only models do not have it: use an encoder-decoder")
	case k.family == sums{} && (c.OperandsLo < 2 || c.OperandsHi < c.OperandsLo || c.Below > 0 || c.Interleave || c.Pad.To == 0):
		return fmt.Errorf("sums of %d to %d numbers: want two or more, given by their digits, padded with zeros, one behind the other", c.OperandsLo, c.OperandsHi)
	case k.family == sums{} && c.Scratchpad && c.Pad.Less != 0:
		return fmt.Errorf("sums on the way are as wide as operands: leave out the width of the answer")
	case k.name == "multiplication" && c.Scratchpad && (!c.Reversed || c.Pad.To > 0 || c.Interleave || c.hinted()):
		return fmt.Errorf("sums on the way to a product are written lowest digit first, without zeros in front of operands, and without hints")
	case !c.Sequence && !k.seq2seq:
		return fmt.Errorf("encoder-decoders do not have it: use a decoder-only model")
	case !c.Sequence && (c.hinted() || c.RandomPad != 0 || c.Examples != 0 || c.LossOnAll):
		return fmt.Errorf("hints, random padding, a set of examples and a loss on the prompt are for sequences")
	case c.Below == 0 && (c.DigitsLo < 1 || c.DigitsHi < c.DigitsLo):
		return fmt.Errorf("operands of %d to %d digits: lengths start at 1 and ascend", c.DigitsLo, c.DigitsHi)
	case c.Below < 0 || c.Holdout < 0 || c.Holdout >= 1 || c.RandomPad < 0 || c.RandomPad > 1:
		return fmt.Errorf("numbers below %d, a hold-out of %g, random padding of %g: want a positive number and fractions", c.Below, c.Holdout, c.RandomPad)
	case c.Below > 0 && (c.Examples != 0 || k.family == vectors{} || k.family == arrays{}):
		return fmt.Errorf("numbers below %d are a set by themselves, and of numbers", c.Below)
	case c.Released && (c.Below != listed || !k.seq2seq):
		return fmt.Errorf("numbers below %d from the released lists: those are for successor, addition, nx1 and parity, and of %d numbers", c.Below, listed)
	case (c.Pad.To > 0 || c.Interleave) && (k.family == vectors{} || k.family == arrays{}):
		return fmt.Errorf("zeros in front are for numbers")
	case k.family == arrays{} && (c.LengthLo < 1 || c.LengthHi < c.LengthLo):
		return fmt.Errorf("arrays of %d to %d entries: lengths start at 1 and ascend", c.LengthLo, c.LengthHi)
	}
	return nil
}
