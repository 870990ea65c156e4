package train

import (
	"encoding/binary"
	"os"
	"slices"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/codegen/host"
	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime"
	"github.com/arithlang/mlc/runtime/calibrate"
	"github.com/arithlang/mlc/runtime/calibration"
	"github.com/arithlang/mlc/runtime/continuing"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/stages"
	"github.com/arithlang/mlc/runtime/thinking"
	"github.com/arithlang/mlc/runtime/world"
	"github.com/arithlang/mlc/sim/simulated"
)

// Devices of mlc that trainers do not have.
const (
	simDevice   = "sim"
	countDevice = "count"
)

// simMemory is the memory of the simulated GPU in bytes. Checking accesses takes several
// times as much memory of the host.
const simMemory = 1 << 30

// simulatedGPU is the device of --device sim.
var simulatedGPU = world.Device{
	Name: simDevice, How: "every access checked", Note: "simulating a GPU, every access checked: thousands of times slower than one",
	Open: func() (cuda.Driver, error) { return simulated.Open(ptxsim.Options{Memory: simMemory}) },
}

// inProcess runs a verb of a program in this process, on a GPU that is real or simulated.
func inProcess(sh *shell.Shell, p *compiler.Program, verb string, flags []string, quiet bool) error {
	args := slices.Concat([]string{shell.CalledBy(), verb}, flags)
	devices := []world.Device{simulatedGPU}
	var run func() int
	if len(p.Stages) > 0 {
		pipeline, err := shell.Await(sh, func() (stages.Pipeline, error) { return pipelineOf(p) })
		if err != nil {
			return err
		}
		run = func() int { return runtime.RunStages(&pipeline, devices, args, stages.Train) }
	} else {
		model, err := shell.Await(sh, func() (program.Model, error) { return modelOf(p) })
		if err != nil {
			return err
		}
		run = func() int { return runtime.Run(model, devices, args) }
	}
	var r *relay
	if verb == "train" {
		var err error
		if r, err = relayOf(sh, quiet); err != nil {
			return err
		}
		os.Setenv(record.TellVariable, r.file) // this process is the trainer
	}
	sh.Release()
	var err error
	if code := run(); code != shell.ExitOK {
		err = shell.ExitStatus(code)
	}
	if r != nil {
		r.end(err)
	}
	return err
}

// modelOf returns the model of a training as in its program, except that its processor
// kernels compute nothing.
func modelOf(p *compiler.Program) (program.Model, error) {
	m, err := live.New(p)
	if err != nil {
		return program.Model{}, err
	}
	model := program.Model{Name: m.Name, Spec: codegen.SpecText(p), SpecHash: p.Spec.Hash, Version: shell.Version,
		Task: m.Task, Kit: tasks.Kit(), Train: m.Train, Eval: m.Eval, Think: thinking.Think, Params: m.Params, Plan: m.Plan, GPU: m.GPU, Files: filesOf(p.Spec)}
	if m.Task.Kind == "text" {
		model.Reader = continuing.Reader{}
	}
	if p.Stage == "" {
		model.Axes = p.Spec.Axes
	}
	for i, k := range m.GPU.Kernels {
		model.CPU = append(model.CPU, cpu.Kernel{Name: k.Name, Cost: m.Costs[i]})
	}
	for name, values := range m.Given {
		text, _ := binary.Append(nil, binary.LittleEndian, values) // cannot fail for a slice of float32
		model.Given = append(model.Given, program.Table{Param: name, Values: string(text)})
	}
	return model, nil
}

// filesOf lists the files that a spec reads.
func filesOf(spec *check.Spec) (all []program.File) {
	for _, file := range spec.Files() {
		f := program.File{Path: file.Path, Stage: file.Stage}
		if file.Problems != nil {
			f.Text = file.Problems.Text
		}
		for _, param := range file.Tables {
			f.Tensors = append(f.Tensors, program.Tensor{Name: param.Tensor, Shape: param.Shape, Param: host.FixedName(param)})
		}
		all = append(all, f)
	}
	return all
}

// pipelineOf returns a spec with stages as in its program.
func pipelineOf(p *compiler.Program) (stages.Pipeline, error) {
	out := stages.Pipeline{Name: p.Spec.Name, Spec: codegen.SpecText(p), SpecHash: p.Spec.Hash, Version: shell.Version, Axes: p.Spec.Axes}
	trainings := p.Stages
	for _, s := range p.Spec.Stages {
		stage := stages.Stage{Name: s.Name, From: s.From}
		if k := s.Calibration; k != nil {
			stage.Calibration = calibration.Stage{Samples: k.Samples, Heads: k.Heads, Layer: k.Layer, Logits: k.Logits, Mean: k.Mean,
				Self: linesOf(k.Self), Cross: linesOf(k.Cross)}
		} else {
			m, err := modelOf(trainings[0])
			if err != nil {
				return out, err
			}
			stage.Model, trainings = &m, trainings[1:]
			for _, param := range s.Spec.Given() {
				if param.Init.Kind == "stage" {
					stage.Given = append(stage.Given, stages.Given{Param: host.FixedName(param), Stage: param.From, Tensor: param.Tensor})
				}
			}
		}
		out.Stages = append(out.Stages, stage)
	}
	return out, nil
}

func linesOf(l check.Lines) calibrate.Lines {
	return calibrate.Lines{Directions: l.Directions, Rows: l.Rows, M: l.Queries, N: l.Keys, Paired: l.Paired,
		Keep: func(value, mean, std float64) bool {
			return expr.Eval64(l.Keep, expr.Bindings{"value": {F: value}, "mean": {F: mean}, "std": {F: std}}).I != 0
		}}
}
