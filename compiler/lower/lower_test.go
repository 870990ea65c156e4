package lower_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/model"
	"github.com/arithlang/mlc/runtime/config"
)

// variant changes the tiny spec of a test.
type variant struct {
	name   string
	change func(s *check.Spec)
}

var variants = []variant{
	{"windows and dropout", func(s *check.Spec) {}},
	{"real encoder, learned positions, gelu", func(s *check.Spec) {
		s.Model.Encoder = check.Stack{Layers: 2, Self: &check.Site{Scale: 0.5}}
		s.Model.Position = check.Position{Kind: "learned", Max: 12}
		s.Model.Act = "gelu"
	}},
	{"no biases, no positions, no dropout", func(s *check.Spec) {
		s.Model.Bias, s.Model.Dropout = false, 0
		s.Model.Position = check.Position{Kind: "none"}
		s.Model.Decoder.Self.Dropout, s.Model.Decoder.Cross.Dropout = 0, 0
	}},
	{"learned biases, cyclic learned positions", func(s *check.Spec) {
		s.Model.Position = check.Position{Kind: "cyclic", Inner: "learned", Period: 3}
		s.Model.Decoder.Self.Bias, s.Model.Decoder.Self.Params = kerple()
		s.Model.Decoder.Cross.Mask = nil
		s.Model.Decoder.Cross.Bias, s.Model.Decoder.Cross.Params = table()
	}},
	{"relative positions, and calibrated lines", func(s *check.Spec) {
		s.Model.Decoder.Self.Shaw, s.Model.Decoder.Cross.Mask = 2, nil
		s.Model.Decoder.Cross.Bias, s.Model.Decoder.Cross.Params = line()
	}},
	{"few heads of keys", func(s *check.Spec) {
		s.Model.Decoder.Self.KeyHeads, s.Model.Decoder.Cross.KeyHeads = 1, 1
		s.Model.Decoder.Self.Rotary = &check.Rotary{Base: 100, Fraction: 1}
		s.Model.Decoder.Self.Shaw, s.Model.Decoder.Cross.Mask = 2, nil
	}},
	{"a bias that layers and sites share", func(s *check.Spec) {
		bias, params := kerple()
		for i := range params {
			params[i].Shared = true
		}
		s.Model.Decoder.Self.Bias, s.Model.Decoder.Self.Params = bias, params
		s.Model.Decoder.Cross.Bias, s.Model.Decoder.Cross.Params = bias, params
	}},
}

func ivar(name string) *expr.Expr { return expr.NewVar(name, expr.I32) }

// kerple is -r1[h] log(1 + r2[h] |i - j|).
func kerple() (*expr.Expr, []check.BiasParam) {
	r1, r2 := expr.NewElem("r1", expr.F32, ivar("h")), expr.NewElem("r2", expr.F32, ivar("h"))
	distance := expr.New(expr.ToF32, expr.New(expr.Abs, expr.New(expr.Sub, ivar("i"), ivar("j"))))
	log := expr.New(expr.Log, expr.New(expr.Add, expr.F(1), expr.New(expr.Mul, r2, distance)))
	init := check.Init{Kind: "uniform", A: 0.1, B: 1}
	return expr.New(expr.Mul, expr.New(expr.Neg, r1), log), []check.BiasParam{{Name: "r1", Shape: []int{2}, Init: init}, {Name: "r2", Shape: []int{2}, Init: init}}
}

// table is w[h, clip(j - i + 2, 0, 4)] + c.
func table() (*expr.Expr, []check.BiasParam) {
	at := expr.New(expr.Add, expr.New(expr.Sub, ivar("j"), ivar("i")), expr.Int(2))
	at = expr.New(expr.Min, expr.New(expr.Max, at, expr.Int(0)), expr.Int(4))
	e := expr.New(expr.Add, expr.NewElem("w", expr.F32, ivar("h"), at), expr.NewElem("c", expr.F32))
	init := check.Init{Kind: "uniform", A: -1, B: 1}
	return e, []check.BiasParam{{Name: "w", Shape: []int{2, 5}, Init: init}, {Name: "c", Init: init}}
}

