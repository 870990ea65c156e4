package check

import "github.com/arithlang/mlc/dsl/diag"

// Position is the scheme of absolute positions. The positions pi and pj of
// biases are token indices, but for cyclic (modulo Period) and random (in
// training the first of the drawn ones; masks go by token indices).
type Position struct {
	Kind      string // of schemes
	Inner     string // cyclic, random, shifted: none, sinusoidal or learned
	Period    int    // cyclic
	Max       int    // learned: rows of the table; random: positions to choose from; shifted: positions
	MaxOffset int    // abacus, shifted: largest random offset
	Coupled   bool   // abacus: a random offset for each example, which all tokens have
	Table     int    // abacus: rows of the table
	Fixed     bool   // abacus: which are not trained
	Value     *Table // the table of positions; nil: it is learned
	Pos       diag.Pos
}

// A scheme is what the positions of one kind have in common.
type scheme struct {
	rows   func(p *Position) int // of their table, if they are learned
	digits bool                  // are counted, in each number; else tokens are
	group  bool                  // of examples, which share what training draws
	more   string                // makes training reach more of them; "": none need to be trained
}

var schemes = map[string]scheme{
	"none":       {},
	"learned":    {rows: most, more: "train at the width of evaluation, or use cyclic positions"},
	"sinusoidal": {},
	"cyclic":     {rows: func(p *Position) int { return p.Period }},
	"abacus":     {rows: func(p *Position) int { return p.Table }, digits: true, group: true, more: "use a larger max_offset, or evaluate shorter numbers"},
	"random":     {rows: most, group: true, more: "use a larger max, or evaluate shorter problems"},
	"shifted":    {rows: most, more: "use a larger max_offset, or evaluate shorter problems"},
}

func most(p *Position) int { return p.Max }

func (p *Position) scheme() scheme { return schemes[p.Kind] }

// Rows is how many rows the table of positions has; 0 without one.
func (p *Position) Rows() int {
	if s := p.scheme(); s.rows != nil && (p.Inner == "" || p.Inner == "learned") {
		return s.rows(p)
	}
	return 0
}

// Reach is the rows that tokens have, or places in numbers, where they are bounded.
func (p *Position) Reach() (tokens, places int) {
	switch {
	case p.Kind == "cyclic":
		return 0, 0
	case p.scheme().digits:
		return 0, p.Rows()
	default:
		return p.Rows(), 0
	}
}

// positions is how many positions there are in training, with the largest offset, and
// in tests.
func (s *Spec) positions() (trained, tested int) {
	p := &s.Model.Position
	if p.scheme().digits {
		return s.trainedDigits() + p.MaxOffset, s.evaluatedDigits()
	}
	return longest(s.trained()) + p.MaxOffset, longest(s.evaluated())
}

func (c *checker) position() Position {
	const path = "model.embed.position"
	v := c.get(path)
	p := Position{
		Kind:      v.word,
		Inner:     v.arg("inner").word,
		Period:    v.int("period"),
		Max:       v.int("max"),
		MaxOffset: v.int("max_offset"),
		Table:     v.int("table"),
		Fixed:     v.arg("learned").is("false"),
		Value:     c.tableOf(path, v),
		Pos:       c.place(path),
	}
	if p.Kind == "coupling" {
		p.Kind, p.Coupled = "abacus", true
	}
	if s := c.settings[path]; s != nil {
		p.Pos = s.name.Start
	}
	return p
}
