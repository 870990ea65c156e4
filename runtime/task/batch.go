package task

// A Batch is problems of one width as tokens: row-major, an example a row.
type Batch struct {
	B, T, S int     // examples, target rows, source tokens
	Source  []int32 // [B, S]
	Target  []int32 // [B, T] decoder input
	Labels  []int32 // [B, T] what it is to say
}

// NewBatch returns room for n problems of a width.
func (t *Task) NewBatch(n, width int) Batch {
	var b Batch
	b.resize(n, t, width)
	return b
}

// Batch encodes problems at the width of the widest.
func (t *Task) Batch(problems []Problem) (Batch, error) {
	width := 0
	for _, p := range problems {
		w, err := t.Width(p)
		if err != nil {
			return Batch{}, err
		}
		width = max(width, w)
	}
	b := t.NewBatch(len(problems), width)
	for i, p := range problems {
		t.Encode(p, width, b.Slice(i, i+1))
	}
	return b, nil
}

// Slice returns examples lo … hi-1.
func (b Batch) Slice(lo, hi int) Batch {
	return Batch{hi - lo, b.T, b.S, b.Source[lo*b.S : hi*b.S], b.Target[lo*b.T : hi*b.T], b.Labels[lo*b.T : hi*b.T]}
}

// resize makes room for n problems of a width. What was there is lost.
func (b *Batch) resize(n int, t *Task, width int) {
	b.B = n
	b.S, b.T = t.Shape(width)
	b.Source = resize(b.Source, n*b.S)
	b.Target = resize(b.Target, n*b.T)
	b.Labels = resize(b.Labels, n*b.T)
}

func resize(x []int32, n int) []int32 {
	if cap(x) < n {
		return make([]int32, n)
	}
	return x[:n]
}
