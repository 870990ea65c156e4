package lower_test

import (
	"math"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/grad"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/ir/irtest"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/model"
	"github.com/arithlang/mlc/compiler/plan"
)

// positional are functions of positions and noise; each is lowered with its
// backward function.
var positional = []struct{ name, params, body string }{
	{"totals", "v0 = param tokens input : i32[B, C]", "v9 = runs v0 {total = true; shape = [B, T]; expr = 1 <= x0 && x0 <= 2} : i32[B, T]"},
	{"runs", "v0 = param tokens input : i32[B, C]", "v9 = runs v0 {shape = [B, T]; expr = 1 <= x0 && x0 <= 2} : i32[B, T]"},
	{"runs with an offset", "v0 = param tokens input : i32[B, C]\nv1 = param table weight : f32[40, 6]",
		"v2 = runs v0 {shape = [B, T]; expr = x0 == 2} : i32[B, T]\nv3 = draw {shape = [B, T]; stream = 5; rows = 7; group = 3} : i32[B, T]\n" +
			"v4 = map v2 v3 {expr = min(where(0 < x0, x0 + x1, 0), 39)} : i32[B, T]\nv9 = gather v1 v4 : f32[B, T, 6]"},
	{"history", "v0 = param history input : i32[B, C]\nv1 = param tokens input : i32[B, T]", "v2 = append v0 v1 : i32[B, C]\nv9 = runs v2 {shape = [B, T]; expr = x0 < 2} : i32[B, T]\nresult history v2"},
	{"subset", "v0 = param table weight : f32[11, 6]", "v2 = subset {shape = [T]; stream = 6; rows = 11; size = 6; group = 4} : i32[T]\nv9 = gather v0 v2 : f32[T, 6]"},
	{"subset as a column", "v0 = param x input : f32[T, 6]", "v2 = subset {shape = [T, 1]; stream = 6; rows = 7; size = 4; group = 4} : i32[T, 1]\nv9 = map v0 v2 {expr = x0 * f32(x1)} : f32[T, 6]"},
	{"noise", "v0 = param x input : f32[B, T, 6]", "v1 = noise {shape = [B, T, 6]; stream = 4} : f32[B, T, 6]\nv9 = map v0 v1 {expr = x0 * (x0 + 0.02 * x1)} : f32[B, T, 6]"},
	{"noise of one example", "v0 = param x input : f32[B, T, 5]", "v1 = noise {shape = [1, T, 5]; stream = 4} : f32[1, T, 5]\nv9 = map v0 v1 {expr = x0 * x1} : f32[B, T, 5]"},
	{"rotate", "v0 = param x input : f32[B, T, 12]", "v1 = map {shape = [T, 2]; expr = cos(f32((P + d0) * (d1 + 1)))} : f32[T, 2]\n" +
		"v2 = map {shape = [T, 2]; expr = sin(f32((P + d0) * (d1 + 1)))} : f32[T, 2]\nv9 = rotate v0 v1 v2 {heads = 2} : f32[B, T, 12]"},
	{"rotate whole heads", "v0 = param x input : f32[B, T, 12]", "v1 = map {shape = [T, 3]; expr = f32(P + d0) - 0.5} : f32[T, 3]\nv9 = rotate v0 v1 v1 {heads = 2} : f32[B, T, 12]"},
	{"repeat heads", "v0 = param x input : f32[B, T, 10]\nv1 = param r input : f32[B, T, 30]", "v2 = repeat_heads v0 {group = 3; heads = 6} : f32[B, T, 30]\nv9 = map v2 v1 {expr = x0 * x1} : f32[B, T, 30]"},
	{"sum heads", "v0 = param x input : f32[B, T, 30]\nv1 = param r input : f32[B, T, 5]", "v2 = sum_heads v0 {group = 6; heads = 6} : f32[B, T, 5]\nv9 = map v2 v1 {expr = x0 * x1} : f32[B, T, 5]"},
	{"bias table over positions", "v0 = param r weight : f32[2]\nv2 = param x input : f32[2, T, T]", "v3 = subset {shape = [T]; stream = 4; rows = 9; size = 9; group = 2} : i32[T]\n" +
		"v4 = bias_table v0 v3 {shape = [2, T, T]; heads = 2; self; parameters = r pi; mask = j <= i; bias = r[h] * log(1.0 + r[1] * r[1] * f32(pi[i] - pi[j]))} : f32[2, T, T]\n" +
		"v9 = map v4 v2 {expr = x0 * x1} : f32[2, T, T]"},
	{"rms norm", "v0 = param x input : f32[B, T, 40]\nv1 = param gamma weight : f32[40]\nv2 = param r input : f32[B, T, 40]",
		"v3 = rmsnorm v0 v1 {eps = 1e-05} : f32[B, T, 40]\nv9 = map v3 v2 {expr = x0 * x1} : f32[B, T, 40]"},
}

