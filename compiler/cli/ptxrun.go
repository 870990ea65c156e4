package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/arithlang/mlc/dsl/diag"
	"github.com/arithlang/mlc/runtime/cuda/sim"
)

// ptxRunCmd is the verb ptx run.
type ptxRunCmd struct {
	File     string   `arg:"" name:"FILE.ptx" help:"PTX of any compiler."`
	Kernel   string   `help:"Kernel to run; optional if there is only one." placeholder:"NAME"`
	Grid     []int    `help:"Blocks per grid." default:"1" placeholder:"X,Y,Z"`
	Block    []int    `help:"Threads per block." default:"32" placeholder:"X,Y,Z"`
	Smem     int      `help:"Bytes of dynamic shared memory." placeholder:"N"`
	Arg      []string `help:"Argument, in the order of the parameters (see below)." sep:"none" placeholder:"KIND:VALUE"`
	Arch     int      `help:"GPU architecture: ${enum}; 0 is the first that runs the file." enum:"0,80,86,89,90" default:"0" placeholder:"80"`
	Seed     uint64   `help:"Seed of random numbers." placeholder:"N"`
	Order    string   `help:"How warps and blocks take turns: ${enum}." enum:"round-robin,reversed,random,greedy" default:"round-robin" placeholder:"round-robin"`
	Orders   []string `help:"Run in several orders, or all, and require the same bits from each." placeholder:"all"`
	Eager    bool     `help:"Do asynchronous copies at once, not at their wait."`
	Jitter   bool     `help:"Let approximate instructions err, within their bounds."`
	Strict   bool     `help:"Treat warnings as errors."`
	MaxSteps int64    `help:"Lane instructions after which a kernel counts as endless." default:"100000000000" placeholder:"N"`
	Stats    bool     `help:"Print how much was executed, and how fast."`
}

// Help is printed below the usage.
func (ptxRunCmd) Help() string {
	return `Arguments are --arg, in the order of the parameters:
  u32:7 s32:-7 f32:0.5   scalars: u8 to u64, s8 to s64, f32, f64
  in:FILE                memory that holds a file
  inout:FILE             the same; the kernel's result overwrites the file
  out:BYTES:FILE         uninitialized memory that is written to a file
  raw:FILE               the bytes of a structure passed by value
Data races, out-of-bounds or misaligned accesses, reads of uninitialized memory,
barriers that not all threads reach, deadlocks and endless waits end the run with
exit code 1 and their place; then no file is written. Warnings concern what
compilers do on purpose: unordered writes of the same value, copies without a wait,
unwritten output. See docs/ptx-sim.md.

Example:
  mlc ptx run saxpy.ptx --grid 4 --block 256 --arg in:x.bin --arg inout:y.bin --arg f32:2 --arg u32:1000`
}

// ptxOrders are the orders by name.
var ptxOrders = map[string]sim.Order{
	"round-robin": sim.RoundRobin, "reversed": sim.Reversed, "random": sim.Random, "greedy": sim.Greedy,
}

var ptxOrderNames = []string{"round-robin", "reversed", "random", "greedy"}

// ptxMemory is what the simulated device has: a mistaken size is an error, not the
// end of this machine.
const ptxMemory = 8 << 30

// orders lists the orders to run in.
func (c *ptxRunCmd) orders() ([]string, error) {
	if len(c.Orders) == 0 {
		return []string{c.Order}, nil
	}
	for _, name := range c.Orders {
		if _, ok := ptxOrders[name]; name != "all" && !ok {
			return nil, usagef("--orders: no order %q: %s", name, diag.DidYouMean(name, append(ptxOrderNames, "all"), "orders are"))
		}
	}
	if slices.Contains(c.Orders, "all") {
		return ptxOrderNames, nil
	}
	return c.Orders, nil
}

// Run runs the kernel in each order, then writes what it left in memory.
func (c *ptxRunCmd) Run(a *app) error {
	orders, err := c.orders()
	if err != nil {
		return err
	}
	var first *ptxResult
	for _, order := range orders {
		r, err := await(a, func() (*ptxResult, error) { return c.launch(order) })
		var report *sim.Report
		switch {
		case errors.As(err, &report):
			return errors.Join(a.printReport(r.finding(report)), errShown)
		case err != nil && a.json && errors.As(err, new(*ptxError)):
			return errors.Join(a.badPTX(err), errShown)
		case err != nil:
			return err
		case c.Strict && len(r.notes) > 0:
			return errors.Join(a.printReport(r.notes[0]), errShown)
		case first == nil:
			first = r
		default:
			if err := first.equal(r); err != nil {
				return err
			}
		}
	}
	return first.finish(a, c.Stats)
}

// dims completes the size of a grid or block.
func dims(flag string, n []int) (d [3]int, err error) {
	if len(n) < 1 || len(n) > 3 {
		return d, usagef("--%s: want X, X,Y or X,Y,Z", flag)
	}
	d = [3]int{1, 1, 1}
	copy(d[:], n)
	return d, nil
}

// ptxResult is a kernel that has run.
type ptxResult struct {
	module *ptxModule
	kernel string
	order  string
	args   []*ptxArg
	left   [][]byte // by argument, what is in the buffers that are written to files
	stats  sim.Stats
	took   time.Duration
	notes  []*ptxFinding
}

