package lower

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/runtime/config"
)

// Batches says how a batch of examples is split. A chunk is the work of one worker: consecutive
// micro-batches that add to the same gradients. The order of sums, and so the result, depends
// on the chunk. It also depends on the micro-batch unless the program says AnyLaunch. Both
// depend only on the spec, not on the machine.
type Batches struct {
	Micro int // examples per launch
	Chunk int // examples per worker at a time, a multiple of Micro
	Group int // examples that share draws, a multiple of Micro; 0: no examples do
}

const (
	// cacheBytes limits the memory that one launch touches, to about half of the second-level
	// cache of a current core. So a kernel's results are still cached for the next kernel.
	cacheBytes = 1 << 20
	// launchRows is the least number of target rows of a launch. With fewer, the fixed cost of
	// a matrix product per launch shows.
	launchRows = 96
	// tableExamples is the number of examples that share a bias table: a launch computes or
	// reads the table, and its gradient, once.
	tableExamples = 8
	// chunkRows is the number of target rows that makes it cheap to clear the gradients of a
	// chunk and to add them to the sum.
	chunkRows = 1000
	// If the spec leaves it open, the number of chunks of a batch is a power of two from
	// minChunks to maxChunks. It is enough for equal shares on a small machine's cores, and
	// small enough for the sum of gradients.
	minChunks, maxChunks = 4, 16
)

// Cut chooses the batches of the training entry. want has the sizes that the spec sets: Group,
// Chunk and Micro, which divides Chunk. A Chunk or Micro of 0 is chosen here. source and target
// are the trained lengths.
func Cut(e *Entry, batch int, want Batches, source, target int) (Batches, error) {
	chunk, micro := cmp.Or(want.Chunk, chunkOf(batch, target)), want.Micro
	if micro == 0 {
		bytes, err := widest(e, map[string]int{"B": 1, "S": source, "T": target, "C": target, "P": 0})
		if err != nil {
			return Batches{}, err
		}
		micro = want.fit(1)
		if tables(e) {
			micro = want.fit(min(tableExamples, chunk))
		}
		for next := want.above(micro); next <= chunk && (next*bytes <= cacheBytes || micro*target < launchRows); next = want.above(micro) {
			micro = next
		}
	}
	return Batches{micro, ceil(chunk, micro) * micro, want.Group}, nil
}

// chunkOf returns the default chunk for a batch of examples with target rows each.
func chunkOf(batch, target int) int {
	chunks := maxChunks
	for chunks > minChunks && batch*target < chunks*chunkRows {
		chunks /= 2
	}
	return ceil(batch, chunks)
}

// whole returns the size that launches divide. All examples of a launch then share their draws,
// and launches end where chunks set by the spec end. Without a group or such chunks, it is 0.
func (w Batches) whole() int { return config.MostLaunch(w.Chunk, w.Group) }

// Geometry returns the geometry of a batch's launches for examples of the given number of rows,
// on a machine with memory for all chunks. With anyLaunch, launches may be larger than Micro.
func (w Batches) Geometry(batch, rows int, anyLaunch bool) kernel.Geometry {
	examples := w.Micro
	if anyLaunch {
		examples = w.whole()
	}
	return kernel.Geometry{Rows: min(examples, batch) * rows, Replicas: ceil(batch, w.Chunk)}
}

// fit returns the largest launch of at most n examples that divides the whole.
func (w Batches) fit(n int) int {
	for w.whole()%n != 0 {
		n--
	}
	return n
}

// above returns the next larger launch to try: the next divisor of the whole or, without a
// whole, twice the size.
func (w Batches) above(micro int) int {
	whole := w.whole()
	if whole == 0 {
		return 2 * micro
	}
	for next := micro + 1; next <= whole; next++ {
		if whole%next == 0 {
			return next
		}
	}
	return math.MaxInt
}

// tables reports whether an attention of the entry adds a bias table.
func tables(e *Entry) bool {
	return slices.ContainsFunc(e.Steps, func(s Step) bool {
		return slices.ContainsFunc(s.Routine.Func.Values, func(v *ir.Value) bool { return v.Op == ir.Attention && v.Attr.Attn.Table })
	})
}

// widest returns the most bytes of buffers that a launch touches. Kept buffers do not count.
func widest(e *Entry, dims map[string]int) (int, error) {
	most := 0
	for _, s := range e.Steps {
		for _, l := range s.Routine.Launches {
			bytes := 0
			for _, a := range l.Args {
				if a.Space != InBuffer {
					continue
				}
				b := e.Memory.Buffer(a.Ref.Buffer)
				if b.Kept {
					continue
				}
				t := b.Type
				n, err := elements(t, dims)
				if err != nil {
					return 0, fmt.Errorf("buffer %s: %w", a.Ref.Buffer, err)
				}
				bytes += kernel.Bytes(t.Elem) * n
			}
			most = max(most, bytes)
		}
	}
	return most, nil
}

func elements(t ir.Type, dims map[string]int) (int, error) {
	n := 1
	for _, d := range t.Shape {
		size, err := d.Size(dims)
		if err != nil {
			return 0, err
		}
		n *= size
	}
	return n, nil
}

func ceil(a, b int) int { return (a + b - 1) / b }
