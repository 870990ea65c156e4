package cli

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"text/tabwriter"

	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxas"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/kernel"
)

// ptxArch is the architecture that modules are printed for.
const ptxArch = "sm_80"

// balance is how many operations a GPU of that architecture computes while it
// moves a byte of its memory: an A100, 19.5e12 and 1.56e12 a second.
const balance = 12.5

// ptxText prints the module of the kernels that are asked for below a table of
// what each of them needs.
func ptxText(p *compiler.Program, only string) (string, error) {
	ks := launched(p, only)
	code, err := ptx.Module(ks, codegen.ModuleOptions(p.Lowered))
	if err != nil {
		return "", err
	}
	usage, err := ptxas.Assemble(code.Text, ptxArch)
	if exit := new(exec.ExitError); errors.As(err, &exit) && exitOf(exit).killed() {
		return "", fmt.Errorf("ptxas was %w", errKilled)
	}
	if err != nil && !errors.Is(err, ptxas.ErrMissing) {
		return "", fmt.Errorf("BUG: the module is not accepted: %w", err)
	}
	var b strings.Builder
	source, target := p.Spec.TrainedShape()
	fmt.Fprintf(&b, "// A launch has %d examples of %s. The bound is\n", p.Batches.Micro, lengths(source, target))
	fmt.Fprintf(&b, "// computing where a kernel has more than %v operations for each byte that it must\n// move, as an A100 has, and else memory.\n", balance)
	if err != nil {
		fmt.Fprintf(&b, "// Registers and spills: %v.\n", err)
	}
	b.WriteString("//\n")
	for line := range strings.Lines(ptxTable(ks, code.Kernels, usage, trainedScalars(p))) {
		b.WriteString("// " + strings.TrimRight(line, " \n") + "\n")
	}
	b.WriteString("\n")
	b.Write(code.Text)
	return b.String(), nil
}

// trainedScalars are those of a launch on the longest problems of training.
func trainedScalars(p *compiler.Program) kernel.Scalars {
	s := kernel.Scalars{}
	for _, name := range kernel.ScalarNames() {
		s[name] = 0
	}
	source, target := p.Spec.TrainedShape()
	s["B"], s["S"], s["T"], s["C"] = float64(p.Batches.Micro), float64(source), float64(target), float64(target)
	s["N"] = float64(p.Plan.Trained())
	return s
}

// ptxTable has a row a kernel. What only ptxas knows is a dash without it.
func ptxTable(ks []*kernel.Kernel, entries []ptx.Entry, usage map[string]ptxas.Usage, s kernel.Scalars) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "blocks\tthreads\tregisters\tspills\tshared\troom\toperations\tmoves\tbound\t  kernel")
	for i, e := range entries {
		registers, spills, scratch := "-", "-", "-"
		if u, ok := usage[e.Name]; ok {
			registers, spills = fmt.Sprint(u.Registers), scaled(float64(u.SpillStores+u.SpillLoads), 1024, "B")
		}
		if e.Scratch != nil {
			scratch = scaled(float64(cost.Value(e.Scratch, s)), 1024, "B")
		}
		flops, bytes := cost.Operations(ks[i]).Total(s), float64(cost.Value(cost.Bytes(ks[i]), s))
		bound := "memory"
		if flops > balance*bytes {
			bound = "computing"
		}
		fmt.Fprintf(w, "%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t  %s\n", cost.Value(e.Blocks, s), e.Threads, registers, spills,
			scaled(float64(e.Static), 1024, "B"), scratch, scaled(flops, 1000, "FLOP"), scaled(bytes, 1024, "B"), bound, e.Name)
	}
	w.Flush()
	return b.String()
}
