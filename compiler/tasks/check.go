package tasks

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/task/windows"
)

// Check wants a Config that makes problems.
func (c Config) Check() error {
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
	if c.Listed() {
		return c.checkFile()
	}
	k, ok := KindOf(c.Config)
	switch {
	case !ok:
		return fmt.Errorf("there are %s", names())
	case c.Base < 2 || c.Base > len(task.Digits) || c.Sequence && c.Base > 10:
		return fmt.Errorf("base %d: bases are 2 to %d, of sequences to 10", c.Base, len(task.Digits))
	case c.Interleave && k.Arity != 2:
		return fmt.Errorf("one operand cannot be interleaved")
	case c.Used && (c.Hinted() || c.RandomPad != 0):
		return fmt.Errorf("a vocabulary of what is used has no hints and no fillers")
	case c.Unended && (c.Pad.To == 0 || k.Arity == 0):
		return fmt.Errorf("answers without an end are for numbers of a known width")
	case c.Kind == "sum" && c.Sequence:
		return fmt.Errorf("decoder-only models do not have it: use an encoder-decoder")
	case c.Kind == "sum" && (c.OperandsLo < 2 || c.OperandsHi < c.OperandsLo || c.Below > 0 || c.Interleave || c.Pad.To == 0):
		return fmt.Errorf("sums of %d to %d numbers: want two or more, given by their digits, padded with zeros, one behind the other", c.OperandsLo, c.OperandsHi)
	case c.Kind == "sum" && c.Scratchpad && c.Pad.Less != 0:
		return fmt.Errorf("sums on the way are as wide as operands: leave out the width of the answer")
	case k.Name == "multiplication" && c.Scratchpad && (!c.Reversed || c.Pad.To > 0 || c.Interleave || c.Hinted()):
		return fmt.Errorf("sums on the way to a product are written lowest digit first, without zeros in front of operands, and without hints")
	case c.PartialProducts && (k.Name != "multiplication" || !c.Scratchpad):
		return fmt.Errorf("partial products are part of a scratchpad for products")
	case !c.Sequence && !k.Paired:
		return fmt.Errorf("encoder-decoders do not have it: use a decoder-only model")
	case !c.Sequence && (c.Hinted() || c.RandomPad != 0 || c.Examples != 0 || c.LossOnAll):
		return fmt.Errorf("hints, random padding, a set of examples and a loss on the prompt are for sequences")
	case c.Below == 0 && (c.DigitsLo < 1 || c.DigitsHi < c.DigitsLo):
		return fmt.Errorf("operands of %d to %d digits: lengths start at 1 and ascend", c.DigitsLo, c.DigitsHi)
	case c.Below < 0 || c.Holdout < 0 || c.Holdout >= 1 || c.RandomPad < 0 || c.RandomPad > 1:
		return fmt.Errorf("numbers below %d, a hold-out of %g, random padding of %g: want a positive number and fractions", c.Below, c.Holdout, c.RandomPad)
	case c.Below > 0 && (c.Examples != 0 || c.Kind == "or" || c.Kind == "sort"):
		return fmt.Errorf("numbers below %d are a set by themselves, and of numbers", c.Below)
	case c.Released && (c.Below != task.Listed || !k.Paired):
		return fmt.Errorf("numbers below %d from the released lists: those are for successor, addition, nx1 and parity, and of %d numbers", c.Below, task.Listed)
	case (c.Pad.To > 0 || c.Interleave) && (c.Kind == "or" || c.Kind == "sort"):
		return fmt.Errorf("zeros in front are for numbers")
	case c.Kind == "sort" && (c.LengthLo < 1 || c.LengthHi < c.LengthLo):
		return fmt.Errorf("arrays of %d to %d entries: lengths start at 1 and ascend", c.LengthLo, c.LengthHi)
	}
	return nil
}

// checkCurriculum wants one that the problems can follow.
func (c Config) checkCurriculum() error {
	k := c.Curriculum
	switch {
	case !k.Any():
	case c.Below > 0 || c.Examples > 0 || c.Listed():
		return fmt.Errorf("a curriculum is for problems that are drawn anew, without a bound, a set of examples or a file")
	case k.From != 0 && (k.From < c.DigitsLo || k.From > c.DigitsHi || k.Until <= 0 || k.Until > 1):
		return fmt.Errorf("a curriculum from %d digits until %g of the training, of operands of %d to %d digits: want one of these lengths, and a share", k.From, k.Until, c.DigitsLo, c.DigitsHi)
	case k.Carries != 0 && (k.Carries < 0 || k.Carries > 1 || k.Fade <= 0 || k.Fade > 1):
		return fmt.Errorf("carries in %g of the problems until %g of the training: want shares", k.Carries, k.Fade)
	}
	return nil
}

// checkRounds wants rounds that lead to longer problems of one kind.
func (c Config) checkRounds() error {
	r := c.Rounds
	if !r.Any() {
		return nil
	}
	k, _ := KindOf(c.Config)
	switch {
	case k.Arity == 0 || k.Bits || c.Listed() || c.Below > 0 || c.Examples > 0 || c.Curriculum.Any():
		return fmt.Errorf("rounds are for numbers that are drawn anew by their digits, of one kind, without a curriculum")
	case r.Until <= c.DigitsHi || r.Step < 1 || r.Samples < 1 || r.Votes < 1 || r.Newest < 0 || r.Newest > 1:
		return fmt.Errorf("rounds up to %d digits by %d, of %d problems with %d votes, behind problems of %d digits: want longer ones", r.Until, r.Step, r.Samples, r.Votes, c.DigitsHi)
	case r.Votes > 1 && !c.Hinted() && (k.Single() || !k.Commutes()):
		return fmt.Errorf("%d votes on a problem that can be asked in one way only", r.Votes)
	}
	return nil
}

// checkFile wants a Config of a file that makes problems.
func (c Config) checkFile() error {
	switch {
	case !c.Sequence:
		return fmt.Errorf("encoder-decoders do not have it: use a decoder-only model")
	case c.Kind == "text":
		return windows.Check(utf8.RuneCountInString(c.Problems), c.LengthHi, c.Holdout)
	case c.Separator == "":
		return fmt.Errorf("no separator stands between prompt and answer")
	case len(c.Problems)+len(c.Tests) > math.MaxInt32:
		return fmt.Errorf("%d bytes of problems: at most %d can be numbered", len(c.Problems)+len(c.Tests), math.MaxInt32)
	case c.Holdout < 0 || c.Holdout >= 1 || c.RandomPad < 0 || c.RandomPad > 1:
		return fmt.Errorf("a hold-out of %g, random padding of %g: want fractions", c.Holdout, c.RandomPad)
	}
	return nil
}