// line is l[h, clip(i + j - J + 7, 0, 11)], fixed.
func line() (*expr.Expr, []check.BiasParam) {
	at := expr.New(expr.Sub, expr.New(expr.Add, expr.New(expr.Add, ivar("i"), ivar("j")), expr.Int(7)), ivar("J"))
	at = expr.New(expr.Min, expr.New(expr.Max, at, expr.Int(0)), expr.Int(11))
	return expr.NewElem("l", expr.F32, ivar("h"), at), []check.BiasParam{{Name: "l", Shape: []int{2, 12}, Init: check.Init{Kind: "stage"}}}
}

func tinySpec() *check.Spec {
	i, j, J := ivar("i"), ivar("j"), ivar("J")
	self := expr.New(expr.And, expr.New(expr.Le, j, i), expr.New(expr.Le, expr.New(expr.Sub, i, j), expr.Int(1)))
	center := expr.New(expr.Sub, expr.New(expr.Sub, expr.New(expr.Sub, J, expr.Int(2)), i), j)
	cross := expr.New(expr.Le, expr.New(expr.Abs, center), expr.Int(1))
	return &check.Spec{Name: "tiny", Task: check.Task{Task: config.Task{Kind: "addition", Base: 10, DigitsLo: 1, DigitsHi: 40}}, Model: check.Model{
		Width: 8, Heads: 2, Act: "relu", Hidden: 12, NormEps: 1e-5, NormPost: true, Dropout: 0.25, Bias: true, TokenScale: 2.828,
		Position: check.Position{Kind: "cyclic", Inner: "sinusoidal", Period: 3},
		Decoder: check.Stack{Layers: 2,
			Self:  &check.Site{Mask: self, Scale: 0.5, Dropout: 0.25},
			Cross: &check.Site{Mask: cross, Scale: 0.5, Dropout: 0.25}},
	}, Train: check.Train{Optimizer: "adamw", Train: config.Train{Beta1: 0.9, Beta2: 0.98, Eps: 1e-9}}}
}

func build(t *testing.T, v variant) *lower.Program {
	t.Helper()
	spec := tinySpec()
	v.change(spec)
	p, err := model.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	l, err := lower.Lower(p)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestKernelsComputeTheirFunctions runs every function of every program on random inputs twice:
// as tensors in float64 and as kernels in float32.
func TestKernelsComputeTheirFunctions(t *testing.T) {
	shapes := []kernel.Scalars{
		{"B": 2, "T": 5, "S": 6, "C": 5, "P": 0, "N": 1300},
		{"B": 1, "T": 1, "S": 1, "C": 1, "P": 0, "N": 1},
		{"B": 3, "T": 8, "S": 9, "C": 8, "P": 0, "N": 1024},
	}
	for _, v := range slices.Concat(variants, loops) {
		t.Run(v.name, func(t *testing.T) { runAll(t, build(t, v), shapes, "") })
	}
}

// runAll compares the routines of a program that have a kernel of the family, at all shapes.
// The family "" means any.
func runAll(t *testing.T, p *lower.Program, shapes []kernel.Scalars, family string) {
	t.Helper()
	m := lower.NewMachine(p)
	for _, e := range p.Entries {
		for _, s := range shapes {
			if e.Name == "decode" {
				s = kernel.Scalars{"B": s["B"], "T": 1, "S": s["S"], "C": s["C"], "P": s["C"] - 1, "N": 1}
			}
			for k, x := range map[string]float64{"NoGrad": 1, "WithGrad": 1, "Times": 1, "step": 3, "example": 40, "seed0": 9, "seed1": 8, "scale": 0.05,
				"lr": 0.01, "bias_correction1": 1.5, "bias_correction2": 20, "clip": 0.5, "decay": 0.1, "bound": -0.25} {
				s[k] = x
			}
			for _, step := range e.Steps {
				if family == "" || slices.ContainsFunc(step.Routine.Launches, func(l lower.Launch) bool { return l.Kernel.Family() == family }) {
					compare(t, m.Anew(), e, step.Routine, s)
				}
			}
		}
	}
}

// compare runs one routine on random inputs in both interpreters.
func compare(t *testing.T, m *lower.Machine, e *lower.Entry, r *lower.Routine, s kernel.Scalars) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	if n := int(s["N"]); len(m.Params) < n {
		m.Params, m.Grads = make([]float32, n), make([]float32, n)
		for i := range m.States {
			m.States[i] = make([]float32, n)
		}
	}
	m.Prepare(e, s)
	env := ir.Env{Dims: map[string]int{}, Scalars: map[string]float64{}, Layer: 0, Step: 3, Example: 40, Seed: 8<<32 | 9}
	for k, x := range s {
		if t, _ := kernel.ScalarType(k); t == expr.F32 {
			env.Scalars[k] = float64(float32(x))
		} else {
			env.Dims[k] = int(x)
		}
	}
	var args []ir.Tensor
	for _, v := range r.Func.Params {
		args = append(args, random(rng, v, env, m.Buffer(e, r.Args[v], 0, s)))
	}
	want, err := ir.Eval(r.Func, env, args)
	if err != nil {
		t.Fatalf("%s %s: %v", e.Name, r.Name, err)
	}
	memory := &lower.Memory{Name: e.Memory.Name}
	for _, b := range e.Memory.Buffers {
		b.Zero = false // an input of this routine alone
		memory.Buffers = append(memory.Buffers, b)
	}
	one := &lower.Entry{Name: "one routine", Memory: memory, Steps: []lower.Step{{Routine: r}}}
	if err := m.Run(one, s); err != nil {
		t.Fatalf("%s %s: %v", e.Name, r.Name, err)
	}
	tolerance := 3e-5
	if rounds(r.Func) {
		tolerance = roundedTolerance
	}
	for i, res := range r.Func.Results {
		a, ok := r.Args[res.Value]
		if !ok {
			continue
		}
		if err := near(m.Buffer(e, a, 0, s), want[i], tolerance); err != nil {
			t.Errorf("%s %s, result %s at %v: %v", e.Name, r.Name, res.Name, s, err)
		}
	}
}

