package task

import (
	"iter"
	"slices"

	"github.com/arithlang/mlc/runtime/philox"
)

// Training on sequences walks a grid: one problem of each pair of lengths, then one of each
// again, so that all are equally frequent (McLeish et al. 2024, arXiv:2405.17399, the released
// code's generator). A problem depends only on its number. Without a set of Examples every
// problem is drawn anew, and each sweep has its own order. A set is walked repeatedly in one
// order; the last examples of that order are held out.

// fromGrid makes example k of training or of the held-out problems. It reports whether the
// problem is on that side.
func (t *Task) fromGrid(d *Draft, k int64, held bool) bool {
	cells := t.kind.Family.Cells(t)
	if t.cfg.Examples > 0 {
		k = t.orders()[0].at(t.placeInSet(k, held))
		src := t.drawInSet(d, k)
		t.solve(d)
		t.decorate(d, src, held)
		return true
	}
	walked := k - t.began
	order := t.orderBy(t.seedOf(side(held)), philox.Cells, cells, uint32(walked/cells), int(side(held)-philox.Sampled))
	cell := order.at(walked % cells)
	src := t.source(d, side(held), uint64(k))
	d.carries = !held && t.carriesAt(k, src)
	first := true
	draw := func() {
		if t.kind.Bits && !first {
			cell = int64(src.Intn(int(cells))) // a cell has one problem or two
		}
		first = false
		t.kind.Family.Draw(t, d, cell, src)
	}
	found := t.sided(d, held, draw)
	for n := 0; !found && n < otherCells; n++ {
		cell = int64(src.Intn(int(cells)))
		found = t.sided(d, held, draw)
	}
	t.decorate(d, src, held)
	return found
}

// otherCells is how many more cells are tried if a cell has no problem on the wanted side of
// the hold-out.
const otherCells = 64

// drawInSet makes example k of the set.
func (t *Task) drawInSet(d *Draft, k int64) *philox.Source {
	src := t.source(d, philox.Sampled, uint64(k))
	t.kind.Family.Draw(t, d, k%t.kind.Family.Cells(t), src)
	return src
}

// placeInSet is the place of example k in the order of the set.
func (t *Task) placeInSet(k int64, held bool) int64 {
	rest := t.cfg.Examples - t.trained
	switch {
	case !held:
		return k % t.trained
	case rest == 0:
		return k % t.cfg.Examples
	case !t.Listed() && t.cfg.Examples <= maxSet && len(t.unseen()) > 0:
		return t.unseen()[k%int64(len(t.unseen()))]
	}
	return t.trained + k%rest
}

// decorate draws the hints, and for training the fillers.
func (t *Task) decorate(d *Draft, src *philox.Source, held bool) {
	t.Hint(d, src)
	d.Fillers = d.Fillers[:0]
	if !held && t.cfg.RandomPad > 0 {
		t.mustWrite(d)
		t.sequences.Scatter(d, src)
	}
}

// Hint draws where hints begin.
func (t *Task) Hint(d *Draft, src *philox.Source) {
	if t.cfg.Sequence {
		t.sequences.Hint(t, d, src)
	}
}

// fromFile makes example k of the trained lines or of the held-out lines.
func (t *Task) fromFile(d *Draft, k int64, held bool) {
	line := t.placeInSet(k, held)
	if !held {
		order := t.order(philox.Epochs, t.trained, uint32(k/t.trained), 0)
		line = order.at(line)
	}
	src := t.source(d, side(held), uint64(k))
	d.of = t
	t.kind.Family.Draw(t, d, line, src)
	t.decorate(d, src, held)
}

// Test returns n problems of a cell whose lengths are equal.
func (t *Task) Test(length, n int) []Problem {
	_, j := t.Extent()
	if j > 0 && t.kind.Arity != 0 {
		j = length
	}
	return t.Cell(length, j, n)
}

// Cell returns n test problems. The first operand has i digits and the second j; an array has j
// numbers of up to i digits; a file's prompt has i tokens. Problems are distinct, and all of
// them if there are fewer than n, except arrays, and numbers of more than a quintillion
// problems: these are drawn one by one. The parts of a mixed task have equal shares. Hints
// begin with the first letter.
func (t *Task) Cell(i, j, n int) []Problem { return slices.Collect(t.Each(i, j, n)) }

// Each yields the problems of Cell one by one.
func (t *Task) Each(i, j, n int) iter.Seq[Problem] {
	parts := t.All()
	return func(yield func(Problem) bool) {
		sizes := make([]int, len(parts))
		problems := make([]func(k int) Problem, len(parts))
		for k, u := range parts {
			sizes[k], problems[k] = u.cell(i, j, (n+len(parts)-1-k)/len(parts))
		}
		for row := range slices.Max(sizes) {
			for k, problem := range problems {
				if row < sizes[k] && !yield(problem(row)) {
					return
				}
			}
		}
	}
}

// cell returns the number of problems of a cell, n at most, and a function that makes problem
// k.
func (t *Task) cell(i, j, n int) (size int, problem func(k int) Problem) {
	lengths := uint32(i)
	if j > 0 && j != i {
		lengths |= uint32(j) << 16
	}
	total := t.kind.Family.Count(t, i, j)
	if t.Listed() {
		n = int(min(uint64(n), total))
	}
	var order permutation
	if total > 0 {
		n = int(min(uint64(n), total))
		order = newPermutation(philox.KeyOf(t.seed), total, lengths, uint32(philox.Test)<<16|uint32(t.part<<8|1))
	}
	var d Draft
	return n, func(k int) Problem {
		number := int64(k)
		if total > 0 {
			number = order.at(number)
		}
		t.kind.Family.Test(t, &d, i, j, number, t.source(&d, philox.Test, uint64(lengths)<<32|uint64(k)))
		t.solve(&d)
		return d.Problem()
	}
}
