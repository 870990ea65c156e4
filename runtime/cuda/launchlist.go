package cuda

import (
	"math"
	"slices"

	"github.com/arithlang/mlc/runtime/abi"
	"github.com/arithlang/mlc/runtime/device"
)

// A launchList is recorded work of one worker. It names spaces instead of addresses, so that it
// can run in the memory of any replica.
type launchList struct {
	ops      []op
	refs     []device.Ref // arguments of the ops
	words    []uint32     // scalars of the ops, per launch
	examples []int        // positions in words of example numbers
	shapes   []abi.Shape  // of the launches; consecutive equal ones once
	sizes    [][3]int     // M, N and K of the ops that are products
	in       []uint32     // words copied to the device before the work
	blocks   []int        // offsets of step scalars within in
	out      int          // words copied from the device after the work
	results  []result
	work     int // elements of Work needed
	ints     int
}

// An opKind is a kind of op.
type opKind uint8

const (
	launchOp opKind = iota
	clearOp         // n elements
	addOp           // n elements to others
	sumOp           // adds up at places of gradients in the first place
	totalOp         // adds up all ranks' gradients of at chunks in the first place
	putOp           // n words of in, from at on
	getOp           // n words to out, from at on
	roundOp         // n parameters
	settleOp        // with step scalars within in, from at on
)

// An op is one piece of recorded work. It takes the next references and words of the launch list.
type op struct {
	kind    opKind
	kernel  int
	blocks  int // of a launch, per replica and set of buffers
	sets    int // sets of buffers of a launch, consecutive in its references
	scratch int // bytes a block
	refs    int // number of references
	words   int
	shape   int // of a launch, its shape's number in the list, from 1; 0: it takes no shape
	size    int // of a product, its size's number in the list, from 1; 0: it is no product
	n, at   int // of a launch, at is the offset of its step scalars within in, or nowhere, or settled
}

// Values of op.at without step scalars in the list.
const (
	nowhere = -1 // the op takes no step scalars
	settled = -2 // they are in the memory that Settle writes
)

// A result is host memory that receives words of out.
type result struct {
	at     int
	ints   []int32
	floats []float32
}

func (r *result) len() int { return len(r.ints) + len(r.floats) }

// blockAlign is the alignment of step scalars in words, so that vector loads can read them.
const blockAlign = 8

func (t *launchList) reset() {
	clear(t.results) // so that their slices can be freed
	*t = launchList{ops: t.ops[:0], refs: t.refs[:0], words: t.words[:0], examples: t.examples[:0], shapes: t.shapes[:0], sizes: t.sizes[:0], in: t.in[:0],
		blocks: t.blocks[:0], results: t.results[:0]}
}

// launch records a launch of a kernel of the model's table.
func (t *launchList) launch(number int, k *kernel, e *device.Env, args []device.Ref) {
	o := op{kind: launchOp, kernel: number, blocks: k.Blocks(e), sets: 1, refs: len(args), words: len(t.words), at: nowhere}
	if o.blocks <= 0 {
		return
	}
	if k.Gemm != nil {
		launched := e.Launched()
		t.sizes = append(t.sizes, k.Gemm.Size(&launched))
		o.size = len(t.sizes)
	}
	if k.Shapes {
		o.shape = t.shape(e)
	}
	if k.Scratch != nil {
		o.scratch = k.Scratch(e)
	}
	for i, s := range k.sig.Scalars {
		if s.Of == abi.OfReplica {
			t.examples = append(t.examples, len(t.words))
		}
		t.words = append(t.words, k.bits[i](e))
	}
	o.words = len(t.words) - o.words
	switch {
	case k.Step && e.Settled:
		o.at = settled
	case k.Step:
		o.at = t.step(newStepBlock(e))
	}
	t.refs = append(t.refs, args...)
	t.ops = append(t.ops, o)
}

// join records a launch with the kernel and the scalars of the last op. The last op takes it along
// as one more set of buffers, up to Sets.
func (t *launchList) join(number int, k *kernel, e *device.Env, args []device.Ref) {
	if k.Blocks(e) <= 0 {
		return
	}
	last := &t.ops[len(t.ops)-1]
	if last.kind != launchOp || last.kernel != number || last.refs != last.sets*len(args) {
		panic("BUG: no launch of " + k.Name + " to join")
	}
	if last.sets >= k.Sets {
		t.launch(number, k, e, args)
		return
	}
	last.sets++
	last.refs += len(args)
	t.refs = append(t.refs, args...)
}

