package look

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxrun"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/diff"
	"github.com/arithlang/mlc/ptxsim"
)

// trafficStage is the name of the stage that runs kernels on the simulator.
const trafficStage = "traffic"

// trafficBatch is the number of examples of a launch.
const trafficBatch = 2

// traffic is the work of a kernel's launch on a GPU.
type traffic struct {
	Kernel string         `json:"kernel"`
	Blocks int            `json:"blocks"`
	Floor  int            `json:"floor"` // bytes of the buffers, each read or written once
	Counts *ptxsim.Counts `json:"counts"`
}

// aloneQueries is the number of queries in a launch of attention alone. It has a key more: as many as
// kernels for tensor cores hold in registers.
const aloneQueries = 127

// trafficShape is the shape of the launches: two of the longest training examples.
func trafficShape(p *compiler.Program) diff.Shape {
	if p.Spec == nil {
		return diff.Shape{Batch: trafficBatch, Length: aloneQueries, Dense: true}
	}
	_, target := p.Spec.TrainedShape()
	return diff.Shape{Batch: trafficBatch, Length: target}
}

// countTraffic runs each requested kernel once.
func countTraffic(p *compiler.Program, only string) ([]traffic, error) {
	ks := launched(p, only)
	cases, err := diff.Cases(p.Lowered)
	if err != nil {
		return nil, err
	}
	code, err := ptx.Module(ks, codegen.ModuleOptions(p.Lowered))
	if err != nil {
		return nil, err
	}
	counter, err := ptxrun.NewCounter(code)
	if err != nil {
		return nil, err
	}
	defer counter.Close()
	var all []traffic
	for _, c := range cases {
		if !slices.Contains(ks, c.Kernel) {
			continue
		}
		s, inputs, err := c.Launch(trafficShape(p))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Kernel.Name, err)
		}
		stats, err := counter.Run(c.Kernel.Name, s, inputs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Kernel.Name, err)
		}
		if stats.Counts != nil {
			all = append(all, traffic{c.Kernel.Name, stats.Blocks, cost.Value(cost.Bytes(c.Kernel), s), stats.Counts})
		}
	}
	return all, nil
}

// trafficText returns the table for people.
func trafficText(p *compiler.Program, only string) (string, error) {
	all, err := countTraffic(p, only)
	if err != nil {
		return "", err
	}
	shape := trafficShape(p)
	source := shape.Length + 1
	if p.Spec != nil && p.Spec.Model.Loop != nil {
		source = 0
	}
	var b strings.Builder
	fmt.Fprintf(&b, `Each kernel once on the simulator, on random inputs: %d examples of %s.
floor         bytes of its buffers, each read or written once
moved         sectors of 32 bytes that warps request from global memory, as bytes and as a multiple of the floor; without caches
once          bytes that remain with an infinite cache
shared        wavefronts of shared memory; conflicts is the share that bank conflicts add
instructions  of warps; fp32, integer and memory are shares of them, mma is a count

`, shape.Batch, lengths(source, shape.Length))
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "blocks\tfloor\tmoved\t\tonce\tshared\tconflicts\tinstructions\tfp32\tinteger\tmemory\tmma\t  kernel")
	for _, t := range all {
		fmt.Fprintln(w, t.row())
	}
	err = w.Flush()
	return b.String(), err
}

func (t *traffic) row() string {
	c := t.Counts
	moved, shared, total := float64(32*c.Global().Sectors), c.Shared(), c.Total()
	return fmt.Sprintf("%d\t%s\t%s\t%.2f\t%s\t%d\t%s\t%d\t%s\t%s\t%s\t%d\t  %s", t.Blocks, shell.Scaled(float64(t.Floor), 1024, "B"),
		shell.Scaled(moved, 1024, "B"), moved/float64(max(t.Floor, 1)), shell.Scaled(float64(c.Fetched+c.Kept), 1024, "B"),
		shared.Wavefronts, part(shared.Conflicts, shared.Wavefronts), total, part(c.Instructions[ptxsim.FP32], total),
		part(c.Instructions[ptxsim.Integer], total), part(c.Instructions[ptxsim.Memory], total), c.Instructions[ptxsim.Product], t.Kernel)
}

// part returns a share in per cent, or a dash for an empty whole.
func part(n, of int64) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*float64(n)/float64(of))
}

// printTraffic prints all counts for programs.
func printTraffic(sh *shell.Shell, p *compiler.Program, only string) error {
	all, err := shell.Await(sh, func() ([]traffic, error) { return countTraffic(p, only) })
	if err != nil {
		return err
	}
	return sh.PrintJSON(struct {
		Stage   string    `json:"stage"`
		Batch   int       `json:"batch"`
		Rows    int       `json:"rows"`
		Kernels []traffic `json:"kernels"`
	}{trafficStage, trafficBatch, trafficShape(p).Length, all})
}
