package config

import (
	"fmt"
	"strconv"
	"strings"
)

// An Eval says what is tested after training.
type Eval struct {
	Grid       Grid  // cells, every pair of lengths
	Diagonal   Span  // cells, both operands of one length
	Digits     []int // the same, for lengths one by one
	Operands   []int // sums: how many numbers, for each of Digits; none: as many as training has at most
	Samples    int   // problems a cell
	Pad        Pad
	FirstToken bool  // an answer counts when its first token is right
	Greedy     bool  // decode row by row instead of verifying
	Loop       int   // most runs of the loop in training; 0: the model has none
	ByLength   bool  // it runs as often as the length of a problem says
	Times      []int // runs of the loop that are tested besides
	Settle     int   // most runs in a test besides that takes as many as an answer needs; 0: none
	Reach      Reach // of the model's positions
	During     During
}

// A During says what is tested while training.
type During struct {
	Every   Budget // between two tests: steps, examples or FLOP; zero: there are none
	Digits  []int  // of both operands; none: a few of those that are tested after training
	Samples int    // problems a length
}

// Any reports whether there are tests.
func (d *During) Any() bool { return d.Every != (Budget{}) }

// A Criterion says when a test during training is better than another.
type Criterion struct {
	Loss    bool // by the loss, else by exact match
	At      int  // of this length, 0: by the mean over all
	Average bool // of the averaged weights
}

// A Span is the lengths Lo … Hi; none when Hi is 0.
type Span struct{ Lo, Hi int }

// Lengths lists them.
func (s Span) Lengths() []int {
	var out []int
	for n := max(s.Lo, 1); n <= s.Hi; n++ {
		out = append(out, n)
	}
	return out
}

// String is the span as the command line has it.
func (s Span) String() string { return fmt.Sprintf("%d..%d", s.Lo, s.Hi) }

// UnmarshalText reads a span as the command line has it: 101..160, or 20.
func (s *Span) UnmarshalText(text []byte) error {
	lo, hi, ok := strings.Cut(string(text), "..")
	if !ok {
		hi = lo
	}
	var errs [2]error
	s.Lo, errs[0] = strconv.Atoi(lo)
	s.Hi, errs[1] = strconv.Atoi(hi)
	if errs != [2]error{} || s.Lo < 1 || s.Hi < s.Lo {
		return fmt.Errorf("%q is no range of lengths: want 1..20, from at least 1 upwards", text)
	}
	return nil
}

// A Grid is all pairs of a length of First and one of Second: digits of the two
// operands, for an array digits and entries.
type Grid struct{ First, Second Span }

// String is the grid as the command line has it.
func (g Grid) String() string { return g.First.String() + "," + g.Second.String() }

// UnmarshalText reads a grid: 1..100,1..100, or one span for both.
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

// A Reach is how far the tables of positions go that a model has, and which problems its
// calibrated biases fit. Kernels read the last row for what lies beyond, so that an answer
// there says nothing.
type Reach struct {
	Tokens int // rows of a table with one for each token of a text; 0: there is none
	Places int // rows of a table with one for each place in a number, and the first for other tokens; 0: there is none
	Rows   int // of calibrated biases, one for each token of an answer; 0: there are none
	Source int // tokens that a source has beside a calibrated bias of cross attention; 0: there is none
}
