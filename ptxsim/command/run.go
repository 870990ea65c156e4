package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/ptxsim/ptxfile"
)

// Run is the command run.
type Run struct {
	File     string   `arg:"" name:"FILE.ptx" help:"PTX of any compiler."`
	Kernel   string   `help:"Kernel to run; optional if there is only one." placeholder:"NAME"`
	Grid     []int    `help:"Blocks per grid." default:"1" placeholder:"X,Y,Z"`
	Block    []int    `help:"Threads per block." default:"32" placeholder:"X,Y,Z"`
	Smem     int      `help:"Bytes of dynamic shared memory." placeholder:"N"`
	Arg      []string `help:"Argument, in the order of the parameters (see below)." sep:"none" placeholder:"KIND:VALUE"`
	Arch     int      `help:"GPU architecture: 0 is the first that runs the file." enum:"0,80,86,89,90" default:"0"`
	Seed     uint64   `help:"Seed of random numbers." placeholder:"N"`
	Order    string   `help:"How warps and blocks take turns." enum:"round-robin,reversed,random,greedy" default:"round-robin"`
	Orders   []string `help:"Run in several orders, or all, and require the same bits from each." placeholder:"all"`
	Eager    bool     `help:"Do asynchronous copies at once, not at their wait."`
	Jitter   bool     `help:"Let approximate instructions err, within their bounds."`
	Strict   bool     `help:"Treat warnings as errors."`
	MaxSteps int64    `help:"Lane instructions after which a kernel counts as endless." default:"100000000000" placeholder:"N"`
	Stats    bool     `help:"Count instructions, traffic of memory and bank conflicts, and say how fast the simulator was."`
}

// Help is printed below the usage.
func (Run) Help() string { return RunHelp("ptxsim") }

// RunHelp returns the help of run; words are the program and commands before it.
func RunHelp(words string) string {
	return `Arguments are --arg, in the order of the parameters:
  u32:7 s32:-7 f32:0.5   scalars: u8 to u64, s8 to s64, f32, f64
  in:FILE                memory that holds a file
  inout:FILE             the same; the kernel's result overwrites the file
  out:BYTES:FILE         uninitialized memory that is written to a file
  raw:FILE               the bytes of a structure passed by value
Data races, out-of-bounds or misaligned accesses, reads of uninitialized memory,
barriers that not all threads reach, deadlocks and endless waits end the run with
exit code 1 and their place; then no file is written. Warnings concern what may be
on purpose: unordered writes of the same value, volatile or relaxed accesses that
nothing orders, copies without a wait, unwritten output. See
ptxsim/README.md.

Example:
  ` + words + ` run saxpy.ptx --grid 4 --block 256 --arg in:x.bin --arg inout:y.bin --arg f32:2 --arg u32:1000`
}

// memory is the size of the simulated device's memory: a wrong size on the command line gives an
// error and does not exhaust this machine.
const memory = 8 << 30

// orders returns the orders to run in.
func (c *Run) orders() (orders []ptxsim.Order, err error) {
	known := ptxsim.Orders()
	names := make([]string, len(known))
	for i, o := range known {
		names[i] = o.String()
	}
	asked := c.Orders
	if len(asked) == 0 {
		asked = []string{c.Order}
	}
	for _, name := range asked {
		i := slices.Index(names, name)
		switch {
		case i >= 0:
			orders = append(orders, known[i])
		case name != "all":
			return nil, usagef("--orders: no order %q: %s", name, didYouMean(name, append(names, "all"), "orders are"))
		}
	}
	if slices.Contains(asked, "all") {
		return known, nil
	}
	return orders, nil
}

