package runtime

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	goruntime "runtime"
	"slices"

	"github.com/arithlang/mlc/runtime/processor"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/flags"
)

// maxThreads keeps a slip from asking for a copy of the gradients a million times.
const maxThreads = 1024

// deviceFlags choose the machine.
type deviceFlags struct {
	flags.Machine
	trains bool // not only tests
}

// A Device is a GPU that a program brings along, for --device with its name.
type Device struct {
	Name string
	How  string // it computes, for the record of a run
	Note string // is said when it is used
	Open func() (cuda.Driver, error)
}

// openers is the table of devices that every program has.
var openers = map[string]func(f *deviceFlags, a app) (device.Machine, error){
	"auto": (*deviceFlags).openAuto, "cpu": (*deviceFlags).openCPU, "cuda": (*deviceFlags).openCUDA,
}

// open returns the machine that the flags ask for, with memory for the model.
func (f *deviceFlags) open(a app) (device.Machine, error) {
	open := openers[f.Device]
	switch {
	case f.brought(a) != nil:
		open = (*deviceFlags).openBrought
	case f.Device == "sim" || f.Device == "count":
		return nil, usagef("--device %s is mlc's, which this program is not: mlc train %[2]s.arith --device sim, or mlc bench %[2]s.arith --device count", f.Device, a.identity().name)
	case open == nil:
		return nil, usagef("unknown device %q: want auto, cpu or cuda", f.Device)
	}
	if _, _, err := f.cpu(); err != nil {
		return nil, err
	}
	if _, _, err := f.gemm(); err != nil {
		return nil, err
	}
	return await(a, func() (device.Machine, error) {
		if a.ranks.leads() {
			if err := a.ranks.tell(orderOpen, []byte(f.Device), int64(a.stage())); err != nil {
				return nil, err
			}
		}
		m, err := open(f, a)
		return a.opened(m, err)
	})
}

// stage is the number of the stage that the model is of; -1: there are none.
func (a app) stage() int {
	if a.whole == nil {
		return -1
	}
	return slices.IndexFunc(a.whole.Stages, func(s Stage) bool { return s.Model != nil && s.Model.Name == a.model.Name })
}

// closeMachine frees what a machine holds, if that is more than the host's memory.
func closeMachine(m device.Machine) error {
	if c, ok := m.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// openAuto prefers a GPU, and says so once; without one it says nothing, unless something
// is asked for that only a GPU has.
func (f *deviceFlags) openAuto(a app) (device.Machine, error) {
	by, _, _ := f.gemm()
	if a.model.GPU.PTX == "" && !by {
		return f.openCPU(a)
	}
	machine, err := f.openCUDA(a)
	switch {
	case err != nil && by:
		return nil, err
	case err == nil:
		about := machine.About()
		a.tell("using %s (%s); --device cpu would use the processor\n", about.Name, about.How)
		return machine, nil
	case !errors.Is(err, cuda.ErrUnavailable):
		a.tell("using the processor, because the GPU cannot be used: %v\n", err)
	}
	return f.openCPU(a)
}

// tell says which device is used, unless that is known.
func (a app) tell(format string, args ...any) {
	if !a.told {
		fmt.Fprintf(a.err, format, args...)
	}
}

func (f *deviceFlags) openCPU(a app) (device.Machine, error) {
	isa, threads, err := f.cpu()
	if err != nil {
		return nil, err
	}
	threads = a.ranks.threads(f, threads)
	n, err := a.model.needs(f.trains)
	if err == nil {
		n.ranks = a.ranks.size()
		err = a.afford(n, threads)
	}
	if err == nil {
		err = a.model.indexed(f.trains)
	}
	if err != nil {
		return nil, err
	}
	machine := processor.New(a.model.CPU, isa, threads, &a.model.Plan)
	if a.ranks.several() {
		machine.Join(a.ranks.World)
	}
	return machine, nil
}

func (f *deviceFlags) openCUDA(a app) (device.Machine, error) {
	driver, err := f.gpu(a)
	if err != nil {
		return nil, fmt.Errorf("--device cuda: %w", err)
	}
	if err := a.model.indexed(f.trains); err != nil {
		return nil, err
	}
	ranks, err := f.collective(a, driver)
	if err != nil {
		return nil, err
	}
	by, err := f.multiplier(a, driver)
	if err != nil {
		return nil, err
	}
	about := aboutGPU(driver)
	if by != nil {
		about.Gemm = by.Name()
		about.How += ", products by " + about.Gemm
	}
	return newGPU(driver, &a.model, about, by, ranks)
}

func aboutGPU(d cuda.Driver) device.About {
	i := d.Info()
	how := fmt.Sprintf("compute capability %d.%d, driver for CUDA %d.%d", i.Major, i.Minor, i.Version/1000, i.Version%1000/10)
	return device.About{Device: "cuda", Name: i.Name, How: how}
}

// brought is the device that is asked for, if the program has brought it along.
func (f *deviceFlags) brought(a app) *Device {
	i := slices.IndexFunc(a.brought, func(d Device) bool { return d.Name == f.Device })
	if i < 0 {
		return nil
	}
	return &a.brought[i]
}

func (f *deviceFlags) openBrought(a app) (device.Machine, error) {
	d := f.brought(a)
	driver, err := d.Open()
	if err != nil {
		return nil, err
	}
	if a.model.GPU.PTX != "" {
		a.tell("%s\n", d.Note)
	}
	var ranks cuda.Collective
	if a.ranks.several() {
		ranks = cuda.Staged(driver, a.ranks.World)
	}
	return newGPU(driver, &a.model, device.About{Device: d.Name, Name: driver.Info().Name, How: d.How}, nil, ranks)
}

// newGPU is a machine whose products a library computes, if there is one, and whose gradients
// are those of all ranks, if there are several.
func newGPU(d cuda.Driver, m *Model, about device.About, by cuda.Multiplier, ranks cuda.Collective) (device.Machine, error) {
	if m.GPU.PTX == "" {
		return nil, fmt.Errorf("--device %s: this program has no GPU kernels: build it again with a newer mlc, or use --device cpu", about.Device)
	}
	about.Schedules = m.GPU.Schedules
	machine, err := cuda.NewMachine(cuda.NewDevice(d), m.GPU, &m.Plan,
		cuda.Options{About: about, Blocking: os.Getenv("CUDA_LAUNCH_BLOCKING") == "1", Multiplier: by, Ranks: ranks})
	if err != nil {
		return nil, err // a nil *Machine is no nil interface
	}
	return machine, nil
}

// cpu is how the processor is to be used.
func (f *deviceFlags) cpu() (isa cpu.ISA, threads int, err error) {
	isa, err = cpu.ParseISA(f.CPU)
	if err != nil {
		return isa, 0, usagef("--cpu: %w", err)
	}
	if f.Threads < 0 || f.Threads > maxThreads {
		return isa, 0, usagef("--threads %d: want 1 to %d, or 0 for all", f.Threads, maxThreads)
	}
	return isa, cmp.Or(f.Threads, goruntime.GOMAXPROCS(0)), nil
}
