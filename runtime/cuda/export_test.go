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
	m.launch(&group{lists: []*launchList{t}}, &t.ops[0], t.refs, t.words)
	c := m.list.commands[0]
	return m.list.args[c.lo:c.hi]
}

// Kept is how many bytes of parameters a Machine keeps of the command lists that it
// has played, and how many of these lists there are.
func (m *Machine) Kept() (bytes, lists int) {
	for _, p := range m.graphs.plays {
		bytes += len(p.list.args)
	}
	return bytes, len(m.graphs.plays)
}
