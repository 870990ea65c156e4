package check

import "github.com/arithlang/mlc/dsl/diag"

// Position is the scheme of absolute positions. pi and pj in biases are token indices,
// except in two kinds: cyclic takes them modulo Period, and random draws positions in
// training. Masks always use token indices.
type Position struct {
	Kind      string // a key of schemes
	Inner     string // cyclic, random, shifted: none, sinusoidal or learned
	Period    int    // cyclic
	Max       int    // learned: rows of the table; random: positions to choose from; shifted: positions
	MaxOffset int    // abacus, shifted: largest random offset
	Coupled   bool   // abacus: each example has one random offset for all its tokens
	Table     int    // abacus: rows of the table
	Fixed     bool   // abacus: the rows are not trained
	Value     *Table // the expression of the table; nil: it is learned
	Pos       diag.Pos
}

// A scheme describes one kind of position.
type scheme struct {
	rows   func(p *Position) int // rows of the table, if it is learned
	digits bool                  // positions count digits in each number; else tokens
	group  bool                  // training draws once for a group of examples
	more   string                // help if training reaches too few positions; "": none need training
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

// Rows returns the number of rows in the table of positions, or 0 without a table.
func (p *Position) Rows() int {
	if s := p.scheme(); s.rows != nil && (p.Inner == "" || p.Inner == "learned") {
		return s.rows(p)
	}
	return 0
}

// Reach returns the largest number of tokens, or of places in a number, that have
// positions. 0 means no bound.
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

// positions returns the number of positions in training, including the largest offset,
// and in tests.
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
