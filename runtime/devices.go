package runtime

import (
	goruntime "runtime"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
)

// maxThreads keeps a slip from asking for a copy of the gradients a million times.
const maxThreads = 1024

// deviceFlags choose the machine.
type deviceFlags struct {
	Device  string `help:"auto or cpu; this build has no other." default:"auto" placeholder:"auto"`
	CPU     string `help:"Instructions: auto, go, avx2 or avx512. All give the same bits." name:"cpu" default:"auto" placeholder:"auto"`
	Threads int    `help:"Threads, 0 for all. Any number gives the same bits." default:"0" placeholder:"N"`
}

// open returns the machine that the flags ask for, with memory for the model.
func (f *deviceFlags) open(m *Model) (device.Machine, error) {
	switch f.Device {
	case "auto", "cpu":
	case "cuda", "sim", "ref":
		return nil, usagef("this build has no device %s: use --device cpu, or auto", f.Device)
	default:
		return nil, usagef("unknown device %q: want auto, cpu, cuda, sim or ref", f.Device)
	}
	isa, threads, err := f.cpu()
	if err != nil {
		return nil, err
	}
	return NewCPU(m.CPU, isa, threads, m.Plan.NumParams), nil
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
	threads = f.Threads
	if threads == 0 {
		threads = goruntime.GOMAXPROCS(0)
	}
	return isa, threads, nil
}
