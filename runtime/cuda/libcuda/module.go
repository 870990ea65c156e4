//go:build !nogpu && (linux || windows) && (amd64 || arm64)

package libcuda

import (
	"strings"

	"github.com/arithlang/mlc/runtime/cuda"
)

type module struct {
	d      *driver
	handle handle
}

// Load compiles PTX for the device.
func (d *driver) Load(ptx string) (cuda.Module, error) {
	if strings.ContainsRune(ptx, 0) {
		return nil, d.failure(cuda.InvalidPTX, "load PTX with a NUL in it")
	}
	m := &module{d: d}
	var log string
	err := d.wait(func() (c cuda.Code) {
		m.handle, log, c = d.moduleLoad(ptx)
		return c
	}, "load PTX")
	if err != nil {
		return nil, withLog(err, ptx, log, d.info.Version)
	}
	d.modules[m] = true
	return m, nil
}

// Unload ends the module.
func (m *module) Unload() error {
	return drop(m.d, m.d.modules, m, func() cuda.Code { return m.d.moduleUnload(m.handle) }, "unload PTX")
}

type function struct {
	d      *driver
	handle handle
	name   string
	round  uint64 // see driver.pending
}

// Function finds an entry of the module.
func (m *module) Function(name string) (cuda.Function, error) {
	f := &function{d: m.d, name: name, round: m.d.round - 1}
	err := m.d.wait(func() (c cuda.Code) {
		f.handle, c = m.d.moduleFunction(m.handle, name)
		return c
	}, "find kernel %s in the PTX", name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Attributes returns the resources that the compiled function needs.
func (f *function) Attributes() (a cuda.Attributes, err error) {
	err = f.d.wait(func() (c cuda.Code) {
		for _, v := range []struct {
			number int
			value  *int
		}{
			{functionRegisters, &a.Registers}, {functionLocal, &a.Local},
			{functionShared, &a.Shared}, {functionMaxThreads, &a.MaxThreads},
		} {
			if c == 0 {
				*v.value, c = f.d.functionAttribute(f.handle, v.number)
			}
		}
		return c
	}, "ask what kernel %s needs", f.name)
	return a, err
}

// AllowShared raises the limit of dynamic shared memory.
func (f *function) AllowShared(bytes int) error {
	return f.d.wait(func() cuda.Code { return f.d.functionSet(f.handle, functionDynamic, bytes) },
		"let kernel %s take %s of shared memory", f.name, amount(bytes))
}

// Launch queues the function.
func (f *function) Launch(grid, block [3]int, shared int, args []byte) error {
	d := f.d
	if len(args) > maxArgs {
		return d.failure(invalidValue, "launch kernel %s with %d bytes of parameters; %d are possible", f.name, len(args), maxArgs)
	}
	err := d.do(func() cuda.Code {
		return d.api.launch(&d.launch, f.handle, grid, block, shared, d.stream, args)
	}, "launch kernel %s", f.name)
	if err == nil && f.round != d.round {
		f.round = d.round
		d.pending = append(d.pending, f.name)
	}
	return err
}
