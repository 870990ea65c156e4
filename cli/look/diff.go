package look

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/remote"
	"github.com/arithlang/mlc/diff"
	"github.com/arithlang/mlc/dsl/diag"
	"github.com/arithlang/mlc/runtime/cpu"
)

// Differences selects the kernels to compare and the device.
type Differences struct {
	Device  string   `help:"Device to compare: cpu is the generated Go, cuda the PTX on a GPU, sim the same PTX on the simulator, ref the kernel interpreter." enum:"cpu,cuda,sim,ref" default:"cpu"`
	Exact   bool     `help:"Require the kernel interpreter's bits, too."`
	Kernel  []string `help:"Only these kernels." placeholder:"NAME"`
	Lengths []int    `help:"Numbers of rows in the answers." default:"1,7,33" placeholder:"1,7,33"`
}

// diffBatch is the number of examples of a launch.
const diffBatch = 2

// Check returns a shell.UsageError for an invalid length.
func (c *Differences) Check() error {
	if i := slices.IndexFunc(c.Lengths, func(l int) bool { return l < 1 || l > 1<<12 }); i >= 0 {
		return shell.Usagef("--lengths: %d is not between 1 and %d", c.Lengths[i], 1<<12)
	}
	return nil
}

// CompareKernels compares the kernels of one training, or of each of its stages, except the
// ones in done. It returns shell.ErrShown if one differs too much.
func (c *Differences) CompareKernels(sh *shell.Shell, build func(dir, pkg, binary string) error, where project.Folders, t project.Training, done map[string]bool) error {
	p, err := project.Compile(sh, t)
	if err != nil {
		return err
	}
	var cases []*diff.Case
	of := map[*diff.Case]*compiler.Program{}
	for _, q := range p.Trainings() {
		more, err := shell.Await(sh, func() ([]*diff.Case, error) { return diff.Cases(q.Lowered) })
		if err != nil {
			return err
		}
		for _, k := range more {
			of[k] = q
		}
		cases = append(cases, more...)
	}
	if cases, err = c.chosen(cases); err != nil {
		return err
	}
	var out shell.Findings
	for _, q := range p.Trainings() {
		var mine []*diff.Case
		for _, k := range cases {
			if of[k] == q && !done[k.Text()] {
				done[k.Text()] = true
				mine = append(mine, k)
			}
		}
		if name := strings.TrimSpace(t.Point.Name + " " + q.Stage); name != "" {
			sh.Say("%s: %d new kernels", name, len(mine))
		}
		if err := out.Unless(c.program(sh, build, where, q, mine)); err != nil {
			return err
		}
	}
	return out.Err()
}

// program compares kernels of one program.
func (c *Differences) program(sh *shell.Shell, build func(dir, pkg, binary string) error, where project.Folders, p *compiler.Program, cases []*diff.Case) error {
	if len(cases) == 0 {
		return nil
	}
	run, stop, err := c.start(sh, build, p, where.Root, cases)
	if err != nil {
		return err
	}
	defer stop()
	return c.print(sh, cases, run)
}

// start opens the device for the kernels of a program. It tells the cases the order in
// which the device adds.
func (c *Differences) start(sh *shell.Shell, build func(dir, pkg, binary string) error, p *compiler.Program, root string, cases []*diff.Case) (run remote.Runner, stop func(), err error) {
	switch c.Device {
	case "cpu":
		k, err := startKernels(sh, build, p, root)
		if err != nil {
			return nil, nil, err
		}
		for _, x := range cases {
			x.Sums = sumsOf(cpu.Detect())
		}
		return k.run, k.stop, nil
	case "sim", "cuda":
		m, err := startPTX(sh, p.Lowered, c.Device)
		if err != nil {
			return nil, nil, err
		}
		for _, k := range cases {
			k.Sums = m.Sums(k.Kernel.Name)
		}
		return m.Run, func() { m.Close() }, nil
	}
	return nil, func() {}, nil
}

// sumsOf returns how an instruction set adds products of BF16; nil: as defined.
func sumsOf(isa cpu.ISA) *kernel.Sums {
	if isa == cpu.AVX512BF16 {
		return &kernel.Sums{Flushed: true} // VDPBF16PS
	}
	return nil
}

// chosen returns the requested kernels.
func (c *Differences) chosen(cases []*diff.Case) ([]*diff.Case, error) {
	var names []string
	for _, k := range cases {
		names = append(names, k.Kernel.Name)
	}
	for _, want := range c.Kernel {
		if !slices.Contains(names, want) {
			return nil, shell.Usagef("the program has no kernel %q: %s", want, diag.DidYouMean(want, names, "kernels are"))
		}
	}
	if len(c.Kernel) > 0 {
		cases = slices.DeleteFunc(cases, func(k *diff.Case) bool { return !slices.Contains(c.Kernel, k.Kernel.Name) })
	}
	return cases, nil
}

// print compares on all cores and prints in order.
func (c *Differences) print(sh *shell.Shell, cases []*diff.Case, run remote.Runner) error {
	done := make([]chan comparison, len(cases))
	for i := range done {
		done[i] = make(chan comparison, 1)
	}
	free := make(chan bool, runtime.GOMAXPROCS(0))
	go func() {
		for i, k := range cases {
			free <- true
			go func() {
				done[i] <- c.compare(k, run)
				<-free
			}()
		}
	}()
	t := newDiffTable(sh, cases)
	for i := range cases {
		select {
		case r := <-done[i]:
			if err := t.row(r); err != nil {
				return err
			}
		case <-sh.Context.Done():
			return context.Cause(sh.Context)
		}
	}
	return t.end(run != nil)
}

