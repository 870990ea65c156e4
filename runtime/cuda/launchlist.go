package cuda

import (
	"math"
	"slices"

	"github.com/arithlang/mlc/runtime/abi"
	"github.com/arithlang/mlc/runtime/device"
)

// A launchList is work of one worker, recorded by reference: it names spaces rather than
// addresses, so that it can run on the memory of any replica.
type launchList struct {
	ops      []op
	refs     []device.Ref // arguments of the ops
	words    []uint32     // per-launch scalars of the ops
	examples []int        // which words are an example
	shapes   []abi.Shape  // of the launches, each that is not as the one before once
	sizes    [][3]int     // of the ops that are products: M, N and K
	in       []uint32     // goes to the device before the work starts
	blocks   []int        // where the step's scalars are within in
	out      int          // words that come back when it has ended
	results  []result
	work     int // elements that it needs
	ints     int
}

// opKind is what an op does.
type opKind uint8

const (
	launchOp opKind = iota
	clearOp         // n elements
	addOp           // n elements to others
	sumOp           // places of gradients, at of them, in the first
	totalOp         // all ranks' gradients of at chunks, in the first place
	putOp           // n words of in, from at on
	getOp           // n words to out, from at on
	roundOp         // n parameters
	settleOp        // with the step's scalars within in, from at on
)

// An op is one piece of recorded work. Its references and scalars are the next of
// the launch list.
type op struct {
	kind    opKind
	kernel  int
	blocks  int // of a launch, for one replica and set of buffers
	sets    int // of buffers of a launch, one behind the other in its references
	scratch int // bytes a block
	refs    int // number of them
	words   int
	shape   int // of a launch, its number among the list's, from 1; 0: it takes none
	size    int // of a product, its number among the list's, from 1; 0: it is none
	n, at   int // launch: at is where its step's scalars are within in, or nowhere, settled
}

// Where the step's scalars of an op are that is in no list.
const (
	nowhere = -1 // it takes none
	settled = -2 // in the memory that Settle writes
)

// A result is where words of out go on the host.
type result struct {
	at     int
	ints   []int32
	floats []float32
}

func (r *result) len() int { return len(r.ints) + len(r.floats) }

// blockAlign is the multiple of words at which the step's scalars begin, so that
// they can be loaded as vectors.
const blockAlign = 8

func (t *launchList) reset() {
	clear(t.results) // it should not keep their slices alive
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

// join records a launch that the last one may take along, which has its kernel and its
// scalars.
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

// shape is the number of the shape of launches with e.
func (t *launchList) shape(e *device.Env) int {
	now := shapeOf(e)
	if last := len(t.shapes) - 1; last < 0 || t.shapes[last] != now {
		t.shapes = append(t.shapes, now)
	}
	return len(t.shapes)
}

// step returns where the step's scalars are within in: they are there once as long
// as they do not change.
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

// settle records what Machine.Settle is asked for.
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

// put records that words, which are appended to in next, go to the device. Tokens that
// lie behind the last ones go with them: nothing is between aligned tensors of Ints.
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

// moves records what takes n elements from one place to another.
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

// replica says whether t is the same work as first but for its data, with examples
// that are so many further.
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

// further is how many examples t is further than first, if they are replicas.
func (t *launchList) further(first *launchList) uint32 {
	if len(t.examples) == 0 || len(first.examples) == 0 {
		return 0
	}
	return t.words[t.examples[0]] - first.words[first.examples[0]]
}
