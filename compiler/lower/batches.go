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

// Batches says how a batch of examples is cut. A chunk is what one worker
// computes: micro-batches one after another, which add to the same gradients.
// The order of sums, and so the result, hangs on the chunk, and on the micro-batch
// unless the program says AnyLaunch; they depend on the spec alone, not on the machine.
type Batches struct {
	Micro int // examples a launch
	Chunk int // examples a worker takes at a time, a multiple of Micro
	Group int // examples that share draws, a multiple of Micro; 0: none do
}

const (
	// cacheBytes is what one launch should touch: about half of the second-level
	// cache of a current core, so that what a kernel leaves is there for the next.
	cacheBytes = 1 << 20
	// launchRows is how many target rows a launch has at least: with fewer, what a
	// matrix product does once a launch shows.
	launchRows = 96
	// tableExamples is how many examples share a bias table, which is made or read once
	// a launch, as its gradient is.
	tableExamples = 8
	// chunkRows is how many target rows make it cheap to clear the gradients of a
	// chunk and to add them to the sum.
	chunkRows = 1000
	// Where the spec leaves it open, a batch has minChunks to maxChunks chunks, a power of
	// two: enough for the cores of a small machine, in equal shares, and few enough for
	// the sum.
	minChunks, maxChunks = 4, 16
)

// Cut chooses the batches of the entry that trains. want is what the spec settles: Group;
// Chunk, and Micro, which divides it, or 0 where it leaves the choice. source and target
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

// chunkOf is the compiler's chunk for batches of so many examples of so many target rows.
func chunkOf(batch, target int) int {
	chunks := maxChunks
	for chunks > minChunks && batch*target < chunks*chunkRows {
		chunks /= 2
	}
	return ceil(batch, chunks)
}

// whole is what launches divide: a group, so that all examples of a launch share their
// draws, and a chunk that the spec settles. 0: there is neither.
func (w Batches) whole() int { return config.MostLaunch(w.Chunk, w.Group) }

// Geometry is that of launches of a batch, of examples of so many rows, on a machine with
// memory for all chunks. With anyLaunch they may be larger than Micro.
func (w Batches) Geometry(batch, rows int, anyLaunch bool) kernel.Geometry {
	examples := w.Micro
	if anyLaunch {
		examples = w.whole()
	}
	return kernel.Geometry{Rows: min(examples, batch) * rows, Replicas: ceil(batch, w.Chunk)}
}

// fit is the largest launch of at most n examples that divides the whole.
func (w Batches) fit(n int) int {
	for w.whole()%n != 0 {
		n--
	}
	return n
}

// above is the next larger launch to be tried: the next divisor of the whole or, without
// one, twice the size.
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

// widest is the most bytes of buffers that a launch touches.
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
