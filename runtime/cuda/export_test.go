package cuda

import (
	"fmt"

	"github.com/arithlang/mlc/runtime/device"
)

// Pack returns the parameters of a launch without buffers, as a Machine packs them.
func Pack(k Kernel, e *device.Env) []byte {
	k.Blocks = func(*device.Env) int { return 1 }
	loaded := &kernel{Kernel: k}
	if err := loaded.sign(); err != nil {
		panic(err)
	}
	m, t := &Machine{kernels: []*kernel{loaded}}, &launchList{}
	t.launch(0, loaded, e, nil)
	m.launch(&group{lists: []*launchList{t}}, &item{op: &t.ops[0], refs: t.refs, words: t.words, forms: 1})
	c := m.list.commands[0]
	return m.list.args[c.lo:c.hi]
}

// A Packed is a launch as a driver gets it.
type Packed struct {
	Grid [3]int
	Args []byte
}

// PackJoined packs a launch and others that join it, with one buffer each.
func PackJoined(k Kernel, e *device.Env, buffers ...device.Ref) (all []Packed) {
	loaded := &kernel{Kernel: k}
	if err := loaded.sign(); err != nil {
		panic(err)
	}
	m, t := &Machine{kernels: []*kernel{loaded}}, &launchList{}
	t.launch(0, loaded, e, buffers[:1])
	for i := range buffers[1:] {
		t.join(0, loaded, e, buffers[i+1:][:1])
	}
	m.emit(&group{lists: []*launchList{t}, mem: &memory{}})
	for _, c := range m.list.commands {
		all = append(all, Packed{c.grid, m.list.args[c.lo:c.hi]})
	}
	return all
}

// Kept returns how many bytes of parameters a Machine keeps with its command lists, and how many
// lists it remembers.
func (m *Machine) Kept() (bytes, lists int) {
	for _, p := range m.graphs.plays {
		bytes += len(p.list.args)
	}
	return bytes, len(m.graphs.plays)
}

// Batch combines several products, if it can.
var Batch = batch

// Merged returns how many items two pieces of work become. They clear these ranges, and their ops
// all have the same hash.
func Merged(first, second []device.Ref) int {
	g := group{lists: make([]*launchList, 2)}
	for i, refs := range [][]device.Ref{first, second} {
		g.lists[i] = new(launchList)
		for _, r := range refs {
			g.lists[i].move(clearOp, r, 1, 0)
		}
	}
	g.merge(func(*form, int) uint64 { return 0 })
	return len(g.items)
}

// CommandsOf returns the kernels, with their numbers of sets, of a piece of a sum that puts
// tokens, clears ranges and gets their results. One more copy follows, after a meeting of ranks if
// meets.
func CommandsOf(ranges int, meets bool) (all []string) {
	names := map[*kernel]string{}
	m, t := &Machine{params: 3, uses: 5, info: Info{SMs: 1}, out: stage{dev: region{1 << 20, 1 << 20}}}, &launchList{}
	for name, k := range map[string]**kernel{"copy": &m.moves.copy, "clear": &m.moves.clear} {
		*k = new(kernel)
		names[*k] = name
	}
	t.put(device.Ref{Space: device.Ints}, 4)
	t.in = make([]uint32, 4)
	for i := range ranges {
		t.move(clearOp, device.Ref{Space: device.Work, Off: 16 * i}, 16, 0)
	}
	for i := range ranges {
		t.get(device.Ref{Space: device.Work, Off: 16 * i}, result{floats: make([]float32, 2)})
	}
	mem := &memory{}
	for space := range mem.spaces {
		mem.spaces[space].at = Ptr(4096 * space)
	}
	m.sums.spaces[device.Grads].at = 1 << 16
	m.emit(&group{lists: []*launchList{t}, mem: mem, sum: true, out: []int{0}})
	if meets {
		m.list.meet(meeting{})
	}
	m.copy(m.out.dev.at+4096, 0, 0, 0, 1, 1)
	for i := range m.list.commands {
		c := &m.list.commands[i]
		all = append(all, fmt.Sprint(names[c.k], " ", c.grid[2]))
	}
	return all
}

// Lie compares two sets of a launch, each of n words in replicas that are step bytes apart.
func Lie(dst, step, n, replicas [2]int) (within, apart bool) {
	set := func(i int) *moved {
		return &moved{dst: uint64(dst[i]), dstStep: uint64(step[i]), n: n[i], replicas: replicas[i]}
	}
	return set(0).within(set(1)), set(0).apart(set(1))
}