// launch runs the kernel in one order.
func (c *ptxRunCmd) launch(order string) (*ptxResult, error) {
	grid, err := dims("grid", c.Grid)
	if err != nil {
		return nil, err
	}
	block, err := dims("block", c.Block)
	if err != nil {
		return nil, err
	}
	m, err := loadPTX(c.File, sim.Options{Arch: c.Arch, Seed: c.Seed, Order: ptxOrders[order], SameValue: !c.Strict,
		Eager: c.Eager, Jitter: c.Jitter, MaxSteps: c.MaxSteps, Memory: ptxMemory})
	if err != nil {
		return nil, err
	}
	k, err := m.choose(c.Kernel)
	if err != nil {
		return nil, err
	}
	r := &ptxResult{module: m, kernel: k.Kernel, order: order}
	if r.args, err = parseArgs(c.Arg, k); err != nil {
		return nil, err
	}
	var params []byte
	for i, arg := range r.args {
		p := k.Params[i]
		params = append(params, make([]byte, p.Offset+p.Size-int64(len(params)))...)
		if err := arg.place(m.device, params[p.Offset:]); err != nil {
			return nil, err
		}
	}
	kernel, err := m.loaded.Kernel(k.Kernel)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	r.stats, err = kernel.Launch(sim.Launch{Grid: grid, Block: block, Shared: c.Smem, Args: params})
	r.took = time.Since(start)
	if err != nil {
		return r, err
	}
	for _, w := range r.stats.Warnings {
		r.notes = append(r.notes, r.finding(w))
	}
	return r, r.collect()
}

// choose finds a kernel by name.
func (m *ptxModule) choose(name string) (*ptxKernel, error) {
	kernels := m.kernels()
	var names []string
	for i := range kernels {
		if kernels[i].Kernel == name || name == "" && len(kernels) == 1 {
			return &kernels[i], nil
		}
		names = append(names, kernels[i].Kernel)
	}
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("%s has no kernel", m.path)
	case name == "":
		return nil, usagef("which kernel? --kernel is one of %s", strings.Join(names, ", "))
	}
	return nil, usagef("%s has no kernel %q: %s", m.path, name, diag.DidYouMean(name, names, "kernels are"))
}

// collect reads back the buffers that are to be written.
func (r *ptxResult) collect() error {
	m := r.module
	r.left = make([][]byte, len(r.args))
	for i, arg := range r.args {
		if arg.file == "" {
			continue
		}
		r.left[i] = make([]byte, arg.size)
		err := m.device.Read(r.left[i], arg.ptr)
		var unwritten *sim.UninitialisedError
		if errors.As(err, &unwritten) {
			r.notes = append(r.notes, &ptxFinding{File: m.path, Kind: "unwritten output", Kernel: r.kernel, Order: r.order, Argument: i + 1,
				Offset: &unwritten.Offset, Detail: "the kernel has not written all of the memory", arg: arg.text})
		} else if err != nil {
			return err
		}
	}
	return nil
}

// equal says whether another order has left the same bits.
func (r *ptxResult) equal(other *ptxResult) error {
	for i, arg := range r.args {
		x, y := r.left[i], other.left[i]
		if bytes.Equal(x, y) {
			continue
		}
		at := 0
		for x[at] == y[at] {
			at++
		}
		return fmt.Errorf("the result depends on how warps take turns: byte %d of %s is %#02x when %s, %#02x when %s",
			at, arg.text, x[at], r.order, y[at], other.order)
	}
	return nil
}

// finish writes the files and says what was done.
func (r *ptxResult) finish(a *app, stats bool) error {
	names, err := r.write()
	if err != nil {
		return err
	}
	for _, name := range names {
		a.say("wrote %s", name)
	}
	for _, note := range r.notes {
		if !a.json {
			note.print(a, "warning: ")
		}
	}
	seconds := r.took.Seconds()
	switch {
	case a.json:
		return a.printJSON(struct {
			Kernel   string        `json:"kernel"`
			Wrote    []string      `json:"wrote"`
			Warnings []*ptxFinding `json:"warnings"`
			Steps    int64         `json:"steps"`
			Bytes    int64         `json:"bytes"`
			Barriers int64         `json:"barriers"`
			Blocks   int           `json:"blocks"`
			Seconds  float64       `json:"seconds"`
		}{r.kernel, append([]string{}, names...), append([]*ptxFinding{}, r.notes...), r.stats.Steps, r.stats.Bytes, r.stats.Barriers, r.stats.Blocks, seconds})
	case stats:
		_, err = fmt.Fprintf(a.out, "%s: %s, %d instructions of lanes, %d bytes of global memory moved, %s\n%s, %s\n",
			r.kernel, counted(r.stats.Blocks, "block"), r.stats.Steps, r.stats.Bytes, counted(int(r.stats.Barriers), "barrier"),
			r.took.Round(time.Microsecond), scaled(float64(r.stats.Steps)/seconds, 1000, "instructions/s"))
	}
	return err
}

// write makes each file hold its buffer. All are written before the first takes
// the place of an old one.
func (r *ptxResult) write() (names []string, err error) {
	var temps []string
	defer func() {
		for _, temp := range temps {
			os.Remove(temp)
		}
	}()
	for i, arg := range r.args {
		if arg.file == "" {
			continue
		}
		temp, err := writeTemp(filepath.Dir(arg.file), r.left[i])
		temps = append(temps, temp)
		if err != nil {
			return nil, fmt.Errorf("--arg %s: %w", arg.text, err)
		}
		names = append(names, arg.file)
	}
	for i, name := range names {
		if err := os.Rename(temps[i], name); err != nil {
			return nil, err
		}
	}
	return names, nil
}
