package config

import (
	"fmt"
	"strconv"
	"strings"
)

// An Eval describes the tests after training.
type Eval struct {
	Grid       Grid  // cells: every pair of lengths
	Diagonal   Span  // cells: both operands of the same length
	Digits     []int // further cells with operands of the same length
	Operands   []int // sums: how many numbers, for each of Digits; empty: the most in training
	Samples    int   // problems a cell
	Pad        Pad
	FirstToken bool  // an answer counts when its first token is right
	Greedy     bool  // decode row by row instead of verifying
	Loop       int   // most runs of the loop in training; 0: no loop
	ByLength   bool  // the length of a problem determines how often the loop runs
	Times      []int // further tests, with so many runs of the loop
	Settle     int   // most runs in a further test that loops until the answer settles; 0: no such test
	Reach      Reach // reach of the model's positions
	During     During
}

// A During describes the tests during training.
type During struct {
	Every   Budget // between two tests: steps, examples or FLOP; zero: no tests
	Digits  []int  // digits of both operands; empty: a few lengths of the test after training
	Samples int    // problems for each length
}

// Any reports whether there are tests.
func (d *During) Any() bool { return d.Every != (Budget{}) }

// A Criterion compares two tests during training.
type Criterion struct {
	Loss    bool // compares losses instead of exact match
	At      int  // at this length; 0: by the mean over all lengths
	Average bool // tests the averaged weights
}

// A Span is the lengths Lo … Hi, empty if Hi is 0.
type Span struct{ Lo, Hi int }

// Lengths lists the lengths of the span.
func (s Span) Lengths() []int {
	var out []int
	for n := max(s.Lo, 1); n <= s.Hi; n++ {
		out = append(out, n)
	}
	return out
}

// String is the span in the form of the command line.
func (s Span) String() string { return fmt.Sprintf("%d..%d", s.Lo, s.Hi) }

// UnmarshalText parses a span in the form of the command line: 101..160, or 20.
func (s *Span) UnmarshalText(text []byte) error {
	lo, hi, ok := strings.Cut(string(text), "..")
	if !ok {
		hi = lo
	}
	var errs [2]error
	s.Lo, errs[0] = strconv.Atoi(lo)
	s.Hi, errs[1] = strconv.Atoi(hi)
	if errs != [2]error{} || s.Lo < 1 || s.Hi < s.Lo {
		return fmt.Errorf("%q is no range of lengths: want 1..20, ascending, from at least 1", text)
	}
	return nil
}

// A Grid is all pairs of a length from First and a length from Second: digits of the two
// operands, or digits and entries of an array.
type Grid struct{ First, Second Span }

// String is the grid in the form of the command line.
func (g Grid) String() string { return g.First.String() + "," + g.Second.String() }

// UnmarshalText parses a grid: 1..100,1..100, or one span for both.
func (g *Grid) UnmarshalText(text []byte) error {
	first, second, ok := strings.Cut(string(text), ",")
	if !ok {
		second = first
	}
	if err := g.First.UnmarshalText([]byte(first)); err != nil {
		return err
	}
	return g.Second.UnmarshalText([]byte(second))
}

// A Reach says how far a model's tables of positions go, and which problems fit its calibrated
// biases. Kernels clamp to the last row, so answers to longer problems mean nothing.
type Reach struct {
	Tokens int // rows of a table with one row for each token of a text; 0: no such table
	Places int // rows of a table with one row for each place in a number, and row 0 for other tokens; 0: no such table
	Rows   int // rows of calibrated biases, one for each token of an answer; 0: no such biases
	Source int // source tokens that a calibrated bias of cross attention fits; 0: no such bias
}

// Sampling says how a model of text continues a prompt. Its fields are flags.
type Sampling struct {
	Tokens      int     `help:"Of a model of text: characters to add to each prompt, 200 by default." positive:"200" placeholder:"N"`
	Temperature float64 `help:"Of a model of text: 1 draws characters as likely as the model finds them, 0 takes the most likely one." default:"1" placeholder:"T"`
	TopK        int     `help:"Of a model of text: draw from so many of the most likely characters." positive:"10" placeholder:"K"`
	DrawSeed    uint64  `help:"Of a model of text: seed of the draws." name:"seed" placeholder:"S"`
}
