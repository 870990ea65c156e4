package runtime

import (
	"fmt"
	"github.com/arithlang/mlc/runtime/processor"
	"io"
	goruntime "runtime"
	"strings"
	"text/tabwriter"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/track"
)

// devices says what --device could be.
func (a app) devices() []string {
	all := []string{fmt.Sprintf("cpu: %s, %s, %d threads", processor.Name(), cpu.Detect(), goruntime.GOMAXPROCS(0))}
	if a.model.GPU.PTX == "" {
		return append(all, "cuda: this program has no GPU kernels")
	}
	gpu, err := a.openGPU(0)
	if err != nil {
		return append(all, fmt.Sprintf("cuda: %v", err))
	}
	about, i := aboutGPU(gpu), gpu.Info()
	text := fmt.Sprintf("cuda: %s, %s, %d multiprocessors, %s", about.Name, about.How, i.SMs, cuda.Bytes(i.Memory))
	if free, _, err := gpu.MemInfo(); err == nil {
		text += fmt.Sprintf(" (%s free)", cuda.Bytes(free))
	}
	return append(all, text)
}

// infoCmd is the verb info.
type infoCmd struct {
	Parameters bool `help:"List the parameters: name, shape and meaning, as weights are read and written."`
	JSON       bool `help:"Print as JSON." name:"json"`
}

// info is what the verb info says.
type info struct {
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
	Fixed   bool   `json:"fixed,omitempty"` // it is not trained
}

// Run prints what the program is; of a pipeline, what its last stage trains.
func (c *infoCmd) Run(a app) error {
	m, id := &a.model, a.identity()
	i := info{Name: id.name, SpecHash: id.hash, Version: id.version, Params: device.Trained(m.Params, m.Plan.NumParams), Kernels: len(m.CPU),
		Budget:  m.Train.Budget.String(),
		Devices: a.devices()}
	for _, p := range m.Params {
		i.Tensors = append(i.Tensors, tensor{p.Name, append([]int{}, p.Shape...), config.Meaning(p.Name), p.Fixed})
	}
	if a.whole != nil {
		for _, s := range a.whole.Stages {
			i.Stages = append(i.Stages, s.Name)
		}
	}
	if c.JSON {
		return printJSON(a, i)
	}
	if c.Parameters {
		return i.listParameters(a.out)
	}
	fmt.Fprintf(a.out, "spec        %s, %s\ncompiler    mlc %s\nparameters  %s in %d tensors\nkernels     %d\nbudget      %s\n",
		i.Name, i.SpecHash, i.Version, track.Thousands(i.Params), len(i.Tensors), i.Kernels, i.Budget)
	if len(i.Stages) > 0 {
		fmt.Fprintf(a.out, "stages      %s; the numbers are those of %s\n", strings.Join(i.Stages, ", "), a.whole.last().Name)
	}
	_, err := fmt.Fprintf(a.out, "devices     %s\n", strings.Join(i.Devices, "\n            "))
	return err
}

// listParameters prints a line for each parameter.
func (i *info) listParameters(out io.Writer) error {
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
