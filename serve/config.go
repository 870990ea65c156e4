// Package serve shows runs as pages: a list of those below a folder, one run, and several
// side by side; served to a browser on this machine (Server), or as one file (Report). The
// pages are rendered here, as HTML and SVG, and a script only sorts, swaps what has changed
// and says what is below a pointer. Packages plot, plot/list and the readers of runtime come
// before it; the command mlc, which gives it what needs the compiler (Config), after it.
package serve

import (
	"context"
	"encoding/json"
	"time"
)

// A Config says what is served, and has what needs the compiler or a run's trainer. A run is
// the path of its directory. What is nil is said on the page not to be there.
type Config struct {
	Folder  string // with runs in it or below
	Version string // of mlc

	// Solve is the answer to a problem, after each run of a loop if thinking is set; times is
	// how often the loop runs, 0 as in training. It says what it does where that takes long.
	Solve func(ctx context.Context, run, problem string, times int, thinking bool, say func(string)) (*Answer, error)

	// Explain is the spec of a run with its kernels beside each line.
	Explain func(ctx context.Context, run string) (*Explanation, error)

	// Shorter is a resolved spec without what it would say anyway; "" where that is not known.
	Shorter func(ctx context.Context, spec string) (string, error)

	// Attention is the attention paid for a problem and the model's answer, with times as in
	// Solve; Biases is what is learned for all problems.
	Attention func(ctx context.Context, run, problem string, times int) (*Attention, error)
	Biases    func(ctx context.Context, run string) ([]Bias, error)

	// Limit is the longest that one of these may take; 0 is five minutes.
	Limit time.Duration
}

// An Answer is what solve --json prints, and with --thinking.
type Answer struct {
	Problem  string    `json:"problem"`
	Answer   string    `json:"answer"`   // the model's
	Expected string    `json:"expected"` // the right one; "": not known
	Right    *bool     `json:"right"`
	After    [][]Token `json:"after"`   // for 1, 2, … runs of a loop, each token
	Settled  int       `json:"settled"` // after so many runs
}

// Verdict says whether the answer is right; "" where nobody knows.
func (a *Answer) Verdict() string {
	switch {
	case a.Right == nil:
		return ""
	case *a.Right:
		return "right"
	}
	return "wrong"
}

// Loops says whether the answer was followed through more than one run of a loop.
func (a *Answer) Loops() bool { return len(a.After) > 1 }

// A Token is one of an answer.
type Token struct {
	Token string `json:"token"`
	Right bool   `json:"right"`
}

// An Explanation is a spec, line by line, with the kernels that come of each, and a page with
// every stage of the compilation.
type Explanation struct {
	Lines   []SpecLine
	Kernels []Kernel
	Page    []byte // HTML with a style and a script in it that refers to nothing outside
}

// A SpecLine is one of a spec. Kernels are numbers of Explanation.Kernels.
type SpecLine struct {
	Text    string
	Kernels []int
}

// A Kernel is one of a program.
type Kernel struct {
	Name   string // with its family
	Text   string // kernel IR
	Values int    // lines of the text
}

// An Attention is the weights of every head for one problem. Rows and Cols are the tokens
// of maps that have none of their own.
type Attention struct {
	Answer     string // the model's
	Expected   string // the right one; "": not known
	Rows, Cols []string
	Maps       []Map
}

// A Map is the weights of a head: a row for each query, a column for each key.
type Map struct {
	Name       string // decoder.0.self
	Run, Head  int    // of the loop, from 0; of the layer, from 0
	Rows, Cols []string
	Values     [][]float64
}

// A Bias is what a head adds to its scores. Of a curve, Values has one row, over X, the
// distance of query and key; of a map a row for each query and a column for each key.
type Bias struct {
	Name   string
	Head   int
	Kind   string // curve, map
	X      []float64
	Values [][]float64
}

// ParseAnswer reads what solve --json prints for one problem.
func ParseAnswer(text []byte) (*Answer, error) {
	a := new(Answer)
	return a, json.Unmarshal(text, a)
}