// A comparison is the result for one kernel, at its worst length.
type comparison struct {
	Kernel    string  `json:"kernel"`
	Family    string  `json:"family"`
	Program   string  `json:"program"` // of its first launch
	Routine   string  `json:"routine"`
	Abs       number  `json:"abs"`
	Rel       number  `json:"rel"`
	Tolerance number  `json:"tolerance"`
	Buffer    string  `json:"buffer"`
	Index     []int   `json:"index"`
	Length    int     `json:"length"`
	Got       number  `json:"got"`
	Want      number  `json:"want"`
	Inexact   int     `json:"inexact"`  // elements whose bits differ, at all lengths
	Elements  int     `json:"elements"` // elements at all lengths
	Out       bool    `json:"out"`
	Err       string  `json:"error,omitempty"`
	score     float64 // Abs in units of Tolerance
}

// number is a float that may be NaN or infinite, which JSON cannot express.
type number float64

// MarshalJSON writes NaN and the infinities as strings.
func (x number) MarshalJSON() ([]byte, error) {
	if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Appendf(nil, `"%v"`, f), nil
	}
	return fmt.Appendf(nil, "%v", float64(x)), nil
}

// compare runs one kernel at all lengths.
func (c *Differences) compare(k *diff.Case, run remote.Runner) comparison {
	all := comparison{Kernel: k.Kernel.Name, Family: k.Kernel.Family(), Program: k.Program, Routine: k.Routine, score: -1}
	for _, l := range c.Lengths {
		r, err := k.Compare(diff.Shape{Batch: diffBatch, Length: l}, run)
		if err != nil {
			all.Err, all.Length, all.Out = err.Error(), l, true
			return all
		}
		all.Inexact += r.Inexact
		all.Elements += r.Elements
		all.Out = all.Out || r.Out() || c.Exact && r.Inexact > 0
		if s := r.Abs / r.Tolerance; s > all.score {
			all.score, all.Abs, all.Rel, all.Tolerance = s, number(r.Abs), number(r.Rel), number(r.Tolerance)
			all.Buffer, all.Index, all.Length, all.Got, all.Want = r.Buffer, r.Index, l, number(r.Got), number(r.Want)
		}
	}
	return all
}

// where names the worst element.
func (r comparison) where() string {
	return fmt.Sprintf("%s%s at length %d", r.Buffer, strings.ReplaceAll(fmt.Sprint(r.Index), " ", ", "), r.Length)
}

// bits counts the elements whose bits differ, as text.
func (r comparison) bits() string {
	if r.Inexact == 0 {
		return "equal"
	}
	return fmt.Sprintf("%d of %d differ", r.Inexact, r.Elements)
}

// A diffTable prints comparisons as they arrive.
type diffTable struct {
	*shell.Shell
	wide    int // width of the names
	rows    int
	inexact int
	out     []string // names of kernels that differ too much
}

func newDiffTable(sh *shell.Shell, cases []*diff.Case) *diffTable {
	t := &diffTable{Shell: sh, wide: len("kernel")}
	for _, c := range cases {
		t.wide = max(t.wide, len(c.Kernel.Name))
	}
	return t
}

func (t *diffTable) row(r comparison) error {
	t.rows++
	if r.Inexact > 0 {
		t.inexact++
	}
	if r.Out {
		t.out = append(t.out, r.Kernel)
	}
	if t.JSON {
		return t.PrintJSON(r)
	}
	if t.rows == 1 {
		fmt.Fprintf(t.Out, "%-*s  %9s  %9s  %9s  %-20s  %s\n", t.wide, "kernel", "error", "relative", "tolerance", "bits", "where")
	}
	var err error
	switch {
	case r.Err != "":
		_, err = fmt.Fprintf(t.Out, "%-*s  failed at length %d: %s\n", t.wide, r.Kernel, r.Length, r.Err)
	case r.Out:
		_, err = fmt.Fprintf(t.Out, "%-*s  %9.1e  %9.1e  %9.1e  %-20s  %s: %v, want %v\n", t.wide, r.Kernel, r.Abs, r.Rel, r.Tolerance, r.bits(), r.where(), r.Got, r.Want)
	default:
		_, err = fmt.Fprintf(t.Out, "%-*s  %9.1e  %9.1e  %9.1e  %-20s  %s\n", t.wide, r.Kernel, r.Abs, r.Rel, r.Tolerance, r.bits(), r.where())
	}
	return err
}

// end prints the totals.
func (t *diffTable) end(bits bool) error {
	if len(t.out) == 0 && !t.JSON {
		text := fmt.Sprintf("%d kernels are within tolerance", t.rows)
		if bits && t.inexact == 0 {
			text += ", and have the bits of the interpreter"
		}
		_, err := fmt.Fprintln(t.Out, text)
		return err
	}
	if len(t.out) == 0 {
		return nil
	}
	if !t.JSON {
		fmt.Fprintf(t.Out, "%d of %d kernels differ too much: %s\n", len(t.out), t.rows, strings.Join(t.out, ", "))
	}
	return shell.ErrShown
}
