package verbs

import (
	"fmt"
	"io"
	goruntime "runtime"
	"strings"
	"text/tabwriter"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/processor"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/world"
)

// Info is the verb info.
type Info struct {
	Parameters bool `help:"List the parameters: name, shape and meaning, as weights are read and written."`
	JSON       bool `help:"Print as JSON." name:"json"`
}

// said is the output of the verb info.
type said struct {
	Name     string   `json:"name"`
	SpecHash string   `json:"spec_hash"`
	Version  string   `json:"mlc_version"`
	Params   int      `json:"params"`
	Tensors  []tensor `json:"tensors"`
	Kernels  int      `json:"kernels"`
	Budget   string   `json:"budget"`
	Stages   []string `json:"stages,omitempty"`
	Devices  []string `json:"devices"`
}

type tensor struct {
	Name    string `json:"name"`
	Shape   []int  `json:"shape"`
	Meaning string `json:"meaning"`
	Fixed   bool   `json:"fixed,omitempty"` // not trained
}

// Run describes the program; for a pipeline, the model that its last stage trains.
func (c *Info) Run(a world.App) error {
	m, id := &a.Model, a.Identity()
	i := said{Name: id.Name, SpecHash: id.Hash, Version: id.Version, Params: device.Trained(m.Params, m.Plan.NumParams), Kernels: len(m.CPU),
		Budget:  m.Train.Budget.String(),
		Devices: devices(a)}
	for _, p := range m.Params {
		i.Tensors = append(i.Tensors, tensor{p.Name, append([]int{}, p.Shape...), config.Meaning(p.Name), p.Fixed})
	}
	if a.Whole != nil {
		i.Stages = a.Whole.Names()
	}
	if c.JSON {
		return world.PrintJSON(a, i)
	}
	if c.Parameters {
		return i.listParameters(a.Out)
	}
	fmt.Fprintf(a.Out, "spec        %s, %s\ncompiler    mlc %s\nparameters  %s in %d tensors\nkernels     %d\nbudget      %s\n",
		i.Name, i.SpecHash, i.Version, track.Thousands(i.Params), len(i.Tensors), i.Kernels, i.Budget)
	if len(i.Stages) > 0 {
		fmt.Fprintf(a.Out, "stages      %s; the numbers are for %s\n", strings.Join(i.Stages, ", "), i.Stages[a.Whole.Last()])
	}
	_, err := fmt.Fprintf(a.Out, "devices     %s\n", strings.Join(i.Devices, "\n            "))
	return err
}

// listParameters prints a line for each parameter.
func (i *said) listParameters(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, t := range i.Tensors {
		what := t.Meaning
		if t.Fixed {
			what += ", not trained"
		}
		fmt.Fprintf(w, "%s\t%v\t%s\n", t.Name, t.Shape, what)
	}
	return w.Flush()
}

// devices describes the choices of --device.
func devices(a world.App) []string {
	all := []string{fmt.Sprintf("cpu: %s, %s, %d threads", processor.Name(), cpu.Detect(), goruntime.GOMAXPROCS(0))}
	if a.Model.GPU.PTX == "" {
		return append(all, "cuda: this program has no GPU kernels")
	}
	gpu, err := a.OpenGPU(0)
	if err != nil {
		return append(all, fmt.Sprintf("cuda: %v", err))
	}
	about, i := world.AboutGPU(gpu), gpu.Info()
	text := fmt.Sprintf("cuda: %s, %s, %d multiprocessors, %s", about.Name, about.How, i.SMs, cuda.Bytes(i.Memory))
	if free, _, err := gpu.MemInfo(); err == nil {
		text += fmt.Sprintf(" (%s free)", cuda.Bytes(free))
	}
	return append(all, text)
}
