// Package live turns a compiled spec into values of this process, without a generated program: the
// configuration, the launch plan, the GPU kernels and their costs. It prints and builds no Go, so
// processor kernels are missing. Package codegen prints its PTX. A test compares it with generated
// programs, launch by launch.
package live

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/codegen/host"
	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/train"
)

// A Model is a compiled training. It does not change, and any number of goroutines may use it.
type Model struct {
	Name   string // of the spec; a stage appends /STAGE
	Task   task.Config
	Train  train.Config
	Eval   eval.Config
	Params []device.Param // in arena order
	Plan   device.Plan
	GPU    cuda.Program // by kernel number
	// Costs return the least work of a launch, by kernel number. If the iterations of a kernel's
	// loops differ, they are counted one by one.
	Costs []func(e *device.Env) cpu.Cost
	// Given has the elements of fixed parameters from files, by name. Parameters that another
	// stage's calibration makes exist only in a run; elsewhere they are 0.
	Given map[string][]float32
}

// New makes the model of one training. For a spec with stages, call it with each of p.Trainings().
func New(p *compiler.Program) (*Model, error) {
	if p.Lowered == nil {
		return nil, fmt.Errorf("%s has %d stages, and a model is of one of them", p.Spec.Name, len(p.Stages))
	}
	flop, err := p.RowFLOPs()
	if err != nil {
		return nil, err
	}
	module, err := codegen.Module(p.Lowered, "Kernels of "+p.Source+".")
	if err != nil {
		return nil, err
	}
	m := &Model{
		Name:  host.ModelName(p.Spec, p.Stage),
		Task:  task.Config(p.Spec.Task.Task),
		Train: host.TrainConfig(p.Spec, host.Cost{Batches: p.Batches, RowFLOP: flop}),
		Eval:  host.EvalConfig(p.Spec),
		Plan:  newPlan(p.Lowered),
		GPU:   cuda.Program{PTX: string(module.Text), Schedules: module.Schedules()},
		Given: host.Given(p.Spec),
	}
	var groups []*device.Group
	for _, g := range p.Lowered.Groups {
		groups = append(groups, (*device.Group)(g))
	}
	m.Params = device.Flat(groups...)
	for i, e := range module.Kernels {
		k := cuda.Kernel{Name: e.Name, Threads: e.Threads, Scalars: e.Scalars, Shapes: e.Shapes, Step: e.Step, Sets: e.Sets, Tensor: e.Tensor, Blocks: ofLaunch(e.Blocks)}
		if e.Scratch != nil {
			k.Scratch = ofLaunch(e.Scratch)
		}
		if e.Gemm != nil {
			k.Gemm = newGemm(e.Gemm)
		}
		m.GPU.Kernels = append(m.GPU.Kernels, k)
		m.Costs = append(m.Costs, costOf(p.Lowered.Kernels[i]))
	}
	return m, nil
}

// newGemm returns the runtime's form of a product.
func newGemm(g *ptx.Gemm) *cuda.Gemm {
	m, n, k := ofLaunch(g.Size[0]), ofLaunch(g.Size[1]), ofLaunch(g.Size[2])
	return &cuda.Gemm{
		Size: func(e *device.Env) [3]int { return [3]int{m(e), n(e), k(e)} },
		Left: cuda.Operand(g.Left), Right: cuda.Operand(g.Right), Out: cuda.Operand(g.Out), Plus: g.Plus,
	}
}

// Machine returns a GPU for the model. The driver stays open.
func (m *Model) Machine(d cuda.Driver) (*cuda.Machine, error) { return m.Multiplied(d, nil) }

// Multiplied returns a Machine whose products a library computes, unless by is nil.
func (m *Model) Multiplied(d cuda.Driver, by cuda.Multiplier) (*cuda.Machine, error) {
	return m.machine(d, cuda.Options{Multiplier: by})
}

// Ranked returns the Machine of one of the processes that train together.
func (m *Model) Ranked(d cuda.Driver, by cuda.Collective) (*cuda.Machine, error) {
	return m.machine(d, cuda.Options{Ranks: by})
}

func (m *Model) machine(d cuda.Driver, o cuda.Options) (*cuda.Machine, error) {
	o.About = device.About{Device: "cuda", Name: d.Info().Name}
	return cuda.NewMachine(cuda.NewDevice(d), m.GPU, &m.Plan, o)
}

// Trainer returns a trainer that is ready for the first step on a machine and keeps no run.
func (m *Model) Trainer(machine device.Machine) (*train.Trainer, error) {
	t := &train.Trainer{Machine: machine, Plan: &m.Plan, Params: m.Params, Config: m.Train, Given: m.Given}
	return t, t.Prepare(m.Task, tasks.Kit())
}

// costOf counts the cost of a kernel's launch, without instructions on a processor. Launches have
// few sizes, and a count may loop over rows: it keeps the count of each size.
func costOf(k *kernel.Kernel) func(e *device.Env) cpu.Cost {
	tallies := []cost.Tally{cost.Operations(k), cost.Products(k), cost.Narrow(k), cost.Split(k), cost.Others(k), {Count: expr.Simplify(cost.Bytes(k))}}
	names := slices.Sorted(maps.Keys(cost.Vars(tallies...)))
	var count []func(kernel.Scalars) float64
	for _, t := range tallies {
		count = append(count, t.Compile())
	}
	var kept sync.Map // of cpu.Cost, by the scalars that it depends on
	return func(e *device.Env) cpu.Cost {
		s := scalars(e)
		var key []byte
		for _, name := range names {
			key = strconv.AppendFloat(append(key, ' '), s[name], 'g', -1, 64)
		}
		if c, known := kept.Load(string(key)); known {
			return c.(cpu.Cost)
		}
		c := cpu.Cost{Flops: count[0](s), Products: count[1](s), Narrow: count[2](s), Split: count[3](s), Others: count[4](s), Bytes: count[5](s)}
		kept.Store(string(key), c)
		return c
	}
}
