package task

import (
	"bytes"
	"strconv"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/philox"
)

// A Draft is a problem in memory that is used again: training makes hundreds a
// step.
type Draft struct {
	of       *Task    // of its kind
	Operands [][]byte // in ordinary order
	Answer   []byte   // in ordinary order
	Start    int      // the letter of the first digit's hint, or of an array's first entry
	Fillers  []byte   // how many stand before each character; none: none anywhere
	Order    []int    // of the entries of an array
	src      philox.Source
	carries  bool // it is to have long carries

	// A sequence as written:
	Tokens      []int32
	Written     int // characters
	Prompt      int // tokens up to and including =
	Asked       int // the same without fillers
	Recurrences int // of a loop that runs by length
}

// Task is the task of the draft's own kind.
func (d *Draft) Task() *Task { return d.of }

// Room makes a draft one of n operands.
func (d *Draft) Room(n int) {
	for len(d.Operands) < n {
		if len(d.Operands) < cap(d.Operands) {
			d.Operands = d.Operands[:len(d.Operands)+1] // and its memory
		} else {
			d.Operands = append(d.Operands, nil)
		}
	}
	d.Operands = d.Operands[:n]
}

// Problem is a copy of a draft.
func (d *Draft) Problem() Problem {
	p := Problem{Kind: d.of.kind.Name, Operands: make([]string, len(d.Operands)), Answer: string(d.Answer), Start: d.Start}
	for i := range p.Operands {
		p.Operands[i] = string(d.Operands[i])
	}
	if len(d.Fillers) > 0 {
		p.Fillers = append([]byte(nil), d.Fillers...)
	}
	return p
}

// Draft is a problem as a draft.
func (t *Task) Draft(p Problem) *Draft {
	d := &Draft{of: t.of(p), Answer: []byte(p.Answer), Start: p.Start, Fillers: p.Fillers}
	for _, x := range p.Operands {
		d.Operands = append(d.Operands, []byte(x))
	}
	return d
}

// Length is what is known of a written draft without its answer.
func (d *Draft) Length() config.Length {
	l := config.Length{Operands: len(d.Operands), Prompt: d.Asked}
	for _, x := range d.Operands {
		l.Digits = max(l.Digits, len(x))
	}
	return l
}

// solve fills in the answer, if it is not there already.
func (t *Task) solve(d *Draft) {
	d.of = t
	if f, ok := t.kind.Family.(Solver); ok {
		f.Solve(t, d)
	} else if t.kind.Answer != nil {
		d.Answer = t.kind.Answer(d.Answer[:0], t.cfg.Base, d.Operands)
	}
}

// numbered makes the problem of these numbers.
func (t *Task) numbered(d *Draft, value func(operand int) int64) {
	d.Room(t.kind.Arity)
	for i := range d.Operands {
		d.Operands[i] = strconv.AppendInt(d.Operands[i][:0], value(i), t.cfg.Base)
	}
	t.solve(d)
}

// PlacesOf is the number of places that a draft needs, padded.
func (t *Task) PlacesOf(d *Draft) (int, error) {
	w, err := t.fit(t.Places(d))
	return t.shaped(w, d), err
}

// Places is the number of places that a draft needs.
func (t *Task) Places(d *Draft) int {
	need := len(d.Answer) + t.cfg.Pad.Less
	for _, x := range d.Operands {
		need = max(need, len(x))
	}
	return need
}

// room is the number of places that any problem with operands as long as a draft's
// needs, if they are padded; else what the draft needs.
func (t *Task) room(d *Draft) int {
	need := t.Places(d)
	if t.cfg.Pad.To == 0 || t.kind.Answer == nil {
		return need
	}
	var longest [][]byte
	for _, x := range d.Operands {
		longest = append(longest, bytes.Repeat([]byte{Digits[t.cfg.Base-1]}, len(x)))
	}
	return max(need, len(t.kind.Answer(nil, t.cfg.Base, longest))+t.cfg.Pad.Less)
}

// A Drawer makes batches for training in memory of its own.
type Drawer struct {
	Layout
	Drafts []Draft
	Order  []int // of the examples in the batch
	Batch  Batch
}

// A Layout is how sequences are put into launches.
type Layout struct {
	Task   *Task
	Group  int
	Part   int
	Joined int // examples that share a length, a multiple of Part; 0: Part
	Every  int // launches that are so many apart share it, too; 0: none do
	Rows   int // of the longest sequence, if all are to be Padded
	Packed bool
}

// NewDrawer returns a Drawer of the task's problems for launches of so many
// examples, part: sequences of a launch share a length, the shorter the better. A
// group, a multiple of part, is so many examples in the order in which they are
// drawn, and stays together. 0 means all examples of a batch.
func (t *Task) NewDrawer(group, part int) *Drawer {
	d := &Drawer{Layout: Layout{Task: t, Group: group, Part: part}}
	if t.cfg.Padded {
		d.Rows = t.Rows()
	}
	return d
}

// Launch makes launches larger than part, of a number of examples that divides the
// group. With every, launches that are so many apart have the length of the longest of
// them, so that they can run as one, unless they are packed. Problems, their order and Rows
// stay as they are.
func (d *Drawer) Launch(examples, every int) {
	d.Joined, d.Every = examples, every
	if d.Task.ByLength() { // and launches are cut where that changes
		d.Every = 0
	}
}

// Pack makes each sequence a part, so that none pads another, and says in the Packing of
// a Batch where the rows of a launch are, which has part examples or those of Launch.
func (d *Drawer) Pack() { d.Packed = true }

// Train encodes the n training examples from first on: those of an encoder-decoder
// in order, at the width of the widest; sequences group by group, of a group the
// longest first, of a loop by length those with the most recurrences, each launch at the
// length of its longest, unless all are to be Padded. The Batch is good until the next call.
func (d *Drawer) Train(first int64, n int) (Batch, error) {
	for len(d.Drafts) < n {
		d.Drafts = append(d.Drafts, Draft{})
	}
	for i := range n {
		of, k := d.Task.at(first + int64(i))
		of.train(&d.Drafts[i], k)
	}
	if d.Task.cfg.Sequence {
		return d.Task.sequences.Batch(d, n)
	}
	width := 0
	for i := range n {
		w, err := d.Task.PlacesOf(&d.Drafts[i])
		if err != nil {
			return Batch{}, err
		}
		width = max(width, w)
	}
	d.Batch.resize(n, d.Task, width)
	for i := range n {
		d.Task.encode(d.Batch.Slice(i, i+1), &d.Drafts[i], width)
	}
	return d.Batch, nil
}
