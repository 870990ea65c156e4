package world

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	goruntime "runtime"
	"slices"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/processor"
	"github.com/arithlang/mlc/runtime/program"
)

// maxThreads keeps a typing error from allocating a million copies of the gradients.
const maxThreads = 1024

// Flags choose the machine.
type Flags struct {
	flags.Machine
	Trains bool `kong:"-"` // the machine trains, too; else it only tests
}

// A Device is a GPU that a program brings along; --device selects it by name.
type Device struct {
	Name string
	How  string // how it computes, for the record of a run
	Note string // printed when the device is used
	Open func() (cuda.Driver, error)
}

// openers opens the devices that every program has.
var openers = map[string]func(f *Flags, a App) (device.Machine, error){
	"auto": (*Flags).openAuto, "cpu": (*Flags).openCPU, "cuda": (*Flags).openCUDA,
}

// Open returns the machine that the flags select, with memory for the model.
func (f *Flags) Open(a App) (device.Machine, error) {
	open := openers[f.Device]
	switch {
	case f.Brought(a) != nil:
		open = (*Flags).openBrought
	case f.Device == "sim" || f.Device == "count":
		return nil, Usagef("only mlc has --device %s, not this program: mlc train %[2]s.arith --device sim, or mlc bench %[2]s.arith --device count", f.Device, a.Identity().Name)
	case open == nil:
		return nil, Usagef("unknown device %q: want auto, cpu or cuda", f.Device)
	}
	if _, _, err := f.Processor(); err != nil {
		return nil, err
	}
	if _, _, err := f.ByLibrary(); err != nil {
		return nil, err
	}
	return Await(a, func() (device.Machine, error) {
		if a.Ranks.leads() {
			if err := a.Ranks.tell(orderOpen, []byte(f.Device), int64(a.stage())); err != nil {
				return nil, err
			}
		}
		m, err := open(f, a)
		return a.opened(m, err)
	})
}

// CloseMachine releases a machine's resources, such as device memory.
func CloseMachine(m device.Machine) error {
	if c, ok := m.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// openAuto prefers a GPU, and says so once. Without a GPU it says nothing, unless a flag needs
// one.
func (f *Flags) openAuto(a App) (device.Machine, error) {
	by, _, _ := f.ByLibrary()
	if a.Model.GPU.PTX == "" && !by {
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

// tell reports the device in use, unless that was done before.
func (a App) tell(format string, args ...any) {
	if !a.Told {
		fmt.Fprintf(a.Err, format, args...)
	}
}

func (f *Flags) openCPU(a App) (device.Machine, error) {
	isa, threads, err := f.Processor()
	if err != nil {
		return nil, err
	}
	threads = a.Ranks.threads(f, threads)
	n, err := Needs(&a.Model, f.Trains)
	if err == nil {
		n.ranks = a.Ranks.Count()
		err = a.Afford(n, threads)
	}
	if err == nil {
		err = indexed(&a.Model, f.Trains)
	}
	if err != nil {
		return nil, err
	}
	machine := processor.New(a.Model.CPU, isa, threads, &a.Model.Plan)
	if a.Ranks.Several() {
		machine.Join(a.Ranks.World)
	}
	return machine, nil
}

func (f *Flags) openCUDA(a App) (device.Machine, error) {
	driver, err := f.gpu(a)
	if err != nil {
		return nil, fmt.Errorf("--device cuda: %w", err)
	}
	if err := indexed(&a.Model, f.Trains); err != nil {
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
	about := AboutGPU(driver)
	if by != nil {
		about.Gemm = by.Name()
		about.How += ", products by " + about.Gemm
	}
	return newGPU(driver, &a.Model, about, by, ranks)
}

func AboutGPU(d cuda.Driver) device.About {
	i := d.Info()
	how := fmt.Sprintf("compute capability %d.%d, driver for CUDA %d.%d", i.Major, i.Minor, i.Version/1000, i.Version%1000/10)
	return device.About{Device: "cuda", Name: i.Name, How: how}
}

// Brought returns the chosen device if the program has brought it along, or nil.
func (f *Flags) Brought(a App) *Device {
	i := slices.IndexFunc(a.Brought, func(d Device) bool { return d.Name == f.Device })
	if i < 0 {
		return nil
	}
	return &a.Brought[i]
}

func (f *Flags) openBrought(a App) (device.Machine, error) {
	d := f.Brought(a)
	driver, err := d.Open()
	if err != nil {
		return nil, err
	}
	if a.Model.GPU.PTX != "" {
		a.tell("%s\n", d.Note)
	}
	var ranks cuda.Collective
	if a.Ranks.Several() {
		ranks = cuda.Staged(driver, a.Ranks.World)
	}
	return newGPU(driver, &a.Model, device.About{Device: d.Name, Name: driver.Info().Name, How: d.How}, nil, ranks)
}

// newGPU returns a GPU machine. If by is set, that library computes its products; if ranks is
// set, its gradients are the sums over all ranks.
func newGPU(d cuda.Driver, m *program.Model, about device.About, by cuda.Multiplier, ranks cuda.Collective) (device.Machine, error) {
	if m.GPU.PTX == "" {
		return nil, fmt.Errorf("--device %s: this program has no GPU kernels: build it again with a newer mlc, or use --device cpu", about.Device)
	}
	about.Schedules = m.GPU.Schedules
	machine, err := cuda.NewMachine(cuda.NewDevice(d), m.GPU, &m.Plan,
		cuda.Options{About: about, Blocking: os.Getenv("CUDA_LAUNCH_BLOCKING") == "1", Multiplier: by, Ranks: ranks})
	if err != nil {
		return nil, err // a nil *Machine would be a non-nil interface
	}
	return machine, nil
}

// Processor returns the instruction set and the number of threads that the flags ask for.
func (f *Flags) Processor() (isa cpu.ISA, threads int, err error) {
	isa, err = cpu.ParseISA(f.CPU)
	if err != nil {
		return isa, 0, Usagef("--cpu: %w", err)
	}
	if f.Threads < 0 || f.Threads > maxThreads {
		return isa, 0, Usagef("--threads %d: want 1 to %d, or 0 for all", f.Threads, maxThreads)
	}
	return isa, cmp.Or(f.Threads, goruntime.GOMAXPROCS(0)), nil
}

// stage returns the number of the model's stage, -1 without stages.
func (a App) stage() int {
	if a.Whole == nil {
		return -1
	}
	for n := range a.Whole.Names() {
		if m := a.Whole.Model(n); m != nil && m.Name == a.Model.Name {
			return n
		}
	}
	return -1
}
