// Package task makes the problems that models learn: as text, as tokens and as
// labels. Nothing is stored and nothing has a state: a problem is a function of a
// seed and an index. Numbers are strings of digits and may have any length.
// Packages train and eval come after it.
package task

import (
	"fmt"
	"strings"
)

// A Problem is a question and its answer: numbers in ordinary order without
// leading zeros.
type Problem struct {
	Operands []string
	Answer   string
}

// A Task is a Config with a seed.
type Task struct {
	cfg     Config
	kind    kind
	seed    uint64
	trained int64 // with Below: how many of the numbers are trained on
}

// New returns the task of a Config. All its problems are functions of the seed.
func New(cfg Config, seed uint64) (*Task, error) {
	t := &Task{cfg: cfg, seed: seed}
	for _, k := range kinds {
		if k.name == cfg.Kind {
			t.kind = k
		}
	}
	switch {
	case t.kind.name == "":
		return nil, fmt.Errorf("task %q: there are %s", cfg.Kind, kindNames())
	case cfg.Base < 2 || cfg.Base > len(digits):
		return nil, fmt.Errorf("task %s: base %d: bases are 2 to %d", cfg.Kind, cfg.Base, len(digits))
	case cfg.Interleave && t.kind.arity != 2:
		return nil, fmt.Errorf("task %s: one operand cannot be interleaved", cfg.Kind)
	case cfg.Below == 0 && (cfg.DigitsLo < 1 || cfg.DigitsHi < cfg.DigitsLo):
		return nil, fmt.Errorf("task %s: operands of %d to %d digits: lengths start at 1 and ascend", cfg.Kind, cfg.DigitsLo, cfg.DigitsHi)
	case cfg.Below < 0 || cfg.Holdout < 0 || cfg.Holdout >= 1:
		return nil, fmt.Errorf("task %s: numbers below %d with a hold-out of %g: want a positive number and a fraction", cfg.Kind, cfg.Below, cfg.Holdout)
	}
	t.trained = cfg.Below - int64(cfg.Holdout*float64(cfg.Below))
	_, err := t.Width(t.largest())
	return t, err
}

func kindNames() string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return strings.Join(names, ", ")
}

// WithPad returns the same task at another width, for problems of another length.
func (t *Task) WithPad(p Pad) *Task {
	u := *t
	u.cfg.Pad = p
	return &u
}

// Arity is the number of operands.
func (t *Task) Arity() int { return t.kind.arity }

// Trained is the number of digits of the longest operands of training.
func (t *Task) Trained() int { return len(t.largest().Operands[0]) }

// largest is the widest problem of training.
func (t *Task) largest() Problem {
	if t.cfg.Below == 0 {
		return t.Carries(t.cfg.DigitsHi)
	}
	var d draft
	t.numbered(&d, func(int) int64 { return t.cfg.Below - 1 })
	return t.problem(&d)
}

// Width is the number of places that a problem's operands and answer are padded
// to. The problems of one launch share a width.
func (t *Task) Width(p Problem) (int, error) {
	need := len(p.Answer)
	for _, x := range p.Operands {
		need = max(need, len(x))
	}
	return t.fit(need)
}

// fit is the width for a number of places.
func (t *Task) fit(need int) (int, error) {
	w := t.cfg.Pad.fit(need)
	if w < need {
		return 0, fmt.Errorf("a problem of %d digits does not fit in numbers padded to %d: give pad a step or a larger width", need, w)
	}
	return w, nil
}

// fit returns the width for n places, less than n if there is none.
func (p Pad) fit(n int) int {
	switch {
	case p.To == 0:
		return n
	case n <= p.To || p.Step <= 0:
		return p.To
	}
	return p.To + (n-p.To+p.Step-1)/p.Step*p.Step
}

// Shape is the number of source tokens and of target rows at a width.
func (t *Task) Shape(width int) (source, target int) {
	return len(t.kind.op) + t.kind.arity*width + 2, width + 1
}

// Encode writes a problem's tokens at a width into a Batch of one.
func (t *Task) Encode(p Problem, width int, b Batch) { encode(t, b, p.Operands, p.Answer, width) }

// encode writes tokens: the source, the decoder's input and what it is to say at
// each row. Numbers are padded with zeros to the width.
func encode[T text](t *Task, b Batch, operands []T, answer T, width int) {
	at := 0
	put := func(symbol byte) {
		b.Source[at] = int32(token(symbol))
		at++
	}
	put(symbolSOS)
	if t.cfg.Interleave {
		put(t.kind.op[0])
		for place := range width {
			for _, x := range operands {
				put(padded(x, width, place))
			}
		}
	} else {
		for i, x := range operands {
			if i > 0 {
				put(t.kind.op[0])
			}
			for place := range width {
				put(padded(x, width, place))
			}
		}
	}
	put(symbolEOS)

	b.Target[0], b.Labels[width] = int32(token(symbolSOS)), EOS
	for i := range width {
		place := i
		if t.cfg.Reversed {
			place = width - 1 - i
		}
		id := int32(token(padded(answer, width, place)))
		b.Labels[i], b.Target[i+1] = id, id
	}
}

// padded is the digit at a place, counted from the left, of a number that is
// padded with zeros to a width.
func padded[T text](x T, width, place int) byte {
	if place < width-len(x) {
		return '0'
	}
	return x[place-(width-len(x))]
}

// Decode is the answer in tokens that a model wrote: in ordinary order, up to
// EOS, without leading zeros. A token that is no digit shows as its symbol.
func (t *Task) Decode(reply []int32) string {
	var b strings.Builder
	for _, id := range reply {
		if symbols[id] == symbolEOS {
			break
		}
		b.WriteByte(symbols[id])
	}
	return trim(t.turn(b.String()))
}

// turn changes between ordinary order and the order in which answers are written.
func (t *Task) turn(x string) string {
	if !t.cfg.Reversed {
		return x
	}
	r := make([]byte, len(x))
	for i := range r {
		r[i] = x[len(x)-1-i]
	}
	return string(r)
}
