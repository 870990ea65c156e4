package ptxrun

import (
	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/sim/simulated"
)

// A Counter runs kernels on a simulated device that counts their accesses and instructions. It
// leaves out slow checks. One goroutine at a time may use it.
type Counter struct {
	machine *Machine
	last    ptxsim.Stats
}

// NewCounter loads a module.
func NewCounter(code ptx.Output) (*Counter, error) {
	c := &Counter{}
	var err error
	c.machine, err = New(func() (cuda.Driver, error) {
		return simulated.OpenWatched(ptxsim.Options{Count: true, NoRaces: true, NoInit: true}, func(_ string, s ptxsim.Stats) { c.last = s })
	}, code)
	return c, err
}

// Run launches a kernel on buffers, which it overwrites. Without work no block runs, and there
// are no counts.
func (c *Counter) Run(name string, s kernel.Scalars, bufs []kernel.Buffer) (ptxsim.Stats, error) {
	c.last = ptxsim.Stats{}
	err := c.machine.Run(name, s, bufs)
	return c.last, err
}

// Close gives the device back.
func (c *Counter) Close() error { return c.machine.Close() }
