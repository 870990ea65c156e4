package cuda

import "github.com/arithlang/mlc/runtime/device"

// Pack is the parameters of a launch without buffers, by the path that a Machine takes.
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

// PackJoined is what a launch, and others that join it, become; each has one buffer.
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

// Kept is how many bytes of parameters a Machine keeps of the command lists that it
// has played, and how many of these lists there are.
func (m *Machine) Kept() (bytes, lists int) {
	for _, p := range m.graphs.plays {
		bytes += len(p.list.args)
	}
	return bytes, len(m.graphs.plays)
}

// Batch makes one of several products, if it can.
var Batch = batch

// Merged is how many items the forms of two pieces of work become that clear these ranges
// and whose ops all have the same hash.
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
