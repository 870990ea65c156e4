package task

import (
	"fmt"
	"slices"
)

// A Batch is problems as tokens: row-major, an example a row. A Drawer lays out sequences in
// parts that may differ in length; T is the longest.
type Batch struct {
	B, T, S int     // examples, target rows, source tokens
	Source  []int32 // [B, S]; empty for sequences
	Target  []int32 // [B, T] input of the decoder
	Labels  []int32 // [B, T] expected output; -1: anything
	Rows    int     // of the whole, each part at the length of its longest; a joined Launch has more
	At      int     // of a Slice: index of its first row in the whole's Labels
	Parts   Parts
	Packing Packing // of a Drawer that packs

	Recurrences []int // of each example, in a loop by length; equal ones are adjacent in a group
}

// Parts are the parts of a batch of sequences. The zero value is one part.
type Parts struct {
	Size   int   // examples of a part; the last may have fewer
	Rows   []int // T of each
	Starts []int // start of each in Target and Labels
}

// A Packing says where the rows of a launch's examples are. Each example is a part.
type Packing struct {
	Example []int32 // [R] the example of each row, within its launch
	Start   []int32 // [B] the first row of each example, within its launch
	Length  []int32 // [B] its rows
}

// NewBatch returns room for n problems of a width.
func (t *Task) NewBatch(n, width int) Batch {
	var b Batch
	b.resize(n, t, width)
	return b
}

// One encodes a test problem at its own width.
func (t *Task) One(p Problem) (Batch, error) {
	width, err := t.Width(p)
	if err != nil {
		return Batch{}, err
	}
	b := t.NewBatch(1, width)
	t.Encode(p, width, b)
	return b, nil
}

// Batch encodes problems of training, at the width of the widest.
func (t *Task) Batch(problems []Problem) (Batch, error) {
	width := 0
	for _, p := range problems {
		w, err := t.tight(p)
		if err != nil {
			return Batch{}, err
		}
		if width > 0 && t.Sums() && width>>widthBits != w>>widthBits {
			return Batch{}, fmt.Errorf("sums of %d and of %d numbers in a batch: all have as many", width>>widthBits, w>>widthBits)
		}
		width = max(width, w)
	}
	b := t.NewBatch(len(problems), width)
	for i, p := range problems {
		t.Encode(p, width, b.Slice(i, i+1))
	}
	return b, nil
}

// Slice returns examples lo … hi-1 of one part, or of one launch of a packed batch.
func (b Batch) Slice(lo, hi int) Batch {
	start, t := lo*b.T, b.T
	end := hi * t
	part := Batch{B: hi - lo, S: b.S, Source: b.Source[lo*b.S : hi*b.S]}
	switch p := b.Parts; {
	case hi > lo && len(b.Packing.Start) > 0:
		t, start, end = slices.Max(p.Rows[lo:hi]), p.Starts[lo], p.Starts[hi-1]+p.Rows[hi-1]
		part.Packing = Packing{b.Packing.Example[start:end], b.Packing.Start[lo:hi], b.Packing.Length[lo:hi]}
	case p.Size > 0:
		n := lo / p.Size
		if hi > lo && (hi-1)/p.Size != n {
			panic("BUG: a slice of a batch across its parts")
		}
		t = p.Rows[n]
		start = p.Starts[n] + (lo-n*p.Size)*t
		end = start + (hi-lo)*t
	}
	part.T, part.Target, part.Labels, part.At = t, b.Target[start:end], b.Labels[start:end], b.At+start
	return part
}

// Launch is the end of the launch that begins with example lo, of up to so many examples. In a
// loop by length, all examples of a launch have equal recurrences.
func (b *Batch) Launch(lo, examples int) int {
	end := min(lo-lo%examples+examples, b.B)
	for k := lo + 1; k < min(end, len(b.Recurrences)); k++ { // empty without a loop by length
		if b.Recurrences[k] != b.Recurrences[lo] {
			return k
		}
	}
	return end
}

// Kept is the number of labels that the loss counts.
func (b Batch) Kept() int {
	n := 0
	for _, id := range b.Labels {
		if id >= 0 {
			n++
		}
	}
	return n
}

// resize makes room for n problems of a width. Earlier contents are lost.
func (b *Batch) resize(n int, t *Task, width int) {
	b.B = n
	b.S, b.T = t.Shape(width)
	b.Rows = n * b.T
	b.Source = Resize(b.Source, n*b.S)
	b.Target = Resize(b.Target, n*b.T)
	b.Labels = Resize(b.Labels, n*b.T)
}

// Resize returns room for n values, in x if it is large enough.
func Resize[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}
