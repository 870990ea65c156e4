package task

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/runtime/tokens"
)

// A Config says what problems look like. Generated code holds one.
type Config struct {
	Kind             string   // a row of the task table, or mixed
	Of               []string // mixed: the kinds that take turns
	DigitsLo         int      // operands have DigitsLo to DigitsHi significant digits …
	DigitsHi         int
	Below            int64 // … or, if not 0, are drawn from [0, Below) by a random permutation
	Repeated         bool  // with Below: every epoch is the first again
	Released         bool  // … or, with Below, from the lists of released.go
	LengthLo         int   // sort: LengthLo to LengthHi entries
	LengthHi         int
	Base             int
	Sequence         bool // a problem is one text, prompt=answer, for a decoder-only model
	Reversed         bool // the answer is written least significant digit first
	ReversedOperands bool // so are the operands
	Interleave       bool // two operands: digits of equal place stand side by side, operator first
	Pad              Pad
	Hints            string  // sequences: none (or ""), cyclic or fixed: a letter before each digit
	RandomPad        float64 // sequences: chance of a filler before a character, in training
	Examples         int64   // sequences: the set that training walks, hold-out included; 0: no end
	Holdout          float64 // fraction of the problems that training never sees
	Split            *uint64 // seed of that part, and of the set of Examples; nil: that of the task
	LossOnAll        bool    // sequences: the prompt has labels, too
	Padded           bool    // sequences: all as long as the longest there can be, in the order drawn
	Scratchpad       bool    // parity: the answer is the parity of each prefix
	Problems         string  // file: a problem a line, each with its end: prompt, separator, answer, both as Tokens.Join has them
	Tests            string  // file: in the same way those that are tested; "": those that are held out
	Separator        string  // file: between prompt and answer
	Tokens           tokens.Rule
}

// A Pad is the fixed width that operands and answer are padded to with zeros: the
// smallest of To, To+Step, To+2*Step, … that they fit in. To = 0: as wide as needed.
// The answer is Less places narrower.
type Pad struct{ To, Step, Less int }

func (c *Config) hinted() bool { return c.Hints != "" && c.Hints != "none" }

// check wants a Config that makes problems.
func (c *Config) check() error {
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
	case !c.Sequence && !k.seq2seq:
		return fmt.Errorf("encoder-decoders do not have it: use a decoder-only model")
	case !c.Sequence && (c.hinted() || c.RandomPad != 0 || c.Examples != 0 || c.LossOnAll):
		return fmt.Errorf("hints, random padding, a set of examples and a loss on the prompt are for sequences")
	case c.Below == 0 && (c.DigitsLo < 1 || c.DigitsHi < c.DigitsLo):
		return fmt.Errorf("operands of %d to %d digits: lengths start at 1 and ascend", c.DigitsLo, c.DigitsHi)
	case c.Below < 0 || c.Holdout < 0 || c.Holdout >= 1 || c.RandomPad < 0 || c.RandomPad > 1:
		return fmt.Errorf("numbers below %d, a hold-out of %g, random padding of %g: want a positive number and fractions", c.Below, c.Holdout, c.RandomPad)
	case c.Below > 0 && (c.Examples != 0 || k.family == vectors{} || k.arity == 0):
		return fmt.Errorf("numbers below %d are a set by themselves, and of numbers", c.Below)
	case c.Released && (c.Below != listed || !k.seq2seq):
		return fmt.Errorf("numbers below %d from the released lists: those are for successor, addition, nx1 and parity, and of %d numbers", c.Below, listed)
	case (c.Pad.To > 0 || c.Interleave) && (k.family == vectors{} || k.arity == 0):
		return fmt.Errorf("zeros in front are for numbers")
	case k.arity == 0 && (c.LengthLo < 1 || c.LengthHi < c.LengthLo):
		return fmt.Errorf("arrays of %d to %d entries: lengths start at 1 and ascend", c.LengthLo, c.LengthHi)
	}
	return nil
}
