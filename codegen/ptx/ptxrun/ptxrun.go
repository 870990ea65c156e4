// Package ptxrun runs single kernels that package codegen/ptx printed on a device, on buffers of
// the host. It loads them through a driver of package runtime/cuda, a GPU's or the simulator's.
// Package cli compares kernels with it.
package ptxrun

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/scalars"
	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/abi"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda"
	"github.com/arithlang/mlc/sim/simulated"
)

// A Machine is a device with a module on it. Several goroutines may use it.
type Machine struct {
	open    func() (cuda.Driver, error)
	code    ptx.Output
	mu      sync.Mutex
	driver  cuda.Driver // nil: closed, or lost
	module  cuda.Module
	entries map[string]ptx.Entry
}

// New opens a device and loads a module.
func New(open func() (cuda.Driver, error), code ptx.Output) (*Machine, error) {
	m := &Machine{open: open, code: code, entries: map[string]ptx.Entry{}}
	for _, e := range code.Kernels {
		m.entries[e.Name] = e
	}
	return m, m.start()
}

func (m *Machine) start() error {
	d, err := m.open()
	if err != nil {
		return err
	}
	if m.module, err = d.Load(string(m.code.Text)); err != nil {
		return errors.Join(err, d.Close())
	}
	m.driver = d
	return nil
}

// Close gives the device back.
func (m *Machine) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.driver == nil {
		return nil
	}
	d := m.driver
	m.driver = nil
	return d.Close()
}

// About returns the device.
func (m *Machine) About() cuda.Info { return m.driver.Info() }

// Sums returns how a kernel adds products of 16-bit factors on the device; nil: as is defined.
func (m *Machine) Sums(name string) *kernel.Sums {
	i, e := m.About(), m.entries[name]
	return e.Sums(10*i.Major + i.Minor)
}

// Run launches a kernel on buffers in the order of its parameters, and overwrites
// them: it is a remote.Runner. A device that a kernel has broken is opened again
// for the next one.
func (m *Machine) Run(name string, s kernel.Scalars, bufs []kernel.Buffer) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.driver == nil {
		if err := m.start(); err != nil {
			return err
		}
	}
	l := launch{Machine: m, scalars: s, bufs: bufs}
	err := l.run(name)
	if e := (*cuda.Error)(nil); errors.As(err, &e) && e.Lost() {
		m.driver.Close() // its error would add nothing
		m.driver = nil
		return err
	}
	return errors.Join(err, l.free())
}

// A launch is one run of a kernel.
type launch struct {
	*Machine
	scalars kernel.Scalars
	bufs    []kernel.Buffer
	places  []cuda.Ptr // of bufs
	held    []cuda.Ptr // all memory
	args    abi.Args
}

func (l *launch) run(name string) error {
	e, ok := l.entries[name]
	if !ok {
		return fmt.Errorf("BUG: the module has no kernel %s", name)
	}
	f, err := l.module.Function(name)
	if err != nil {
		return err
	}
	blocks := cost.Value(e.Blocks, l.scalars)
	if blocks == 0 {
		return nil
	}
	if err := l.upload(e); err != nil {
		return err
	}
	shared := 0
	if e.Scratch != nil {
		if blocks, shared, err = l.scratch(e, f, blocks); err != nil {
			return err
		}
	}
	sig := e.Signature()
	if err := f.Launch([3]int{blocks, 1, 1}, [3]int{e.Threads, 1, 1}, shared, sig.Append(nil, &l.args)); err != nil {
		return err
	}
	if err := l.driver.Synchronize(); err != nil {
		return err
	}
	return l.download()
}

// upload copies buffers and scalars to the device and packs them.
func (l *launch) upload(e ptx.Entry) error {
	for _, b := range l.bufs {
		p, err := l.put(b.Bytes())
		if err != nil {
			return err
		}
		l.places = append(l.places, p)
		l.args.Buffers = append(l.args.Buffers, abi.Buffer{At: uint64(p)})
	}
	for _, s := range e.Signature().Scalars {
		l.args.Words = append(l.args.Words, l.scalars.Bits(s))
	}
	if e.Shapes {
		shape := abi.NewShape(0, l.scalars.Bits)
		p, err := l.put(shape.Append(nil))
		if err != nil {
			return err
		}
		l.args.Shapes = uint64(p)
	}
	if e.Step {
		p, err := l.put(scalars.StepBlock(l.scalars.Bits))
		if err != nil {
			return err
		}
		l.args.Step = uint64(p)
	}
	return nil
}

// mostScratch is the global memory that tiles may take.
const mostScratch = 256 << 20

// scratch finds a place for the tiles: shared memory if they fit, else global memory
// for as many blocks as that has room for.
func (l *launch) scratch(e ptx.Entry, f cuda.Function, blocks int) (int, int, error) {
	size := cost.Value(e.Scratch, l.scalars)
	info := l.driver.Info()
	if size+e.Static <= max(info.Shared, info.SharedOptIn) {
		l.args.Bytes = uint64(size)
		if size+e.Static > info.Shared {
			return blocks, size, f.AllowShared(size)
		}
		return blocks, size, nil
	}
	each := int(abi.ScratchBytes(int64(size)))
	blocks = min(blocks, max(1, mostScratch/each))
	p, err := l.alloc(each * blocks)
	l.args.Scratch, l.args.Bytes = uint64(p), uint64(each)
	return blocks, 0, err
}

func (l *launch) alloc(n int) (cuda.Ptr, error) {
	p, err := l.driver.Alloc(int64(max(n, 1)))
	if err == nil {
		l.held = append(l.held, p)
	}
	return p, err
}

func (l *launch) put(data []byte) (cuda.Ptr, error) {
	p, err := l.alloc(len(data))
	if err != nil || len(data) == 0 {
		return p, err
	}
	return p, l.driver.ToDevice(p, data)
}

func (l *launch) download() error {
	for i, b := range l.bufs {
		data := b.Bytes()
		if len(data) == 0 {
			continue
		}
		if err := l.driver.ToHost(data, l.places[i]); err != nil {
			return err
		}
		b.SetBytes(data)
	}
	return nil
}

func (l *launch) free() error {
	var errs []error
	for _, p := range l.held {
		errs = append(errs, l.driver.Free(p))
	}
	return errors.Join(errs...)
}

// Simulator opens a simulated device that checks everything, on all cores. It is an sm_90,
// whose bits the kernel interpreter knows of every kernel (ptx.Entry.Fours).
func Simulator() (cuda.Driver, error) {
	return simulated.Open(ptxsim.Options{Arch: 90, Workers: runtime.GOMAXPROCS(0)})
}

// GPU opens the GPU of this machine.
func GPU() (cuda.Driver, error) { return libcuda.Open(libcuda.Options{}) }
