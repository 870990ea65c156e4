package cuda

import (
	"hash/maphash"
	"slices"

	"github.com/arithlang/mlc/runtime/abi"
	"github.com/arithlang/mlc/runtime/device"
)

// A group is launch lists that run together in one worker's memory: one list, or replicas of one
// or several forms.
type group struct {
	lists   []*launchList
	mem     *memory
	sum     bool                    // of a Sum: clear Grads and Uses first
	chunk   int                     // of a Sum: the place of the first list's gradients
	strides [device.NumSpaces]int64 // bytes from one replica to the next
	in      int                     // first word of the first launch list in the first stage
	eachIn  int                     // words from one launch list to the next
	out     []int                   // first word of each launch list in the second stage
	eachOut int                     // words from one list to the next; 0: they differ
	tables  []table                 // in the first stage, after the launch lists

	form  []int  // of each list
	items []item // ops of several forms; empty: there is one form
}

// A command is a launch with all its parameters, or a product instead.
type command struct {
	k       *kernel
	grid    [3]int
	shared  int
	lo, hi  int // of its parameters within the command list's args
	product int // the product's number in the list, from 1; 0: it is a launch
}

// A commandList is one submission to the device: a copy of the first stage, commands, meetings of
// the ranks between commands, and a copy of the second stage back.
type commandList struct {
	commands []command
	args     []byte
	products []Product
	meetings []meeting // of the ranks, in order
	in, out  int       // words
}

func (s *commandList) equal(o *commandList) bool {
	return s.in == o.in && s.out == o.out && slices.Equal(s.commands, o.commands) && slices.Equal(s.args, o.args) &&
		slices.Equal(s.products, o.products)
}

func (s *commandList) hash(seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	_, _ = h.Write(s.args)
	for i := range s.commands {
		maphash.WriteComparable(&h, s.commands[i])
	}
	for i := range s.products {
		maphash.WriteComparable(&h, s.products[i])
	}
	return h.Sum64()
}

func (s *commandList) clone() commandList {
	return commandList{commands: slices.Clone(s.commands), args: slices.Clone(s.args), products: slices.Clone(s.products), in: s.in, out: s.out}
}

func (s *commandList) u32(words ...uint32) {
	for _, w := range words {
		s.args = abi.AppendU32(s.args, w)
	}
}

// u64 appends at a multiple of 8. Every command begins at one.
func (s *commandList) u64(x uint64) { s.args = abi.AppendU64(s.args, x) }

// end adds a command whose parameters begin at lo.
func (s *commandList) end(k *kernel, lo int, grid [3]int, shared int) {
	s.commands = append(s.commands, command{k: k, grid: grid, shared: shared, lo: lo, hi: len(s.args)})
	for len(s.args)%8 != 0 {
		s.args = append(s.args, 0)
	}
}

// layOut places every launch list in the stages and makes room for stages and scratch.
func (m *Machine) layOut() error {
	in, out, scratch := 0, 0, int64(0)
	for i := range m.pending {
		g := &m.pending[i]
		g.in, g.out, g.eachOut = in, g.out[:0], g.lists[0].out
		for _, t := range g.lists {
			t.align()
			g.eachIn = max(g.eachIn, len(t.in))
			g.out = append(g.out, out)
			if out += t.out; t.out != g.eachOut {
				g.eachOut = 0
			}
		}
		in += len(g.lists) * g.eachIn
		for x := range g.ops {
			if x.shape > 0 {
				g.table(x, &in)
			}
			if x.scratch == 0 {
				continue
			}
			replicas := g.count(x.forms)
			if l := m.shape(x.op, replicas); l.shared > 0 {
				if err := m.allow(m.kernels[x.kernel], l.shared); err != nil {
					return err
				}
			} else {
				scratch = max(scratch, int64(l.blocks)*int64(replicas*x.sets)*l.scratch)
			}
		}
	}
	m.list = commandList{commands: m.list.commands[:0], args: m.list.args[:0], products: m.list.products[:0],
		meetings: m.list.meetings[:0], in: in, out: out}
	if err := m.in.fit(m, m.turn, in); err != nil {
		return err
	}
	if err := m.out.fit(m, m.turn, out); err != nil {
		return err
	}
	grown, err := m.scratch.fit(m.dev, scratch)
	if grown {
		m.graphs.drop()
	}
	return tooLarge(err, "tiles that do not fit into shared memory", "end other programs on the GPU, or use --device cpu")
}

