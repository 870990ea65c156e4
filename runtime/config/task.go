// Package config is what a spec sets, as values that a generated program has, too:
// its task, training and tests. Package check of the compiler fills them in, package
// host prints them as Go, and task, train and eval of the runtime read them. It
// imports nothing but values.
package config

import "github.com/arithlang/mlc/runtime/tokens"

// A Task says what problems look like.
type Task struct {
	Kind             string   // a row of the task table, or mixed
	Of               []string // mixed: the kinds that take turns
	DigitsLo         int      // operands have DigitsLo to DigitsHi significant digits …
	DigitsHi         int
	Below            int64 // … or, if not 0, are drawn from [0, Below) by a random permutation
	Repeated         bool  // with Below: every epoch is the first again
	Released         bool  // … or, with Below, from the lists of the code that Duan & Shi 2023 released
	LengthLo         int   // sort: LengthLo to LengthHi entries
	LengthHi         int
	OperandsLo       int // sum: OperandsLo to OperandsHi numbers
	OperandsHi       int
	Batch            int // sum: so many examples of training, one batch, have as many numbers
	Base             int
	Used             bool // the only tokens are those that problems have
	Started          bool // a text begins with a mark
	Unended          bool // the width of an answer says where it ends: no end is learned, and none counts
	Sequence         bool // a problem is one text, prompt=answer, for a decoder-only model
	Reversed         bool // the answer is written least significant digit first
	ReversedOperands bool // so are the operands
	Interleave       bool // two operands: digits of equal place stand side by side, operator first
	Pad              Pad
	Hints            string  // sequences: none (or ""), cyclic or fixed: a letter before each digit
	RandomPad        float64 // sequences: chance of a filler before a character, in training
	Examples         int64   // sequences: the set that training walks, hold-out included; 0: no end
	Holdout          float64 // fraction of the problems that training never sees
	Curriculum       Curriculum
	Rounds           Rounds
	Split            *uint64 // seed of that part, and of the set of Examples; nil: that of the run
	LossOnAll        bool    // sequences: the prompt has labels, too
	Padded           bool    // sequences: all as long as the longest there can be, in the order drawn
	Scratchpad       bool    // parity: the answer is the parity of each prefix; sum, multiplication: all sums on the way
	Problems         string  // file: a problem a line, each with its end: prompt, separator, answer, both as Tokens.Join has them
	Tests            string  // file: in the same way those that are tested; "": those that are held out
	Separator        string  // file: between prompt and answer
	Tokens           tokens.Rule
	Recurrences      Recurrences // of a loop on a problem; zero: equally many on all
}

// A Curriculum says how the problems of a training change with the share of it that is
// behind them. The zero Curriculum changes nothing.
type Curriculum struct {
	From    int     // the most digits of operands at first; 0: DigitsHi throughout
	Until   float64 // share of the training after which that is DigitsHi
	Carries float64 // share of the problems of addition that have long carries at first
	Fade    float64 // share of the training over which that falls to 0
}

// Any reports whether problems change.
func (c Curriculum) Any() bool { return c != Curriculum{} }

// Hinted reports whether letters stand before digits.
func (t *Task) Hinted() bool { return t.Hints != "" && t.Hints != "none" }

// MaxDigits is the most digits of operands in tests and questions, so that a slip asks
// for no terabyte. Widths go twice as far.
const MaxDigits = 1 << 15

// MaxOperands is the most numbers of a sum.
const MaxOperands = 64

// A Pad is the fixed width that operands and answer are padded to with zeros: the
// smallest of To, To+Step, To+2*Step, … that they fit in. To = 0: as wide as needed.
// The answer is Less places narrower.
type Pad struct{ To, Step, Less int }

// Width is what numbers of n digits are padded to, less than n if there is no such
// width.
func (p Pad) Width(n int) int {
	switch {
	case p.To == 0:
		return n
	case n <= p.To || p.Step <= 0:
		return p.To
	}
	return p.To + (n-p.To+p.Step-1)/p.Step*p.Step
}
