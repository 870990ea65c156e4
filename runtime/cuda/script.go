package cuda

import (
	"slices"

	"github.com/arithlang/mlc/runtime/abi"
	"github.com/arithlang/mlc/runtime/device"
)

// A group is tapes that run together, on the memory of one worker: one tape, or
// replicas of each other.
type group struct {
	tapes   []*tape
	mem     *memory
	sum     bool                    // clear Grads before, and add them to Root's after
	strides [device.NumSpaces]int64 // bytes from one replica to the next
	in, out int                     // words of the stages before those of the first tape
}

// A command is a launch of which everything is known.
type command struct {
	k      *kernel
	grid   [3]int
	shared int
	lo, hi int // its parameters within the script
}

// A script is what is handed over to the device in one go: a copy of the first
// stage, commands, a copy back of the second.
type script struct {
	commands []command
	args     []byte
	in, out  int // words
}

func (s *script) equal(o *script) bool {
	return s.in == o.in && s.out == o.out && slices.Equal(s.commands, o.commands) && slices.Equal(s.args, o.args)
}

func (s *script) clone() script {
	return script{slices.Clone(s.commands), slices.Clone(s.args), s.in, s.out}
}

func (s *script) u32(words ...uint32) {
	for _, w := range words {
		s.args = abi.AppendU32(s.args, w)
	}
}

// u64 appends at a multiple of 8, at which every command begins.
func (s *script) u64(x uint64) { s.args = abi.AppendU64(s.args, x) }

// end adds the command whose parameters are those since lo.
func (s *script) end(k *kernel, lo int, x, y, shared int) {
	s.commands = append(s.commands, command{k: k, grid: [3]int{x, y, 1}, shared: shared, lo: lo, hi: len(s.args)})
	for len(s.args)%8 != 0 {
		s.args = append(s.args, 0)
	}
}

// layOut gives every tape its place in the stages and finds room for what groups need.
func (m *Machine) layOut() error {
	in, out, scratch := 0, 0, int64(0)
	for i := range m.pending {
		g := &m.pending[i]
		g.in, g.out = in, out
		for _, t := range g.tapes {
			t.align()
			in, out = in+len(t.in), out+t.out
		}
		for _, o := range g.tapes[0].ops {
			if o.room == 0 {
				continue
			}
			if l := m.shape(&o, len(g.tapes)); l.shared > 0 {
				if err := m.allow(m.kernels[o.kernel], l.shared); err != nil {
					return err
				}
			} else {
				scratch = max(scratch, int64(l.blocks)*int64(len(g.tapes))*l.room)
			}
		}
	}
	m.script = script{commands: m.script.commands[:0], args: m.script.args[:0], in: in, out: out}
	if err := m.in.fit(m, in); err != nil {
		return err
	}
	if err := m.out.fit(m, out); err != nil {
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

// A shape is how a kernel is launched: its room is shared memory if that is not 0,
// and scratch memory otherwise.
type shape struct {
	blocks, shared int
	room           int64
}

func (m *Machine) shape(o *op, replicas int) shape {
	s := shape{blocks: min(o.blocks, maxBlocks), room: abi.RoomBytes(int64(o.room))}
	switch {
	case o.room == 0:
	case s.room+int64(m.kernels[o.kernel].static) <= int64(m.info.SharedOptIn):
		s.shared = int(s.room)
	default:
		s.blocks = min(s.blocks, max(1, scratchPer*m.info.SMs/replicas))
	}
	return s
}

// emit appends the commands of a group.
func (m *Machine) emit(g *group) {
	first, replicas := g.tapes[0], len(g.tapes)
	grads := device.Ref{Space: device.Grads}
	if g.sum {
		m.clear(g, grads, m.params)
	}
	refs, words := first.refs, first.words
	for i := range first.ops {
		o := &first.ops[i]
		switch o.kind {
		case launchOp:
			m.launch(g, o, refs[:o.refs], words[:o.words])
		case clearOp:
			m.clear(g, refs[0], o.n)
		case putOp:
			at, step := m.address(g, refs[0])
			m.copy(at, step, m.in.word(g.in+o.at), words64(len(first.in), replicas), o.n, replicas)
		case getOp:
			at, step := m.address(g, refs[0])
			m.copy(m.out.word(g.out+o.at), words64(first.out, replicas), at, step, o.n, replicas)
		}
		refs, words = refs[o.refs:], words[o.words:]
	}
	if g.sum {
		at, step := m.address(g, grads)
		s, lo := &m.script, len(m.script.args)
		s.u64(uint64(m.sums.spaces[device.Grads].at))
		s.u64(uint64(at))
		s.u64(uint64(step))
		s.u32(uint32(replicas), uint32(m.params))
		s.end(m.moves.add, lo, m.spread(m.params), 1, 0)
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
	mem := g.mem
	if r.Space == device.Params || r.Space == device.Moment1 || r.Space == device.Moment2 {
		mem = &m.common
	}
	return mem.spaces[r.Space].at + Ptr(r.Off*wordBytes), g.strides[r.Space]
}

// spread is the number of blocks for so many elements of the Machine's own kernels.
func (m *Machine) spread(n int) int {
	const perSM = 8 // as many as are resident
	return max(1, min((n+moveThreads-1)/moveThreads, perSM*m.info.SMs))
}

func (m *Machine) copy(dst Ptr, dstStep int64, src Ptr, srcStep int64, n, replicas int) {
	s, lo := &m.script, len(m.script.args)
	for _, x := range [...]uint64{uint64(dst), uint64(dstStep), uint64(src), uint64(srcStep)} {
		s.u64(x)
	}
	s.u32(uint32(n))
	s.end(m.moves.copy, lo, m.spread(n), replicas, 0)
}

func (m *Machine) clear(g *group, r device.Ref, n int) {
	at, step := m.address(g, r)
	s, lo := &m.script, len(m.script.args)
	s.u64(uint64(at))
	s.u64(uint64(step))
	s.u32(uint32(n))
	s.end(m.moves.clear, lo, m.spread(n), len(g.tapes), 0)
}

// launch appends a launch of the model's kernels.
func (m *Machine) launch(g *group, o *op, refs []device.Ref, words []uint32) {
	s, lo := &m.script, len(m.script.args)
	k, l := m.kernels[o.kernel], m.shape(o, len(g.tapes))
	a := abi.Args{Buffers: m.buffers[:0], Words: words, Further: g.apart(), Bytes: uint64(l.room)}
	for _, r := range refs {
		at, step := m.address(g, r)
		a.Buffers = append(a.Buffers, abi.Buffer{At: uint64(at), Stride: uint64(step)})
	}
	if o.at >= 0 {
		a.Step = uint64(m.in.word(g.in + o.at))
	}
	if l.shared == 0 {
		a.Room = uint64(m.scratch.at)
	}
	m.buffers = a.Buffers
	s.args = k.sig.Append(s.args, &a)
	s.end(k, lo, l.blocks, len(g.tapes), l.shared)
}

// apart is how many examples a replica is further than the one before.
func (g *group) apart() uint32 {
	if len(g.tapes) == 1 {
		return 0
	}
	return g.tapes[1].apart(g.tapes[0])
}