// Run runs the kernel in each order, then writes the output files.
func (c *Run) Run(s *Shell) error {
	orders, err := c.orders()
	if err != nil {
		return err
	}
	var first *ptxfile.Result
	for _, order := range orders {
		r, err := await(s, func() (*ptxfile.Result, error) { return c.launch(order) })
		var finding *ptxfile.Finding
		switch {
		case errors.As(err, &finding):
			return errors.Join(s.finding(finding), ErrShown)
		case err != nil && s.JSON && errors.As(err, new(*ptxfile.Error)):
			return errors.Join(s.bad(err), ErrShown)
		case err != nil:
			return err
		case c.Strict && len(r.Warnings) > 0:
			return errors.Join(s.finding(r.Warnings[0]), ErrShown)
		case first == nil:
			first = r
		default:
			if err := first.Equal(r); err != nil {
				return err
			}
		}
	}
	return s.finish(first, c.Stats)
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

// launch runs the kernel in one order.
func (c *Run) launch(order ptxsim.Order) (*ptxfile.Result, error) {
	grid, err := dims("grid", c.Grid)
	if err != nil {
		return nil, err
	}
	block, err := dims("block", c.Block)
	if err != nil {
		return nil, err
	}
	f, err := load(c.File, ptxsim.Options{Arch: c.Arch, Seed: c.Seed, Order: order, SameValue: !c.Strict,
		Eager: c.Eager, Jitter: c.Jitter, Count: c.Stats, MaxSteps: c.MaxSteps, Memory: memory})
	if err != nil {
		return nil, err
	}
	k, err := choose(f, c.Kernel)
	if err != nil {
		return nil, err
	}
	r, err := f.Run(k, ptxfile.Launch{Grid: grid, Block: block, Shared: c.Smem, Args: c.Arg, Read: readUpTo})
	if errors.As(err, new(*ptxfile.UsageError)) {
		err = UsageError{err}
	}
	return r, err
}

// choose finds a kernel by name.
func choose(f *ptxfile.File, name string) (*ptxfile.Kernel, error) {
	kernels := f.Kernels()
	var names []string
	for i := range kernels {
		if kernels[i].Kernel == name || name == "" && len(kernels) == 1 {
			return &kernels[i], nil
		}
		names = append(names, kernels[i].Kernel)
	}
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("%s has no kernel", f.Path)
	case name == "":
		return nil, usagef("which kernel? --kernel is one of %s", strings.Join(names, ", "))
	}
	return nil, usagef("%s has no kernel %q: %s", f.Path, name, didYouMean(name, names, "kernels are"))
}

// finish writes the files and prints the result.
func (s *Shell) finish(r *ptxfile.Result, stats bool) error {
	names, err := s.write(r.Outputs)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !s.Quiet {
			fmt.Fprintf(s.Err, "wrote %s\n", name)
		}
	}
	for _, w := range r.Warnings {
		if !s.JSON {
			w.Print(s.Err, "warning: ")
		}
	}
	seconds := r.Took.Seconds()
	switch {
	case s.JSON:
		return s.printJSON(struct {
			Kernel   string             `json:"kernel"`
			Wrote    []string           `json:"wrote"`
			Warnings []*ptxfile.Finding `json:"warnings"`
			Steps    int64              `json:"steps"`
			Bytes    int64              `json:"bytes"`
			Barriers int64              `json:"barriers"`
			Blocks   int                `json:"blocks"`
			Seconds  float64            `json:"seconds"`
			Counts   *ptxsim.Counts     `json:"counts,omitempty"`
		}{r.Kernel, append([]string{}, names...), append([]*ptxfile.Finding{}, r.Warnings...), r.Stats.Steps, r.Stats.Bytes, r.Stats.Barriers, r.Stats.Blocks, seconds, r.Stats.Counts})
	case stats:
		_, err = fmt.Fprintf(s.Out, "%v\n%s, %s\n", r, r.Took.Round(time.Microsecond), scaled(float64(r.Stats.Steps)/seconds, "instructions/s"))
	}
	return err
}

// write writes each output to its file. It writes all temporary files first, then renames them
// over the old files.
func (s *Shell) write(outs []ptxfile.Output) (names []string, err error) {
	temp, rename := s.Temp, s.Rename
	if temp == nil {
		temp = writeTemp
	}
	if rename == nil {
		rename = os.Rename
	}
	var temps []string
	defer func() {
		for _, path := range temps {
			os.Remove(path)
		}
	}()
	for _, out := range outs {
		path, err := temp(filepath.Dir(out.File), out.Data)
		temps = append(temps, path)
		if err != nil {
			return nil, fmt.Errorf("--arg %s: %w", out.Arg, err)
		}
		names = append(names, out.File)
	}
	for i, name := range names {
		if err := rename(temps[i], name); err != nil {
			return nil, err
		}
	}
	return names, nil
}
