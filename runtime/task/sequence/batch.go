package sequence

import (
	"cmp"
	"math"
	"slices"

	"github.com/arithlang/mlc/runtime/task"
)

// Batch lays out the drafts of a batch.
func (v *Vocabulary) Batch(d *task.Drawer, n int) (task.Batch, error) {
	d.Order = d.Order[:0]
	for i := range n {
		if err := v.Write(d.Drafts[i].Task(), &d.Drafts[i]); err != nil {
			return task.Batch{}, err
		}
		d.Order = append(d.Order, i)
	}
	by := d.Task.ByLength()
	for i := range n {
		if x := &d.Drafts[i]; by {
			x.Recurrences = x.Task().Config().Recurrences.Of(x.Length())
		}
	}
	if by || !d.Task.Config().Padded {
		sort(d, n)
	}
	b := &d.Batch
	b.Recurrences = b.Recurrences[:0]
	for _, i := range d.Order {
		if by {
			b.Recurrences = append(b.Recurrences, d.Drafts[i].Recurrences)
		}
	}
	b.B, b.T, b.Rows = n, 0, 0
	p := &b.Parts
	p.Size, p.Rows, p.Starts = d.Part, p.Rows[:0], p.Starts[:0]
	switch {
	case d.Packed:
		p.Size = 1
	case p.Size <= 0:
		p.Size = n
	}
	for lo := 0; lo < n; lo += p.Size {
		hi := min(lo+p.Size, n)
		p.Rows = append(p.Rows, longest(d, lo, hi))
		b.Rows += (hi - lo) * p.Rows[len(p.Rows)-1]
	}
	if d.Joined > 0 && !d.Packed {
		join(d, p)
	}
	total := 0
	for k, rows := range p.Rows {
		p.Starts = append(p.Starts, total)
		b.T = max(b.T, rows)
		total += (min((k+1)*p.Size, n) - k*p.Size) * rows
	}
	b.Target, b.Labels = task.Resize(b.Target, total), task.Resize(b.Labels, total)
	if d.Packed {
		say(b, total, max(d.Part, d.Joined))
	}
	for row, i := range d.Order {
		v.Lay(&d.Drafts[i], b.Slice(row, row+1))
	}
	return *b, nil
}

// say sets the Packing of a packed batch of so many rows, in launches of up to launch examples.
func say(b *task.Batch, rows, launch int) {
	k, p := &b.Packing, &b.Parts
	k.Example, k.Start, k.Length = task.Resize(k.Example, rows), k.Start[:0], k.Length[:0]
	first, end := 0, 0
	for i, n := range p.Rows {
		if i >= end {
			first, end = i, b.Launch(i, launch)
		}
		k.Start, k.Length = append(k.Start, int32(p.Starts[i]-p.Starts[first])), append(k.Length, int32(n))
		for r := range n {
			k.Example[p.Starts[i]+r] = int32(i - first)
		}
	}
}

// longest is the rows of the longest of the drafts at lo … hi-1 of the Order.
func longest(d *task.Drawer, lo, hi int) int {
	rows := d.Rows
	for _, i := range d.Order[lo:hi] {
		rows = max(rows, len(d.Drafts[i].Tokens)-1)
	}
	return rows
}

// join makes launches of parts.
func join(d *task.Drawer, p *task.Parts) {
	n := 0
	for parts := range slices.Chunk(p.Rows, d.Joined/p.Size) {
		p.Rows[n] = slices.Max(parts)
		n++
	}
	p.Size, p.Rows = d.Joined, p.Rows[:n]
	for k := range min(d.Every, n) {
		most := 0
		for j := k; j < n; j += d.Every {
			most = max(most, p.Rows[j])
		}
		for j := k; j < n; j += d.Every {
			p.Rows[j] = most
		}
	}
}

// sort puts the most recurrences of each group first, then the longest: a worker's memory then
// grows once, and the last launches are short. No example changes its group, so a group's draws
// do not depend on lengths.
func sort(d *task.Drawer, n int) {
	group := d.Group
	if group <= 0 {
		group = n
	}
	for some := range slices.Chunk(d.Order, max(group, 1)) {
		slices.SortStableFunc(some, func(a, b int) int {
			x, y := &d.Drafts[b], &d.Drafts[a]
			return cmp.Or(cmp.Compare(x.Recurrences, y.Recurrences), cmp.Compare(len(x.Tokens), len(y.Tokens)))
		})
	}
}

// Lists is the number of lists of lo to hi operands that have x values each.
func Lists(x float64, lo, hi int) (sum float64) {
	for n := lo; n <= hi; n++ {
		sum += math.Pow(x, float64(n))
	}
	return sum
}
