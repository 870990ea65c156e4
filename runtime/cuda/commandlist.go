package cuda

import (
	"hash/maphash"
	"slices"

	"github.com/arithlang/mlc/runtime/abi"
	"github.com/arithlang/mlc/runtime/device"
)

// A group is launch lists that run together, on the memory of one worker: one launch list, or
// replicas of each other.
type group struct {
	lists   []*launchList
	mem     *memory
	sum     bool                    // of a Sum: clear Grads and Uses before
	chunk   int                     // of a Sum: the place of the first one's gradients
	strides [device.NumSpaces]int64 // bytes from one replica to the next
	in, out int                     // words of the stages before those of the first launch list
}

// A command is a launch of which everything is known, or a product in its place.
type command struct {
	k       *kernel
	grid    [3]int
	shared  int
	lo, hi  int // its parameters within the command list
	product int // which of the list's products it is, counted from 1; 0: none
}

// A commandList is what is handed over to the device in one go: a copy of the first
// stage, commands, and meetings of the ranks between them, a copy back of the second.
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

// u64 appends at a multiple of 8, at which every command begins.
func (s *commandList) u64(x uint64) { s.args = abi.AppendU64(s.args, x) }

// end adds the command whose parameters are those since lo.
func (s *commandList) end(k *kernel, lo int, grid [3]int, shared int) {
	s.commands = append(s.commands, command{k: k, grid: grid, shared: shared, lo: lo, hi: len(s.args)})
	for len(s.args)%8 != 0 {
		s.args = append(s.args, 0)
	}
}

