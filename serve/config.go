// Package serve shows runs as pages: a list of all runs below a folder, one run, and several side
// by side. It serves them to a browser on this machine (Server) or writes one file (Report). Pages
// are rendered here as HTML and SVG; a script only sorts, replaces changed parts and shows texts
// near the pointer. Packages plot, plot/list and the readers of runtime come before it. The
// command mlc comes after it, and provides the functions that need the compiler (Config).
package serve

import (
	"context"
	"encoding/json"
	"time"
)

// A Config names the folder to serve, and has the functions that need the compiler or a
// run's trainer. Their argument run is the path of a run's directory. Pages say that a
// function is not available where it is nil.
type Config struct {
	Folder  string // contains the runs, at any depth
	Version string // of mlc

	// Solve returns the answer to a problem, also after each run of a loop if thinking is
	// set. times is the number of runs of the loop, 0 as in training. Solve calls say with a
	// line about each step that takes long.
	Solve func(ctx context.Context, run, problem string, times int, thinking bool, say func(string)) (*Answer, error)

	// Explain returns the spec of a run with the kernels of each line.
	Explain func(ctx context.Context, run string) (*Explanation, error)

	// Shorter returns a resolved spec without its defaults, or "" where these are not known.
	Shorter func(ctx context.Context, spec string) (string, error)

	// Attention returns the attention for a problem and the model's answer, with times as in
	// Solve. Biases returns the learned biases.
	Attention func(ctx context.Context, run, problem string, times int) (*Attention, error)
	Biases    func(ctx context.Context, run string) ([]Bias, error)

	// Limit is the longest time for one call of these functions; 0 is five minutes.
	Limit time.Duration
}

// An Answer is the output of solve --json, and of solve --thinking --json.
type Answer struct {
	Problem  string    `json:"problem"`
	Answer   string    `json:"answer"`   // the model's
	Expected string    `json:"expected"` // the right answer; "": not known
	Right    *bool     `json:"right"`
	After    [][]Token `json:"after"`   // the tokens after 1, 2, … runs of a loop
	Settled  int       `json:"settled"` // the number of runs after which the answer stayed the same
}

// Verdict returns "right", "wrong", or "" if the right answer is not known.
func (a *Answer) Verdict() string {
	switch {
	case a.Right == nil:
		return ""
	case *a.Right:
		return "right"
	}
	return "wrong"
}

// Loops reports whether After covers more than one run of a loop.
func (a *Answer) Loops() bool { return len(a.After) > 1 }

// A Token is a token of an answer.
type Token struct {
	Token string `json:"token"`
	Right bool   `json:"right"`
}

// An Explanation is a spec, line by line, with the kernels compiled from each line, and a
// page with every stage of the compilation.
type Explanation struct {
	Lines   []SpecLine
	Kernels []Kernel
	Page    []byte // HTML with its own style and script, without references to other files
}

// A SpecLine is a line of a spec. Kernels are indices into Explanation.Kernels.
type SpecLine struct {
	Text    string
	Kernels []int
}

// A Kernel is a kernel of a program.
type Kernel struct {
	Name   string // with its family
	Text   string // kernel IR
	Values int    // lines of the text
}

// An Attention holds the weights of every head for one problem. Rows and Cols are the
// tokens for maps that have no tokens themselves.
type Attention struct {
	Answer     string // the model's
	Expected   string // the right answer; "": not known
	Rows, Cols []string
	Maps       []Map
}

// A Map holds the attention weights of a head, from 0 to 1: a row for each query, a column
// for each key.
type Map struct {
	Name       string // decoder.0.self
	Run, Head  int    // run of the loop, from 0; head of the layer, from 0
	Rows, Cols []string
	Values     [][]float64
}

// A Bias is the bias that a head adds to its scores. For a curve, Values has one row, over X, the
// distance of query and key. For a map it has a row for each query and a column for each key.
type Bias struct {
	Name   string
	Head   int
	Kind   string // curve, map
	X      []float64
	Values [][]float64
}

// ParseAnswer decodes the output of solve --json for one problem.
func ParseAnswer(text []byte) (*Answer, error) {
	a := new(Answer)
	return a, json.Unmarshal(text, a)
}
