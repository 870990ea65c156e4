package task

import (
	"bytes"
	"strconv"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/philox"
)

// A draft is a problem in memory that is used again: training makes hundreds a
// step.
type draft struct {
	of       *Task    // of its kind
	operands [][]byte // in ordinary order
	answer   []byte   // in ordinary order
	start    int      // the letter of the first digit's hint, or of an array's first entry
	fillers  []byte   // how many stand before each character; none: none anywhere
	order    []int    // of the entries of an array
	src      philox.Source
	carries  bool // it is to have long carries

	// A sequence as written:
	tokens      []int32
	prompt      int // tokens up to and including =
	asked       int // the same without fillers
	recurrences int // of a loop that runs by length
}

// room makes a draft one of n operands.
func (d *draft) room(n int) {
	for len(d.operands) < n {
		if len(d.operands) < cap(d.operands) {
			d.operands = d.operands[:len(d.operands)+1] // and its memory
		} else {
			d.operands = append(d.operands, nil)
		}
	}
	d.operands = d.operands[:n]
}

// problem is a copy of a draft.
func (d *draft) problem() Problem {
	p := Problem{Kind: d.of.kind.name, Operands: make([]string, len(d.operands)), Answer: string(d.answer), Start: d.start}
	for i := range p.Operands {
		p.Operands[i] = string(d.operands[i])
	}
	if len(d.fillers) > 0 {
		p.Fillers = append([]byte(nil), d.fillers...)
	}
	return p
}

// draft is a problem as a draft.
func (t *Task) draft(p Problem) *draft {
	d := &draft{of: t.of(p), answer: []byte(p.Answer), start: p.Start, fillers: p.Fillers}
	for _, x := range p.Operands {
		d.operands = append(d.operands, []byte(x))
	}
	return d
}

// length is what is known of a written draft without its answer.
func (d *draft) length() config.Length {
	l := config.Length{Operands: len(d.operands), Prompt: d.asked}
	for _, x := range d.operands {
		l.Digits = max(l.Digits, len(x))
	}
	return l
}

// solve fills in the answer, if it is not there already.
func (t *Task) solve(d *draft) {
	d.of = t
	switch {
	case t.Arrays():
		t.arrange(d)
	case t.kind.answer != nil:
		d.answer = t.kind.answer(d.answer[:0], t.cfg.Base, d.operands)
	}
}

// numbered makes the problem of these numbers.
func (t *Task) numbered(d *draft, value func(operand int) int64) {
	d.room(t.kind.arity)
	for i := range d.operands {
		d.operands[i] = strconv.AppendInt(d.operands[i][:0], value(i), t.cfg.Base)
	}
	t.solve(d)
}

// width is the number of places that a draft needs, padded.
func (t *Task) width(d *draft) (int, error) {
	w, err := t.fit(t.places(d))
	return t.shaped(w, d), err
}

// places is the number of places that a draft needs.
func (t *Task) places(d *draft) int {
	need := len(d.answer) + t.cfg.Pad.Less
	for _, x := range d.operands {
		need = max(need, len(x))
	}
	return need
}

// room is the number of places that any problem with operands as long as a draft's
// needs, if they are padded; else what the draft needs.
func (t *Task) room(d *draft) int {
	need := t.places(d)
	if t.cfg.Pad.To == 0 || t.kind.answer == nil {
		return need
	}
	var longest [][]byte
	for _, x := range d.operands {
		longest = append(longest, bytes.Repeat([]byte{digits[t.cfg.Base-1]}, len(x)))
	}
	return max(need, len(t.kind.answer(nil, t.cfg.Base, longest))+t.cfg.Pad.Less)
}

// A Drawer makes batches for training in memory of its own.
type Drawer struct {
	task   *Task
	group  int
	part   int
	launch int // examples that share a length, a multiple of part; 0: part
	every  int // launches that are so many apart share it, too; 0: none do
	rows   int // of the longest sequence, if all are to be Padded
	packed bool
	drafts []draft
	order  []int // of the examples in the batch
	batch  Batch
}

// NewDrawer returns a Drawer of the task's problems for launches of so many
// examples, part: sequences of a launch share a length, the shorter the better. A
// group, a multiple of part, is so many examples in the order in which they are
// drawn, and stays together. 0 means all examples of a batch.
func (t *Task) NewDrawer(group, part int) *Drawer {
	d := &Drawer{task: t, group: group, part: part}
	if t.cfg.Padded {
		d.rows = t.Rows()
	}
	return d
}

// Launch makes launches larger than part, of a number of examples that divides the
// group. With every, launches that are so many apart have the length of the longest of
// them, so that they can run as one, unless they are packed. Problems, their order and Rows
// stay as they are.
func (d *Drawer) Launch(examples, every int) {
	d.launch, d.every = examples, every
	if d.task.ByLength() { // and launches are cut where that changes
		d.every = 0
	}
}

// Pack makes each sequence a part, so that none pads another, and says in the Packing of
// a Batch where the rows of a launch are, which has part examples or those of Launch.
func (d *Drawer) Pack() { d.packed = true }

// Train encodes the n training examples from first on: those of an encoder-decoder
// in order, at the width of the widest; sequences group by group, of a group the
// longest first, of a loop by length those with the most recurrences, each launch at the
// length of its longest, unless all are to be Padded. The Batch is good until the next call.
func (d *Drawer) Train(first int64, n int) (Batch, error) {
	for len(d.drafts) < n {
		d.drafts = append(d.drafts, draft{})
	}
	for i := range n {
		of, k := d.task.at(first + int64(i))
		of.train(&d.drafts[i], k)
	}
	if d.task.cfg.Sequence {
		return d.sequences(n)
	}
	width := 0
	for i := range n {
		w, err := d.task.width(&d.drafts[i])
		if err != nil {
			return Batch{}, err
		}
		width = max(width, w)
	}
	d.batch.resize(n, d.task, width)
	for i := range n {
		d.task.encode(d.batch.Slice(i, i+1), &d.drafts[i], width)
	}
	return d.batch, nil
}