// shape returns the number of the shape of launches with e.
func (t *launchList) shape(e *device.Env) int {
	now := shapeOf(e)
	if last := len(t.shapes) - 1; last < 0 || t.shapes[last] != now {
		t.shapes = append(t.shapes, now)
	}
	return len(t.shapes)
}

// step returns the offset of step scalars within in. Unchanged scalars are there only once.
func (t *launchList) step(now stepBlock) int {
	if last := len(t.blocks) - 1; last >= 0 {
		if at := t.blocks[last]; stepBlock(t.in[at:]) == now {
			return at
		}
	}
	t.align()
	at := len(t.in)
	t.in = append(t.in, now[:]...)
	t.blocks = append(t.blocks, at)
	return at
}

func (t *launchList) align() {
	for len(t.in)%blockAlign != 0 {
		t.in = append(t.in, 0)
	}
}

// settle records a call of Machine.Settle.
func (t *launchList) settle(e *device.Env, squares device.Ref, limit float64, after bool) {
	t.align()
	block, at := newStepBlock(e), len(t.in)
	t.in = append(t.in, block[:]...)
	follows := uint32(0)
	if after {
		follows = 1
	}
	t.in = append(t.in, follows)
	bits := math.Float64bits(limit)
	t.words = append(t.words, uint32(bits), uint32(bits>>32))
	t.refs = append(t.refs, squares)
	t.ops = append(t.ops, op{kind: settleOp, refs: 1, words: 2, at: at})
}

// move records an op on one reference.
func (t *launchList) move(kind opKind, r device.Ref, n, at int) {
	if n == 0 {
		return
	}
	t.refs = append(t.refs, r)
	t.ops = append(t.ops, op{kind: kind, refs: 1, n: n, at: at})
}

// put records a copy of n words to the device; the caller appends the words to in. Tokens right
// after the last ones join their copy: only padding lies between aligned tensors of Ints.
func (t *launchList) put(r device.Ref, n int) {
	if last, at := len(t.ops)-1, len(t.refs)-1; last >= 0 && t.ops[last].kind == putOp {
		o, before := &t.ops[last], t.refs[at]
		end := before.Off + o.n
		if before.Space == device.Ints && r.Space == device.Ints && device.Aligned(end) == r.Off && o.at+o.n == len(t.in) {
			for range r.Off - end {
				t.in = append(t.in, 0)
			}
			o.n += r.Off - end + n
			return
		}
	}
	t.move(putOp, r, n, len(t.in))
}

// moves records an op that takes n elements from one reference to another.
func (t *launchList) moves(kind opKind, to, from device.Ref, n int) {
	if n == 0 {
		return
	}
	t.refs = append(t.refs, to, from)
	t.ops = append(t.ops, op{kind: kind, refs: 2, n: n})
}

func (t *launchList) get(r device.Ref, to result) {
	to.at = t.out
	t.results = append(t.results, to)
	t.move(getOp, r, to.len(), t.out)
	t.out += to.len()
}

// replica reports whether t is the same work as first on other data, with example numbers that are
// larger by further.
func (t *launchList) replica(first *launchList, further uint32) bool {
	if !slices.Equal(t.ops, first.ops) || !slices.Equal(t.refs, first.refs) || !slices.Equal(t.examples, first.examples) ||
		!slices.Equal(t.blocks, first.blocks) || len(t.shapes) != len(first.shapes) || len(t.in) != len(first.in) || len(t.words) != len(first.words) {
		return false
	}
	for _, at := range t.blocks {
		if stepBlock(t.in[at:]) != stepBlock(first.in[at:]) {
			return false
		}
	}
	examples := t.examples
	for i, w := range t.words {
		want := first.words[i]
		if len(examples) > 0 && examples[0] == i {
			want += further
			examples = examples[1:]
		}
		if w != want {
			return false
		}
	}
	return true
}

// further returns the difference of example numbers between t and first, if they are replicas.
func (t *launchList) further(first *launchList) uint32 {
	if len(t.examples) == 0 || len(first.examples) == 0 {
		return 0
	}
	return t.words[t.examples[0]] - first.words[first.examples[0]]
}
