package look

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"text/tabwriter"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxas"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/ptxsim/card"
	"github.com/arithlang/mlc/ptxsim/count"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/sim/counted"
)

// boundCard is a card of ptx.Arch. Its peaks decide the bound of a kernel.
const boundCard = "A100 SXM 40GB"

// ptxText prints the module of the requested kernels, below a table of their needs.
func ptxText(p *compiler.Program, only string) (string, error) {
	ks := launched(p, only)
	code, err := ptx.Module(ks, codegen.ModuleOptions(p.Lowered))
	if err != nil {
		return "", err
	}
	usage, err := ptxas.Assemble(code.Text, fmt.Sprint("sm_", ptx.Arch))
	if exit := new(exec.ExitError); errors.As(err, &exit) && shell.ExitOf(exit).Killed() {
		return "", fmt.Errorf("ptxas was %w", shell.ErrKilled)
	}
	var b strings.Builder
	source, target := p.Spec.TrainedShape()
	fmt.Fprintf(&b, "// A launch has %d examples of %s. The bound is\n", p.Batches.Micro, lengths(source, target))
	fmt.Fprintf(&b, "// computing if an %s at its peaks needs longer for a kernel's operations\n// than for the bytes that it must move, and memory otherwise.\n", boundCard)
	if err != nil {
		fmt.Fprintf(&b, "// Registers and spills: %s.\n", strings.ReplaceAll(err.Error(), "\n", "\n// ")) // no ptxas, or one that does not know the architecture
	}
	b.WriteString("//\n")
	table, err := ptxTable(ks, code.Kernels, usage, trainedScalars(p))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(table) {
		b.WriteString("// " + strings.TrimRight(line, " \n") + "\n")
	}
	b.WriteString("\n")
	b.Write(code.Text)
	return b.String(), nil
}

// trainedScalars returns the scalars of a launch on the longest training problems.
func trainedScalars(p *compiler.Program) kernel.Scalars {
	s := kernel.Scalars{}
	for _, name := range kernel.ScalarNames() {
		s[name] = 0
	}
	source, target := p.Spec.TrainedShape()
	s["B"], s["S"], s["T"], s["C"] = float64(p.Batches.Micro), float64(source), float64(target), float64(target)
	s["R"] = s["B"] * s["T"] // packed
	s["N"] = float64(p.Plan.Trained())
	return s
}

// ptxTable has a row a kernel. Without ptxas, columns that need it have a dash.
func ptxTable(ks []*kernel.Kernel, entries []ptx.Entry, usage map[string]ptxas.Usage, s kernel.Scalars) (string, error) {
	a100, err := card.Find(boundCard)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "blocks\tthreads\tregisters\tspills\tshared\troom\toperations\tmoves\tbound\t  kernel")
	for i, e := range entries {
		registers, spills, scratch := "-", "-", "-"
		if u, ok := usage[e.Name]; ok {
			registers, spills = fmt.Sprint(u.Registers), shell.Scaled(float64(u.SpillStores+u.SpillLoads), 1024, "B")
		}
		if e.Scratch != nil {
			scratch = shell.Scaled(float64(cost.Value(e.Scratch, s)), 1024, "B")
		}
		needs, bound := costOf(ks[i], e, s), "memory"
		if count.Computing(&a100, counted.Cost(needs)) > needs.Bytes/a100.Bandwidth {
			bound = "computing"
		}
		fmt.Fprintf(w, "%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t  %s\n", cost.Value(e.Blocks, s), e.Threads, registers, spills,
			shell.Scaled(float64(e.Static), 1024, "B"), scratch, shell.Scaled(needs.Flops, 1000, "FLOP"), shell.Scaled(needs.Bytes, 1024, "B"), bound, e.Name)
	}
	err = w.Flush()
	return b.String(), err
}

// costOf returns the work of a launch.
func costOf(k *kernel.Kernel, e ptx.Entry, s kernel.Scalars) cpu.Cost {
	c := cpu.Cost{
		Flops: cost.Operations(k).Total(s), Bytes: float64(cost.Value(cost.Bytes(k), s)),
		Narrow: cost.Narrow(k).Total(s), Split: cost.Split(k).Total(s),
	}
	if !e.Tensor {
		return c.Plain()
	}
	return c
}