func (m *Machine) allow(k *kernel, shared int) error {
	if shared <= k.allowed {
		return nil
	}
	if err := k.f.AllowShared(shared); err != nil {
		return err
	}
	k.allowed = shared
	return nil
}

const (
	maxBlocks  = 1<<31 - 1
	scratchPer = 4 // blocks per multiprocessor that get scratch memory
)

// A shape is how a kernel is launched. Its scratch is shared memory if shared is not 0, and
// scratch memory otherwise.
type shape struct {
	blocks, shared int
	scratch        int64
}

func (m *Machine) shape(o *op, replicas int) shape {
	s := shape{blocks: min(o.blocks, maxBlocks), scratch: abi.ScratchBytes(int64(o.scratch))}
	switch {
	case o.scratch == 0:
	case s.scratch+int64(m.kernels[o.kernel].static) <= int64(m.info.SharedOptIn):
		s.shared = int(s.scratch)
	default:
		s.blocks = min(s.blocks, max(1, scratchPer*m.info.SMs/(replicas*o.sets)))
	}
	return s
}

// emit appends the commands of a group.
func (m *Machine) emit(g *group) {
	clears := g.sum
	for x := range g.ops {
		if clears && (x.kind != putOp || x.refs[0].Space != device.Ints) { // after the tokens, this clear can join others
			m.clearSums(g)
			clears = false
		}
		switch x.kind {
		case launchOp:
			if m.multiplies && m.kernels[x.kernel].Gemm != nil {
				m.multiply(g, x)
				break
			}
			m.launch(g, x)
		case sumOp:
			m.sum(g, x.refs[0], x.at)
		case totalOp:
			m.addUp(x.at)
		case settleOp:
			m.settle(g, x)
		default:
			for _, r := range g.runs(x.forms) {
				if x.kind == getOp && g.eachOut == 0 {
					for ; r.n > 1; r.first, r.n = r.first+1, r.n-1 {
						m.moveOp(g, x, run{r.first, 1})
					}
				}
				m.moveOp(g, x, r)
			}
		}
	}
	if clears {
		m.clearSums(g)
	}
}

// clearSums clears a group's Grads and Uses, since its launches add to them.
func (m *Machine) clearSums(g *group) {
	all := run{0, len(g.lists)}
	m.clear(g, all, device.Ref{Space: device.Grads}, quad*quads(m.params))
	if m.uses > 0 {
		m.clear(g, all, device.Ref{Space: device.Uses}, m.uses)
	}
}

// moveOp appends the kernel that clears, adds, rounds or copies for a run of replicas.
func (m *Machine) moveOp(g *group, x *item, r run) {
	at, step := m.address(g, x.refs[0], r.first)
	switch x.kind {
	case clearOp:
		m.clear(g, r, x.refs[0], x.n)
	case addOp, roundOp:
		k := m.moves.add
		if x.kind == roundOp {
			k = m.moves.round
		}
		from, fromStep := m.address(g, x.refs[1], r.first)
		m.move(k, at, step, from, fromStep, x.n, r.n)
	case putOp:
		m.copy(at, step, m.in.word(g.in+r.first*g.eachIn+x.at), g.words64(g.eachIn), x.n, r.n)
	case getOp:
		m.copy(m.out.word(g.out[r.first]+x.at), g.words64(g.eachOut), at, step, x.n, r.n)
	}
}