// layOut gives every launch list its place in the stages and finds room for what groups need.
func (m *Machine) layOut() error {
	in, out, scratch := 0, 0, int64(0)
	for i := range m.pending {
		g := &m.pending[i]
		g.in, g.out = in, out
		for _, t := range g.lists {
			t.align()
			in, out = in+len(t.in), out+t.out
		}
		for _, o := range g.lists[0].ops {
			if o.scratch == 0 {
				continue
			}
			if l := m.shape(&o, len(g.lists)); l.shared > 0 {
				if err := m.allow(m.kernels[o.kernel], l.shared); err != nil {
					return err
				}
			} else {
				scratch = max(scratch, int64(l.blocks)*int64(len(g.lists)*o.sets)*l.scratch)
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
	scratchPer = 4 // blocks of a multiprocessor that get scratch memory
)

// A shape is how a kernel is launched: its scratch is shared memory if that is not 0,
// and scratch memory otherwise.
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
	first, replicas := g.lists[0], len(g.lists)
	if g.sum {
		m.clear(g, device.Ref{Space: device.Grads}, quad*quads(m.params))
		if m.uses > 0 {
			m.clear(g, device.Ref{Space: device.Uses}, m.uses)
		}
	}
	refs, words := first.refs, first.words
	for i := range first.ops {
		o := &first.ops[i]
		switch o.kind {
		case launchOp:
			if m.multiplies && m.kernels[o.kernel].Gemm != nil {
				m.multiply(g, o, refs[:o.refs])
				break
			}
			m.launch(g, o, refs[:o.refs], words[:o.words])
		case clearOp:
			m.clear(g, refs[0], o.n)
		case addOp:
			to, toStep := m.address(g, refs[0])
			from, fromStep := m.address(g, refs[1])
			m.move(m.moves.add, to, toStep, from, fromStep, o.n, replicas)
		case sumOp:
			m.sum(g, refs[0], o.at)
		case totalOp:
			m.addUp(o.at)
		case putOp:
			at, step := m.address(g, refs[0])
			m.move(m.moves.copy, at, step, m.in.word(g.in+o.at), words64(len(first.in), replicas), o.n, replicas)
		case getOp:
			at, step := m.address(g, refs[0])
			m.move(m.moves.copy, m.out.word(g.out+o.at), words64(first.out, replicas), at, step, o.n, replicas)
		case settleOp:
			m.settle(g, o, refs[0], words[:o.words])
		}
		refs, words = refs[o.refs:], words[o.words:]
	}
}

// words64 is the bytes from one replica's words in a stage to the next one's.
func words64(words, replicas int) int64 {
	if replicas == 1 {
		return 0
	}
	return int64(words) * wordBytes
}

// address is where a reference is, and the bytes to the next replica.
func (m *Machine) address(g *group, r device.Ref) (Ptr, int64) {
	mem, first := g.mem, int64(0)
	switch {
	case r.Space.Shared():
		mem = &m.common
	case r.Space == device.Grads:
		mem, first = &m.sums, int64(g.chunk)*stride(m.params)
	}
	return mem.spaces[r.Space].at + Ptr(first+int64(r.Off*wordBytes)), g.strides[r.Space]
}

// spread is the number of blocks for so many elements of the Machine's own kernels.
func (m *Machine) spread(n int) int {
	const perSM = 8 // as many as are resident
	return max(1, min((n+moveThreads-1)/moveThreads, perSM*m.info.SMs))
}

// move copies or adds n words.
func (m *Machine) move(k *kernel, dst Ptr, dstStep int64, src Ptr, srcStep int64, n, replicas int) {
	s, lo := &m.list, len(m.list.args)
	for _, x := range [...]uint64{uint64(dst), uint64(dstStep), uint64(src), uint64(srcStep)} {
		s.u64(x)
	}
	s.u32(uint32(n))
	s.end(k, lo, [3]int{m.spread(n), replicas, 1}, 0)
}

func (m *Machine) clear(g *group, r device.Ref, n int) {
	at, step := m.address(g, r)
	s, lo := &m.list, len(m.list.args)
	s.u64(uint64(at))
	s.u64(uint64(step))
	s.u32(uint32(n))
	s.end(m.moves.clear, lo, [3]int{m.spread(n), len(g.lists), 1}, 0)
}

// settle appends the kernel that writes the step's scalars of the update.
func (m *Machine) settle(g *group, o *op, squares device.Ref, limit []uint32) {
	s, lo := &m.list, len(m.list.args)
	at, _ := m.address(g, squares)
	for _, x := range [...]Ptr{m.control.at, m.in.word(g.in + o.at), at} {
		s.u64(uint64(x))
	}
	s.u32(limit...)
	s.end(m.moves.settle, lo, [3]int{1, 1, 1}, 0)
}

// sum makes the gradients at a reference the sum of those of so many places from there on.
func (m *Machine) sum(g *group, r device.Ref, places int) {
	at, _ := m.address(g, r)
	s, lo := &m.list, len(m.list.args)
	n := quads(m.params)
	s.u64(uint64(at))
	s.u64(uint64(stride(m.params)))
	s.u32(uint32(n), uint32(places))
	s.end(m.moves.sum, lo, [3]int{m.spread(n), 1, 1}, 0)
}

// launch appends a launch of the model's kernels.
func (m *Machine) launch(g *group, o *op, refs []device.Ref, words []uint32) {
	s, lo := &m.list, len(m.list.args)
	k, l := m.kernels[o.kernel], m.shape(o, len(g.lists))
	a := abi.Args{Buffers: m.buffers[:0], Sets: o.sets, Words: words, Further: g.further(), Bytes: uint64(l.scratch)}
	for _, r := range refs {
		at, step := m.address(g, r)
		a.Buffers = append(a.Buffers, abi.Buffer{At: uint64(at), Stride: uint64(step)})
	}
	switch {
	case o.at == settled:
		a.Step = uint64(m.control.at)
	case o.at >= 0:
		a.Step = uint64(m.in.word(g.in + o.at))
	}
	if l.shared == 0 {
		a.Scratch = uint64(m.scratch.at)
	}
	m.buffers = a.Buffers
	s.args = k.sig.Append(s.args, &a)
	s.end(k, lo, [3]int{l.blocks, len(g.lists), o.sets}, l.shared)
}

// further is how many examples a replica is further than the one before.
func (g *group) further() uint32 {
	if len(g.lists) == 1 {
		return 0
	}
	return g.lists[1].further(g.lists[0])
}
