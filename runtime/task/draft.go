package task

import "strconv"

const maxArity = 2

// A draft is a problem in memory that is used again: training makes hundreds a
// step.
type draft struct {
	operands [maxArity][]byte
	answer   []byte
}

// newDraft returns a draft with room for numbers of so many digits.
func newDraft(room int) (d draft) {
	for i := range d.operands {
		d.operands[i] = make([]byte, 0, room)
	}
	d.answer = make([]byte, 0, room)
	return d
}

// problem is a copy of a draft.
func (t *Task) problem(d *draft) Problem {
	p := Problem{Operands: make([]string, t.kind.arity), Answer: string(d.answer)}
	for i := range p.Operands {
		p.Operands[i] = string(d.operands[i])
	}
	return p
}

// solved is the problem of these operands.
func (t *Task) solved(operands []string) Problem {
	var d draft
	for i, x := range operands {
		d.operands[i] = []byte(x)
	}
	t.solve(&d)
	return t.problem(&d)
}

// solve fills in the answer.
func (t *Task) solve(d *draft) { d.answer = t.kind.answer(d.answer[:0], t.cfg.Base, &d.operands) }

// numbered makes the problem of these numbers.
func (t *Task) numbered(d *draft, value func(operand int) int64) {
	for i := range t.kind.arity {
		d.operands[i] = strconv.AppendInt(d.operands[i][:0], value(i), t.cfg.Base)
	}
	t.solve(d)
}

// width is the number of places that a draft needs, padded.
func (t *Task) width(d *draft) (int, error) {
	need := len(d.answer)
	for _, x := range d.operands {
		need = max(need, len(x))
	}
	return t.fit(need)
}

// A Drawer makes batches for training in memory of its own.
type Drawer struct {
	task   *Task
	room   int // for the longest number
	drafts []draft
	batch  Batch
}

// NewDrawer returns a Drawer of the task's problems.
func (t *Task) NewDrawer() *Drawer { return &Drawer{task: t, room: len(t.largest().Answer) + 1} }

// Train encodes the n training examples from first on, at the width of the widest.
// The Batch is good until the next call.
func (d *Drawer) Train(first int64, n int) (Batch, error) {
	for len(d.drafts) < n {
		d.drafts = append(d.drafts, newDraft(d.room))
	}
	width := 0
	for i := range n {
		d.task.train(&d.drafts[i], first+int64(i))
		w, err := d.task.width(&d.drafts[i])
		if err != nil {
			return Batch{}, err
		}
		width = max(width, w)
	}
	d.batch.resize(n, d.task, width)
	for i := range n {
		p := &d.drafts[i]
		encode(d.task, d.batch.Slice(i, i+1), p.operands[:d.task.kind.arity], p.answer, width)
	}
	return d.batch, nil
}
