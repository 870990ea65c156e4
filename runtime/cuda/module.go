package cuda

import (
	"crypto/sha256"
	_ "embed"

	"github.com/arithlang/mlc/runtime/abi"
	"github.com/arithlang/mlc/runtime/device"
)

// A Device is a Driver and the modules loaded on it.
type Device struct {
	Driver
	modules map[[sha256.Size]byte]Module // by their text
}

// NewDevice returns a device without modules.
func NewDevice(d Driver) *Device {
	return &Device{Driver: d, modules: map[[sha256.Size]byte]Module{}}
}

// Load loads a module once per text, since compiling takes seconds.
func (d *Device) Load(ptx string) (Module, error) {
	key := sha256.Sum256([]byte(ptx))
	if m := d.modules[key]; m != nil {
		return m, nil
	}
	m, err := d.Driver.Load(ptx)
	if err == nil {
		d.modules[key] = m
	}
	return m, err
}

// A kernel is a loaded Kernel.
type kernel struct {
	Kernel
	f       Function
	number  int // in the model's table; -1: the Machine's own
	sig     abi.Signature
	bits    []func(e *device.Env) uint32 // of the scalars
	static  int                          // bytes of static shared memory per block
	allowed int                          // bytes of dynamic shared memory that launches may take
}

// kernels loads a program.
func (d *Device) kernels(p Program) ([]*kernel, error) {
	mod, err := d.Load(p.PTX)
	if err != nil {
		return nil, err
	}
	all := make([]*kernel, len(p.Kernels))
	for i, k := range p.Kernels {
		if all[i], err = d.kernel(mod, k, i); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (d *Device) kernel(mod Module, k Kernel, number int) (*kernel, error) {
	f, err := mod.Function(k.Name)
	if err != nil {
		return nil, err
	}
	out := &kernel{Kernel: k, f: f, number: number}
	if err := out.sign(); err != nil {
		return nil, err
	}
	if k.Scratch == nil {
		return out, nil
	}
	a, err := f.Attributes()
	if err != nil {
		return nil, err
	}
	out.static = a.Shared
	out.allowed = d.Info().Shared - a.Shared
	return out, nil
}

// sign reads the kernel's signature.
func (k *kernel) sign() (err error) {
	k.sig, err = k.signature()
	for _, s := range k.sig.Scalars {
		k.bits = append(k.bits, device.Bits(s))
	}
	return err
}

// MovePTX is the module of the Machine's own kernels: copy, clear, add, sum, settle and round.
//
//go:embed move.ptx
var MovePTX string

// moveThreads is the size of a block of the Machine's own kernels.
const moveThreads = 256

// moves are the Machine's own kernels.
type moves struct{ copy, clear, add, sum, settle, round *kernel }

func (d *Device) moves() (m moves, err error) {
	mod, err := d.Load(MovePTX)
	if err != nil {
		return m, err
	}
	for _, own := range []struct {
		name string
		k    **kernel
	}{{"copy", &m.copy}, {"clear", &m.clear}, {"add", &m.add}, {"sum", &m.sum}, {"settle", &m.settle}, {"round", &m.round}} { // in the order of reports
		if *own.k, err = d.kernel(mod, Kernel{Name: own.name, Threads: moveThreads}, -1); err != nil {
			return m, err
		}
	}
	return m, nil
}