// TestPositions compares kernels with tensors, forward and backward, for all rows and for rows
// from the third on.
func TestPositions(t *testing.T) {
	for _, c := range positional {
		t.Run(c.name, func(t *testing.T) {
			p := lowered(t, irtest.Parse(t, "func f\n"+c.params+"\n"+c.body+"\nresult y v9\nend\n"))
			launches := []kernel.Scalars{{"B": 2, "T": 5, "S": 1, "C": 5, "P": 0}, {"B": 1, "T": 1, "S": 1, "C": 1, "P": 0}}
			if !strings.Contains(c.body, "pi[") { // drawn positions are for whole sequences
				launches = append(launches, kernel.Scalars{"B": 4, "T": 3, "S": 1, "C": 7, "P": 2})
			}
			runAll(t, p, launches, "")
		})
	}
}

// lowered returns a program with the entries f and, for float results, back.
func lowered(t *testing.T, f *ir.Func) *lower.Program {
	t.Helper()
	p := &plan.Plan{}
	if y := f.Results[len(f.Results)-1].Value; y.Type.Elem == expr.F32 {
		fwd, bwd, err := grad.Backward(f)
		if err != nil {
			t.Fatal(err)
		}
		p.Programs = append(p.Programs, program(p, "f", fwd), program(p, "back", bwd))
	} else {
		p.Programs = append(p.Programs, program(p, "f", f))
	}
	l, err := lower.Lower(p)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// program returns a program that calls f with buffers named as its parameters and results, and
// adds its weights to the plan. A result named like a parameter overwrites it.
func program(p *plan.Plan, name string, f *ir.Func) *plan.Program {
	prog := &plan.Program{Name: name, Memory: name}
	call := &plan.Call{Func: f, Group: "g", Args: map[string]plan.Ref{}, Results: map[string]plan.Ref{}}
	add := func(v *ir.Value, name string) plan.Ref {
		prog.Buffers = append(prog.Buffers, &plan.Buffer{Name: name, Type: v.Type, Count: 1})
		return plan.At(name, 0)
	}
	for i, v := range f.Params {
		switch {
		case f.Roles[i] != ir.Weight:
			call.Args[v.Attr.Name] = add(v, v.Attr.Name)
		case len(p.Groups) == 0:
			w := plan.Param{Name: v.Attr.Name}
			for _, d := range v.Type.Shape {
				w.Shape = append(w.Shape, d.N)
			}
			p.Groups = []*plan.Group{{Name: "g", Layers: 1, Params: []plan.Param{w}}}
		}
	}
	for _, r := range f.Results {
		if ref, ok := call.Args[r.Name]; ok {
			call.Results[r.Name] = ref
		} else if !r.Accumulate {
			call.Results[r.Name] = add(r.Value, "result_"+strings.ReplaceAll(r.Name, ".", "_"))
		}
	}
	prog.Body = []plan.Stmt{call}
	return prog
}

// TestNoiseBitsOfRows wants a row computed alone to have the same bits as among all rows.
func TestNoiseBitsOfRows(t *testing.T) {
	p := lowered(t, irtest.Parse(t, "func f\nv0 = param x input : f32[B, T, 7]\nv1 = noise {shape = [B, T, 7]; stream = 4} : f32[B, T, 7]\n"+
		"v9 = map v0 v1 {expr = x0 + x1} : f32[B, T, 7]\nresult y v9\nend\n"))
	e := p.Entry("f")
	run := func(rows, first int) []float32 {
		s := kernel.Scalars{"B": 2, "T": float64(rows), "S": 1, "C": 9, "P": float64(first), "step": 1, "example": 5, "seed0": 2, "seed1": 3}
		m := lower.NewMachine(p)
		m.Prepare(e, s)
		if err := m.Run(e, s); err != nil {
			t.Fatal(err)
		}
		return m.Floats(e, "result_y", 0)
	}
	whole, row := run(9, 0), run(1, 6)
	for k := range 14 {
		got, want := row[k], whole[k/7*63+6*7+k%7]
		if math.Float32bits(got) != math.Float32bits(want) || got == 0 {
			t.Errorf("element %d is %v alone, %v among all", k, got, want)
		}
	}
}

// schemes are whole models whose positions are drawn for training. Biases, rotary positions and
// tables use the same positions.
var schemes = []variant{
	{"loop: random learned positions, rotary, a learned bias of them", func(s *check.Spec) {
		looped(s, 2, 2)
		drawn(s, "learned")
		s.Model.Loop.Self.Bias, s.Model.Loop.Self.Params = ofPositions()
		s.Model.Loop.Self.Rotary = &check.Rotary{Base: 100, Fraction: 0.5}
	}},
	{"random positions for biases alone", func(s *check.Spec) {
		s.Train.Batch = 8
		drawn(s, "none")
		s.Model.Encoder = check.Stack{Layers: 1, Self: &check.Site{Scale: 0.5}}
		s.Model.Decoder.Self.Bias = expr.New(expr.ToF32, expr.New(expr.Sub, ivar("pj"), ivar("pi")))
		s.Model.Decoder.Cross.Bias, s.Model.Decoder.Cross.Params = ofPositions()
	}},
	{"random sinusoidal positions, rotary", func(s *check.Spec) {
		s.Train.Batch = 8
		drawn(s, "sinusoidal")
		s.Model.Decoder.Cross.Rotary = &check.Rotary{Base: 100, Fraction: 1}
	}},
	{"shifted sinusoidal positions", func(s *check.Spec) {
		s.Model.Position = check.Position{Kind: "shifted", Inner: "sinusoidal", MaxOffset: 9, Max: 20}
	}},
	{"rotary of what is projected", func(s *check.Spec) {
		s.Model.Decoder.Self.Rotary = &check.Rotary{Base: 100, Fraction: 0.5, Input: true}
		s.Model.Decoder.Cross.Rotary = s.Model.Decoder.Self.Rotary
	}},
	{"Abacus positions in an encoder-decoder", func(s *check.Spec) {
		s.Model.Position = check.Position{Kind: "abacus", MaxOffset: 4, Table: 12}
		s.Train.MicroBatch = 2
	}},
}

// drawn gives s random positions, and problems longer than the launches of these tests.
func drawn(s *check.Spec, inner string) {
	s.Task.Kind, s.Task.DigitsLo, s.Task.DigitsHi = "addition", 1, 4
	s.Model.Position = check.Position{Kind: "random", Inner: inner, Max: 20}
}

// ofPositions is kerple over positions.
func ofPositions() (*expr.Expr, []check.BiasParam) {
	bias, params := kerple()
	return expr.Subst(bias, map[string]*expr.Expr{"i": ivar("pi"), "j": ivar("pj")}), params
}

func TestSchemes(t *testing.T) {
	for _, v := range schemes {
		t.Run(v.name, func(t *testing.T) {
			runAll(t, build(t, v), []kernel.Scalars{
				{"B": 2, "T": 5, "S": 6, "C": 5, "P": 0, "N": 40}, {"B": 1, "T": 1, "S": 1, "C": 1, "P": 0, "N": 1},
			}, "")
		})
	}
}

// TestPositionsOfARow wants a row's loss to have the same bits in a launch as long as its text
// and in a longer launch. The draws for a row must agree.
func TestPositionsOfARow(t *testing.T) {
	p := build(t, variant{"", func(s *check.Spec) {
		schemes[0].change(s)
		s.Model.Dropout, s.Model.Loop.Self.Dropout = 0, 0
	}})
	of := func(rows float64) []float32 {
		m := launchOf(p, "gradients", randomParams(p)).run(t, kernel.Scalars{"B": 1, "T": rows, "C": rows, "WithGrad": 2})
		return m.Floats(m.e, model.Loss, 0)
	}
	sameBits(t, "loss", of(10)[:7], of(7))
}
