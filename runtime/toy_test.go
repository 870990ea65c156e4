package runtime

import (
	"math"
	"strings"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/philox"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/train"
)

// The toy is a model by hand. The logits of a row are the sum of a bias and of three tables.
// The tables are indexed by the digit at the row's place (separately in the first row), by the
// digit before it, and by the row's input token. The toy learns successors without carries.
const (
	toyV     = 17
	toyTable = toyV * toyV
	toySize  = 4*toyTable + toyV
)

const (
	toyGradients = iota
	toyPredict
	toyEncode
	toySumSquares
	toyUpdate
)

// Hashes of the toys' specs, and of others.
var toyHash, otherHash = strings.Repeat("0123456789abcdef", 4), strings.Repeat("fedcba9876543210", 4)

func toyModel() program.Model {
	floor := float32(-0.25)
	table := device.Init{Kind: "normal", A: 0.1}
	return program.Model{
		Name: "toy", Spec: "arith 2\ntask successor {\n  operands = below(1M)\n}\n", SpecHash: toyHash, Version: "v0.0.0",
		Kit:  tasks.Kit(),
		Task: task.Config{Kind: "successor", Below: 1_000_000, Base: 10, Reversed: true, Pad: task.Pad{To: 7, Step: 3}, Holdout: 0.125},
		Train: train.Config{LR: 0.05, Beta1: 0.9, Beta2: 0.98, Eps: 1e-9, Decay: 0.01, Schedule: "trapezoid", Warmup: 0.1,
			Cooldown: 0.5, Clip: 0.5, Batch: 50, MicroBatch: 16, Budget: train.Budget{Steps: 20}, Seed: 1},
		Eval: eval.Config{Digits: []int{1, 6, 10}, Samples: 300, Pad: task.Pad{To: 7, Step: 3}},
		Params: []device.Param{
			{Name: "here", Shape: []int{2, toyV, toyV}, Off: 0, Init: table, Decay: true},
			{Name: "before", Shape: []int{toyV, toyV}, Off: 2 * toyTable, Init: table, Decay: true},
			{Name: "input", Shape: []int{toyV, toyV}, Off: 3 * toyTable, Init: device.Init{Kind: "uniform", A: -0.1, B: 0.1}, Decay: true},
			{Name: "bias", Shape: []int{toyV}, Off: 4 * toyTable, Init: device.Init{Kind: "const", A: -0.25}, Min: &floor},
		},
		Plan: toyPlan(),
		CPU: []cpu.Kernel{
			toyGradients:  {Name: "gradients", Run: runToyGradients},
			toyPredict:    {Name: "predict", Run: runToyPredict},
			toyEncode:     {Name: "encode", Run: runToyEncode},
			toySumSquares: {Name: "sum_squares", Run: runToySumSquares},
			toyUpdate:     {Name: "update", Run: runToyUpdate},
		},
	}
}

func toyPlan() device.Plan {
	first := func(s device.Space) device.Ref { return device.Ref{Space: s} }
	ints := func(off int) device.Ref { return device.Ref{Space: device.Ints, Off: off} }
	full := func(e *device.Env) device.Layout {
		s, t := e.B*e.S, e.B*e.T
		return device.Layout{Work: t, Ints: s + 3*t, Source: ints(0), Target: ints(s), Labels: ints(s + t), Pred: ints(s + 2*t),
			Loss: device.Ref{Space: device.Work}}
	}
	decode := func(e *device.Env) device.Layout {
		s, t := e.B*e.S, e.B*e.C
		return device.Layout{Ints: 2*s + 2*t, Source: ints(s), Target: ints(2 * s), Pred: ints(2*s + t)}
	}
	program := func(layout func(*device.Env) device.Layout, run func(q device.Queue, e *device.Env, l device.Layout)) device.Program {
		return device.Program{Layout: layout, Run: func(q device.Queue, e *device.Env) { run(q, e, layout(e)) }}
	}
	none := func(*device.Env) device.Layout { return device.Layout{Work: 1} }
	return device.Plan{
		NumParams: toySize,
		States:    []string{"moment1", "moment2"},
		Gradients: program(full, func(q device.Queue, e *device.Env, l device.Layout) {
			q.Launch(toyGradients, e, l.Source, l.Target, l.Labels, l.Loss, l.Pred, first(device.Params), first(device.Grads))
		}),
		Forward: program(full, func(q device.Queue, e *device.Env, l device.Layout) {
			q.Launch(toyPredict, e, l.Source, l.Target, l.Pred, first(device.Params))
		}),
		Encode: program(decode, func(q device.Queue, e *device.Env, l device.Layout) { q.Launch(toyEncode, e, l.Source, ints(0)) }),
		Decode: program(decode, func(q device.Queue, e *device.Env, l device.Layout) {
			q.Launch(toyPredict, e, ints(0), l.Target, l.Pred, first(device.Params))
		}),
		SumSquares: program(none, func(q device.Queue, e *device.Env, _ device.Layout) {
			q.Launch(toySumSquares, e, first(device.Grads), first(device.Work))
		}),
		Update: program(none, func(q device.Queue, e *device.Env, _ device.Layout) {
			q.Launch(toyUpdate, e, first(device.Grads), first(device.State), first(device.State+1), first(device.Params))
		}),
	}
}