// words64 returns the bytes between the words of consecutive replicas in a stage, 0 for a single
// replica.
func (g *group) words64(words int) int64 {
	if len(g.lists) == 1 {
		return 0
	}
	return int64(words) * wordBytes
}

// address returns the address of a replica's reference, and the bytes to the next replica's.
func (m *Machine) address(g *group, r device.Ref, replica int) (Ptr, int64) {
	mem, first := g.mem, int64(replica)*g.strides[r.Space]
	switch {
	case r.Space.Shared():
		mem = &m.common
	case r.Space == device.Grads:
		mem, first = &m.sums, first+int64(g.chunk)*stride(m.params)
	}
	each := wordBytes
	if r.Space == device.Rounded {
		each /= 2
	}
	return mem.spaces[r.Space].at + Ptr(first+int64(r.Off*each)), g.strides[r.Space]
}

// spread returns the number of blocks of the Machine's own kernels for n elements.
func (m *Machine) spread(n int) int {
	const perSM = 8 // the resident blocks
	return max(1, min((n+moveThreads-1)/moveThreads, perSM*m.info.SMs))
}

// move appends a kernel that adds or rounds n words.
func (m *Machine) move(k *kernel, dst Ptr, dstStep int64, src Ptr, srcStep int64, n, replicas int) {
	s, lo := &m.list, len(m.list.args)
	for _, x := range [...]uint64{uint64(dst), uint64(dstStep), uint64(src), uint64(srcStep)} {
		s.u64(x)
	}
	s.u32(uint32(n))
	s.end(k, lo, [3]int{m.spread(n), replicas, 1}, 0)
}

// settle appends the kernel that writes the update's step scalars.
func (m *Machine) settle(g *group, x *item) {
	s, lo := &m.list, len(m.list.args)
	squares, _ := m.address(g, x.refs[0], 0)
	for _, at := range [...]Ptr{m.control.at, m.in.word(g.in + x.at), squares} {
		s.u64(uint64(at))
	}
	s.u32(x.words...) // the limit
	s.end(m.moves.settle, lo, [3]int{1, 1, 1}, 0)
}

// sum appends the kernel that adds up places of gradients from r on in the first of them.
func (m *Machine) sum(g *group, r device.Ref, places int) {
	at, _ := m.address(g, r, 0)
	s, lo := &m.list, len(m.list.args)
	n := quads(m.params)
	s.u64(uint64(at))
	s.u64(uint64(stride(m.params)))
	s.u32(uint32(n), uint32(places))
	s.end(m.moves.sum, lo, [3]int{m.spread(n), 1, 1}, 0)
}

// launch appends a launch of a model's kernel.
func (m *Machine) launch(g *group, x *item) {
	s, lo := &m.list, len(m.list.args)
	k, replicas := m.kernels[x.kernel], g.count(x.forms)
	l := m.shape(x.op, replicas)
	a := abi.Args{Buffers: m.buffers[:0], Sets: x.sets, Words: x.words, Further: g.further(), Bytes: uint64(l.scratch)}
	for _, r := range x.refs {
		at, step := m.address(g, r, 0)
		a.Buffers = append(a.Buffers, abi.Buffer{At: uint64(at), Stride: uint64(step)})
	}
	if x.shape > 0 {
		a.Shapes = uint64(m.in.word(g.table(x, nil)))
	}
	switch {
	case x.at == settled:
		a.Step = uint64(m.control.at)
	case x.at >= 0:
		a.Step = uint64(m.in.word(g.in + g.firstOf(x.forms)*g.eachIn + x.at))
	}
	if l.shared == 0 {
		a.Scratch = uint64(m.scratch.at)
	}
	m.buffers = a.Buffers
	s.args = k.sig.Append(s.args, &a)
	s.end(k, lo, [3]int{l.blocks, replicas, x.sets}, l.shared)
}

// further returns the difference of example numbers between consecutive replicas.
func (g *group) further() uint32 {
	if len(g.lists) == 1 {
		return 0
	}
	return g.lists[1].further(g.lists[0])
}
