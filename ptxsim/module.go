package ptxsim

import (
	"fmt"
	"path/filepath"
	"sync"

	"github.com/arithlang/mlc/ptxsim/ptx"
)

// Module is PTX loaded on a device.
type Module struct {
	d         *Device
	src       *ptx.Module
	constants *buffer // memory of all .const variables
	address   map[*ptx.Var]uint64
	kernels   map[string]*Kernel
}

// Kernel is an entry of a module.
type Kernel struct {
	m       *Module
	src     *ptx.Kernel
	decoded func() error
	code    []instr
	columns int // of registers
	consts  []constant
	spare   sync.Pool // of registers of a warp, *[]column
}

// Load reads, checks and decodes a module, and places its variables.
func (d *Device) Load(text []byte) (*Module, error) {
	src, err := ptx.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("sim: load: %w", err)
	}
	return d.Place(src)
}

// On loads a module on another device, without reading its text again. Kernels are decoded when
// they are asked for: they are known to be right.
func (m *Module) On(d *Device) (*Module, error) { return d.load(m.src, false) }

// Place is Load of a module that has been read. Several devices may share it.
func (d *Device) Place(src *ptx.Module) (*Module, error) { return d.load(src, true) }

func (d *Device) load(src *ptx.Module, decode bool) (*Module, error) {
	if src.Arch > d.opt.Arch {
		return nil, fmt.Errorf("sim: load: the module is for sm_%d, the device is sm_%d", src.Arch, d.opt.Arch)
	}
	m := &Module{d: d, src: src, address: map[*ptx.Var]uint64{}, kernels: map[string]*Kernel{}}
	if err := m.fit(); err != nil {
		return nil, fmt.Errorf("sim: load: %w", err)
	}
	m.placeVars()
	for _, ks := range src.Kernels {
		k := &Kernel{m: m, src: ks}
		k.decoded = sync.OnceValue(k.decode)
		if decode {
			if err := k.decoded(); err != nil {
				return nil, fmt.Errorf("sim: load: kernel %s: %w", ks.Name, err)
			}
		}
		m.kernels[ks.Name] = k
	}
	return m, nil
}

// gap lies between constants, so that an index beyond one does not reach the next.
const gap = 256

// fit checks that the device has room for the variables.
func (m *Module) fit() error {
	left := map[ptx.Space]int64{ptx.Global: m.d.opt.Memory - m.d.used, ptx.Const: constLimit}
	for _, v := range m.src.Vars {
		if room, ok := left[v.Space]; ok && v.Size > room {
			return &ptx.Error{Line: v.Line, Msg: fmt.Sprintf("no room for %s: it takes %d bytes of .%s memory, %d are left", v.Name, v.Size, v.Space, room)}
		}
		left[v.Space] -= v.Size
	}
	return nil
}

// placeVars assigns addresses and values to the global and constant variables.
func (m *Module) placeVars() {
	m.constants = &buffer{name: "constant memory", readOnly: true}
	buffers := map[*ptx.Var]*buffer{}
	size := int64(0)
	for _, v := range m.src.Vars {
		switch v.Space {
		case ptx.Global:
			m.d.used += v.Size
			b := &buffer{name: "variable " + v.Name, data: make([]byte, max(v.Size, 1)), fixed: true}
			m.address[v] = m.d.place(b)
			buffers[v] = b
		case ptx.Const:
			align := max(v.Align, 1)
			size = (size + gap + align - 1) / align * align
			m.address[v] = uint64(size)
			size += v.Size
		}
	}
	m.constants.data = make([]byte, size)
	m.constants.init = newBitmap(size)
	for _, v := range m.src.Vars {
		var data []byte
		switch v.Space {
		case ptx.Global:
			data = buffers[v].data
		case ptx.Const:
			at := int(m.address[v])
			data = m.constants.data[at : at+int(v.Size)]
			m.constants.init.setRange(at, int(v.Size))
		default:
			continue
		}
		copy(data, v.Init)
		for _, r := range v.Relocs {
			storeBits(data, int(r.Offset), r.Size, m.relocated(r))
		}
	}
}

