// Package config holds the values that a spec sets and a generated program contains: its task,
// training and tests. Package check of the compiler fills them in, package host prints them as
// Go, and packages task, train and eval of the runtime read them. It imports only packages of
// plain values.
package config

import "github.com/arithlang/mlc/runtime/tokens"

// A Task describes problems.
type Task struct {
	Kind             string   // a row of the task table, or mixed
	Of               []string // mixed: kinds, used round-robin
	DigitsLo         int      // operands have DigitsLo to DigitsHi significant digits …
	DigitsHi         int
	Below            int64 // … or, if not 0, are drawn from [0, Below) by a random permutation
	Repeated         bool  // with Below: every epoch repeats the first
	Released         bool  // … or, with Below, from the lists released with the code of Duan & Shi 2023
	LengthLo         int   // sort: LengthLo to LengthHi entries
	LengthHi         int
	OperandsLo       int // sum: OperandsLo to OperandsHi numbers
	OperandsHi       int
	Batch            int // sum: examples per batch, all with the same number of numbers
	Base             int
	Used             bool // leaves out tokens that occur in no problem
	Started          bool // a text begins with a start mark
	Unended          bool // the width of an answer tells where it ends: no end is learned or judged
	Sequence         bool // a problem is one text, prompt=answer, for a decoder-only model
	Reversed         bool // the answer is written least significant digit first
	ReversedOperands bool // operands are written least significant digit first
	Interleave       bool // two operands: digits of the same place stand next to each other, operator first
	Pad              Pad
	Hints            string  // sequences: none (or ""), cyclic or fixed: a letter before each digit
	RandomPad        float64 // sequences: chance of a filler before a character, in training
	Examples         int64   // sequences: size of the training set, held-out problems included; 0: unlimited
	Holdout          float64 // fraction of the problems that training never sees
	Curriculum       Curriculum
	Rounds           Rounds
	Split            *uint64 // seed of Holdout, and of the set of Examples; nil: the run's seed
	LossOnAll        bool    // sequences: the prompt has labels, too
	Padded           bool    // sequences: padded to the longest possible length, in the order drawn
	Scratchpad       bool    // parity: the answer is the parity of each prefix; sum, multiplication: all sums on the way
	PartialProducts  bool    // with Scratchpad, multiplication: before each sum but the first stands the product that it adds
	Problems         string  // file: one problem a line, each with its end: prompt, separator, answer, both as Tokens.Join writes them
	Tests            string  // file: tested problems in the same form; "": the held-out ones
	Separator        string  // file: between prompt and answer
	Tokens           tokens.Rule
	Recurrences      Recurrences // of a loop; zero: equally many on all problems
}

// A Curriculum changes the problems with the progress of training. The zero Curriculum changes
// nothing.
type Curriculum struct {
	From    int     // most digits of operands at first; 0: DigitsHi throughout
	Until   float64 // share of training after which DigitsHi is the most
	Carries float64 // share of addition problems with long carries at first
	Fade    float64 // share of training over which Carries falls to 0
}

// Any reports whether problems change.
func (c Curriculum) Any() bool { return c != Curriculum{} }

// Hinted reports whether hint letters precede digits.
func (t *Task) Hinted() bool { return t.Hints != "" && t.Hints != "none" }

// MaxDigits is the most digits of operands in tests and questions: it keeps a typing error from
// allocating terabytes. Widths go twice as far.
const MaxDigits = 1 << 15

// MaxOperands is the most numbers in a sum.
const MaxOperands = 64

// A Pad is the fixed width of operands and answer, which zeros fill up. It is the smallest of
// To, To+Step, To+2*Step, … that fits. To = 0: as wide as needed. The answer is Less places
// narrower.
type Pad struct{ To, Step, Less int }

// Width returns the padded width of numbers with n digits, or less than n if no width fits.
func (p Pad) Width(n int) int {
	switch {
	case p.To == 0:
		return n
	case n <= p.To || p.Step <= 0:
		return p.To
	}
	return p.To + (n-p.To+p.Step-1)/p.Step*p.Step
}