// random fills a parameter: ids below 3, positive second moments.
func random(rng *rand.Rand, v *ir.Value, env ir.Env, buf kernel.Buffer) ir.Tensor {
	x := ir.Tensor{}
	n := 1
	for _, d := range v.Type.Shape {
		k, err := d.Size(env.Dims)
		if err != nil {
			panic(err)
		}
		x.Shape = append(x.Shape, k)
		n *= k
	}
	for i := range n {
		if v.Type.Elem == expr.I32 {
			buf.I[i] = rng.Int32N(3)
			x.I = append(x.I, int64(buf.I[i]))
			continue
		}
		f := float32(0.4 * rng.NormFloat64())
		if v.Type.Elem.Narrow() {
			buf.H[i] = uint16(math.Float32bits(f) >> 16)
			x.F = append(x.F, float64(expr.Widen(v.Type.Elem, buf.H[i])))
			continue
		}
		if v.Attr.Name == "moment2" || strings.HasSuffix(v.Attr.Name, ".r2") {
			f = float32(math.Abs(float64(f)))
		}
		buf.F[i] = f
		x.F = append(x.F, float64(f))
	}
	return x
}

// rounds reports whether a function rounds to BF16.
func rounds(f *ir.Func) bool {
	return slices.ContainsFunc(f.Values, func(v *ir.Value) bool { return v.Type.Elem.Narrow() })
}

// roundedTolerance bounds the error of a function that rounds to BF16. A number close to the
// middle of two may round to either.
const roundedTolerance = 0x1p-7

// near compares within the rounding of float32 sums of this size, or within a larger tolerance.
func near(got kernel.Buffer, want ir.Tensor, tolerance float64) error {
	for i, w := range want.I {
		if int64(got.I[i]) != w {
			return fmt.Errorf("element %d is %d, want %d", i, got.I[i], w)
		}
	}
	largest := 1.0
	for _, w := range want.F {
		if !math.IsInf(w, 0) {
			largest = max(largest, math.Abs(w))
		}
	}
	for i, w := range want.F {
		x := 0.0
		if got.H != nil {
			x = float64(expr.Widen(expr.BF16, got.H[i]))
		} else {
			x = float64(got.F[i])
		}
		if d := math.Abs(x - w); !(d <= tolerance*largest) && x != w {
			return fmt.Errorf("element %d is %v, want %v", i, x, w)
		}
	}
	return nil
}
