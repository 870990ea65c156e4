package task

import (
	"bytes"
	"strconv"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/philox"
)

// A Draft is a problem whose memory is reused: training makes hundreds a step.
type Draft struct {
	of       *Task    // of its kind
	Operands [][]byte // in ordinary order
	Answer   []byte   // in ordinary order
	Start    int      // the letter of the first digit's hint, or of an array's first entry
	Fillers  []byte   // number before each character; empty: none anywhere
	Order    []int    // of the entries of an array
	src      philox.Source
	carries  bool // draw long carries

	// A sequence as written:
	Tokens      []int32
	Written     int // characters
	Prompt      int // tokens up to and including =
	Asked       int // the same without fillers
	Recurrences int // of a loop that runs by length
}

// Task is the task of the draft's own kind.
func (d *Draft) Task() *Task { return d.of }

// Room gives a draft n operands.
func (d *Draft) Room(n int) {
	for len(d.Operands) < n {
		if len(d.Operands) < cap(d.Operands) {
			d.Operands = d.Operands[:len(d.Operands)+1] // reuses its memory
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

// Length is the length of a written draft, apart from its answer.
func (d *Draft) Length() config.Length {
	l := config.Length{Operands: len(d.Operands), Prompt: d.Asked}
	for _, x := range d.Operands {
		l.Digits = max(l.Digits, len(x))
	}
	return l
}

// solve sets the kind and computes the answer.
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

// room is the number of places that a draft needs. If Pad has a width, it suffices for any
// operands of the same lengths.
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

// A Layout says how sequences are put into launches.
type Layout struct {
	Task   *Task
	Group  int
	Part   int
	Joined int // examples that share a length, a multiple of Part; 0: Part
	Every  int // launches this far apart also share a length; 0: none do
	Rows   int // of the longest sequence, if Padded; else 0
	Packed bool
}

// NewDrawer returns a Drawer of the task's problems for launches of part examples. Sequences of
// a launch share a length. A group is consecutively drawn examples, a multiple of part; it
// stays together. 0 means all examples of a batch.
func (t *Task) NewDrawer(group, part int) *Drawer {
	d := &Drawer{Layout: Layout{Task: t, Group: group, Part: part}}
	if t.cfg.Padded {
		d.Rows = t.Rows()
	}
	return d
}

// Launch makes launches larger than part. Their number of examples divides the group. With
// every, launches that far apart share the length of the longest, so that they can run as one.
// Packed launches do not. Problems, their order and Rows stay the same.
func (d *Drawer) Launch(examples, every int) {
	d.Joined, d.Every = examples, every
	if d.Task.ByLength() { // launches end where the recurrences change
		d.Every = 0
	}
}

// Pack makes each sequence a part, so that no sequence is padded. The Packing of a Batch says
// where the rows of each launch are.
func (d *Drawer) Pack() { d.Packed = true }

// Train encodes the n training examples from first on. An encoder-decoder gets them in order,
// at the width of the widest. Sequences are sorted within each group, the longest first; a loop
// by length takes the most recurrences first. Each launch has the length of its longest
// sequence, unless the task is Padded. The Batch is valid until the next call.
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