// toyRow returns where in the arena the four parts of a row's logits are.
func toyRow(e *device.Env, source []int32, input int32, row int) [4]int {
	at := func(i int) int { return int(source[max(i, 0)]) }
	here := at(e.S-2-row) * toyV
	if row == 0 {
		here += toyTable
	}
	return [4]int{here, 2*toyTable + at(e.S-1-row)*toyV, 3*toyTable + int(input)*toyV, 4 * toyTable}
}

func toyLogits(params []float32, parts []int) (logits [toyV]float32, best int32) {
	for v := range logits {
		for _, p := range parts {
			logits[v] += params[p+v]
		}
		if logits[v] > logits[best] {
			best = int32(v)
		}
	}
	return logits, best
}

func runToyGradients(w *cpu.Worker, e *device.Env, a []device.Ref) {
	source, target, labels, loss, pred := w.I32(a[0]), w.I32(a[1]), w.I32(a[2]), w.F32(a[3]), w.I32(a[4])
	params, grads := w.Mem.F32[device.Params], w.Mem.F32[device.Grads]
	for i := range e.B * e.T {
		b, row := i/e.T, i%e.T
		parts := toyRow(e, source[b*e.S:], target[i], row)
		open := parts[:]
		if philox.Block(philox.KeyOf(e.Seed), [4]uint32{uint32(row), e.Example + uint32(b), e.Step, 0})[0] < 1<<29 {
			open = parts[1:]
		}
		logits, best := toyLogits(params, open)
		pred[i] = best
		sum := 0.0
		for _, x := range logits {
			sum += math.Exp(float64(x - logits[best]))
		}
		for v, x := range logits {
			p := math.Exp(float64(x-logits[best])) / sum
			if v == int(labels[i]) {
				loss[i] = float32(-math.Log(p))
				p--
			}
			for _, at := range open {
				grads[at+v] += float32(p) * e.Scale
			}
		}
	}
}

func runToyPredict(w *cpu.Worker, e *device.Env, a []device.Ref) {
	source, target, pred := w.I32(a[0]), w.I32(a[1]), w.I32(a[2])
	for i := range e.B * e.T {
		parts := toyRow(e, source[i/e.T*e.S:], target[i], e.P+i%e.T)
		_, pred[i] = toyLogits(w.Mem.F32[device.Params], parts[:])
	}
}

// runToyEncode moves the source to the cache and overwrites it.
func runToyEncode(w *cpu.Worker, e *device.Env, a []device.Ref) {
	source := w.I32(a[0])[:e.B*e.S]
	copy(w.I32(a[1]), source)
	clear(source)
}

func runToySumSquares(w *cpu.Worker, e *device.Env, _ []device.Ref) {
	sum := float32(0)
	for _, g := range w.Mem.F32[device.Grads][:e.N] {
		sum += float32(g * g)
	}
	w.Mem.F32[device.Work][0] = sum
}

func runToyUpdate(w *cpu.Worker, e *device.Env, _ []device.Ref) {
	p, m1, m2 := w.Mem.F32[device.Params], w.Mem.F32[device.State], w.Mem.F32[device.State+1]
	if e.Clip != e.Clip {
		return
	}
	for i := e.P; i < e.P+e.N; i++ {
		g := w.Mem.F32[device.Grads][i] * e.Clip
		m1[i] = float32(0.9*m1[i]) + float32(0.1*g)
		m2[i] = float32(0.98*m2[i]) + float32(0.02*g*g)
		p[i] -= float32(e.LR * (m1[i]*e.BiasCorrection1/(float32(math.Sqrt(float64(m2[i]*e.BiasCorrection2)))+1e-9) + float32(e.Decay*p[i])))
		p[i] = max(p[i], e.Bound)
	}
}