func (m *Module) relocated(r ptx.Reloc) uint64 {
	addr := m.address[r.Var]
	if r.Generic && r.Var.Space == ptx.Const {
		addr += constWindow
	}
	return r.Of(addr)
}

// addressOf returns the address of a variable in its own space.
func (k *Kernel) addressOf(v *ptx.Var) uint64 {
	if a, ok := k.m.address[v]; ok {
		return a
	}
	return uint64(v.Offset)
}

// Kernels lists the entries of a module, in the order of the text.
func (m *Module) Kernels() []string {
	var names []string
	for _, k := range m.src.Kernels {
		names = append(names, k.Name)
	}
	return names
}

// Kernel returns an entry by name.
func (m *Module) Kernel(name string) (*Kernel, error) {
	if k := m.kernels[name]; k != nil {
		return k, k.decoded()
	}
	return nil, fmt.Errorf("sim: the module has no kernel %s, it has %v", name, m.Kernels())
}

// Params lists the parameters of a kernel.
func (k *Kernel) Params() []*ptx.Var { return k.src.Params }

// source returns the place in the source of an instruction, or "".
func (k *Kernel) source(in *ptx.Instr) string {
	if in.Loc.Line == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", filepath.Base(k.m.src.Files[in.Loc.File]), in.Loc.Line)
}

// special fills the column of a constant special register.
func (w *warp) special(s ptx.Special, c *column) {
	l := w.b.l
	switch s {
	case ptx.TidX, ptx.TidY, ptx.TidZ:
		for lane := range c {
			t := w.id*32 + lane
			c[lane] = uint64([3]int{t % l.dims[0], t / l.dims[0] % l.dims[1], t / l.dims[0] / l.dims[1]}[s-ptx.TidX])
		}
		return
	case ptx.LaneID, ptx.LaneMaskEQ, ptx.LaneMaskLE, ptx.LaneMaskLT, ptx.LaneMaskGE, ptx.LaneMaskGT:
		for lane := range c {
			below := uint64(1)<<lane - 1
			c[lane] = map[ptx.Special]uint64{
				ptx.LaneID: uint64(lane), ptx.LaneMaskEQ: below + 1, ptx.LaneMaskLT: below, ptx.LaneMaskLE: 2*below + 1,
				ptx.LaneMaskGE: fullMask &^ below, ptx.LaneMaskGT: fullMask &^ (2*below + 1),
			}[s]
		}
		return
	}
	v := w.uniform(s)
	for lane := range c {
		c[lane] = uint64(v)
	}
}

// uniform returns a special register that is the same in all lanes.
func (w *warp) uniform(s ptx.Special) int {
	l := w.b.l
	switch s {
	case ptx.NTidX, ptx.NTidY, ptx.NTidZ:
		return l.dims[s-ptx.NTidX]
	case ptx.CTAIDX, ptx.CTAIDY, ptx.CTAIDZ:
		return w.b.coords[s-ptx.CTAIDX]
	case ptx.NCTAIDX, ptx.NCTAIDY, ptx.NCTAIDZ:
		return l.grid[s-ptx.NCTAIDX]
	case ptx.WarpID:
		return w.id
	case ptx.NWarpID:
		return len(w.b.warps)
	case ptx.SMID:
		return w.b.id % multiprocessors
	case ptx.NSMID:
		return multiprocessors
	case ptx.GridID:
		return int(l.d.launches)
	case ptx.TotalSharedSize:
		return l.sharedSize
	case ptx.DynamicSharedSize:
		return l.dynamic
	}
	return 0 // also for .w components, and clocks at the start
}

// multiprocessors is how many multiprocessors the device reports.
const multiprocessors = 108
