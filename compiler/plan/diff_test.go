package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/dsl/diag"
)

func must(t *testing.T, b *ir.Builder) *ir.Func {
	t.Helper()
	f, err := b.Func()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestDifferentiate runs a loop of y = x W * s twice and reads s in every iteration.
// Calls add to the gradient of s and overwrite the gradient of x.
func TestDifferentiate(t *testing.T) {
	rows := ir.T(ir.Sym("B"), ir.N(4))
	layer := ir.NewBuilder("layer", diag.Pos{})
	x, s := layer.Param("x", rows, ir.Input), layer.Param("s", rows, ir.Input)
	w := layer.Param("w", ir.T(ir.N(4), ir.N(4)), ir.Weight)
	layer.Result("y", layer.Mul(layer.Label(layer.MatMul(x, w, false, false), "xw"), s), false)

	loss := ir.NewBuilder("loss", diag.Pos{})
	loss.Result("loss", loss.Sum(loss.Param("x", rows, ir.Input), 1), false)
	seed := ir.NewBuilder("one", diag.Pos{})
	seed.Result("one", seed.MapShape(expr.F(1), []ir.Dim{ir.Sym("B")}), false)

	p := &Program{Name: "forward", Buffers: []*Buffer{
		{Name: "x", Type: rows, Count: 3}, {Name: "s", Type: rows, Count: 1}, {Name: "loss", Type: ir.T(ir.Sym("B")), Count: 1},
	}, Body: []Stmt{
		&Loop{N: 2, Body: []*Call{{Func: must(t, layer), Group: "g",
			Args: map[string]Ref{"x": AtLayer("x", 0), "s": At("s", 0)}, Results: map[string]Ref{"y": AtLayer("x", 1)}}}},
		&Call{Func: must(t, loss), Args: map[string]Ref{"x": At("x", 2)}, Results: map[string]Ref{"loss": At("loss", 0)}},
	}}
	got, err := Differentiate("gradients", "", p, map[string]*ir.Func{"loss": must(t, seed)})
	if err != nil {
		t.Fatal(err)
	}
	want := `program gradients
  buffer x : f32[B, 4] x 3
  buffer s : f32[B, 4]
  buffer loss : f32[B]
  buffer xw : f32[B, 4] x 2
  buffer d.x : f32[B, 4] x 2
  buffer d.s : f32[B, 4] zero
  buffer d.loss : f32[B]
  for l < 2
    layer(x=x[l], s=s, g) -> y=x[l+1], save.3=xw[l]
  loss(x=x[2]) -> loss=loss
  one() -> one=d.loss
  loss_back(d.loss=d.loss) -> d.x=d.x
  for l < 2 down
    layer_back(x=x[l], s=s, save.3=xw[l], d.y=d.x[(l+1) % 2], g) -> d.x=d.x[l % 2], d.s+=d.s
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestDifferentiateRuns starts a chain with s, runs it without and then with gradients,
// and reads s each time. The gradient of s through the start exists only if there are no
// runs without gradients.
func TestDifferentiateRuns(t *testing.T) {
	rows := ir.T(ir.Sym("B"), ir.N(4))
	start := ir.NewBuilder("start", diag.Pos{})
	start.Result("x", start.Map(expr.New(expr.Mul, ir.X(0, expr.F32), expr.F(2)), start.Param("s", rows, ir.Input)), false)
	layer := func(name string) *ir.Func {
		b := ir.NewBuilder(name, diag.Pos{})
		x, s := b.Param("x", rows, ir.Input), b.Param("s", rows, ir.Input)
		w := b.Param("w", ir.T(ir.N(4), ir.N(4)), ir.Weight)
		b.Result("y", b.MatMul(b.Add(x, s), w, false, false), false)
		return must(t, b)
	}
	loss := ir.NewBuilder("loss", diag.Pos{})
	loss.Result("loss", loss.Sum(loss.Param("x", rows, ir.Input), 1), false)
	seed := ir.NewBuilder("one", diag.Pos{})
	seed.Result("one", seed.MapShape(expr.F(1), []ir.Dim{ir.Sym("B")}), false)

	turn := func(off int) Ref { return Ref{Buffer: "x", InLoop: true, Off: off, N: 3, Runs: NoGrad, Mod: 2} }
	p := &Program{Name: "forward", Buffers: []*Buffer{
		{Name: "x", Type: rows, Count: 7}, {Name: "s", Type: rows, Count: 1}, {Name: "loss", Type: ir.T(ir.Sym("B")), Count: 1},
	}, Body: []Stmt{
		&Call{Func: must(t, start), Args: map[string]Ref{"s": At("s", 0)}, Results: map[string]Ref{"x": After("x", 3, NoGrad).Turn()}},
		&Loop{N: 3, Runs: NoGrad, Body: []*Call{{Func: layer("layer_no_grad"), Group: "g",
			Args: map[string]Ref{"x": turn(0), "s": At("s", 0)}, Results: map[string]Ref{"y": turn(1)}}}},
		&Loop{N: 3, Runs: WithGrad, Most: 2, Body: []*Call{{Func: layer("layer"), Group: "g",
			Args: map[string]Ref{"x": AtLayer("x", 0), "s": At("s", 0)}, Results: map[string]Ref{"y": AtLayer("x", 1)}}}},
		&Call{Func: must(t, loss), Args: map[string]Ref{"x": After("x", 3, WithGrad)}, Results: map[string]Ref{"loss": At("loss", 0)}},
	}}
	got, err := Differentiate("gradients", "", p, map[string]*ir.Func{"loss": must(t, seed)})
	if err != nil {
		t.Fatal(err)
	}
	want := `program gradients
  buffer x : f32[B, 4] x 7
  buffer s : f32[B, 4]
  buffer loss : f32[B]
  buffer d.x : f32[B, 4] x 2
  buffer d.s : f32[B, 4] zero
  buffer d.loss : f32[B]
  start(s=s) -> x=x[3*no_grad % 2]
  for l < 3*no_grad
    layer_no_grad(x=x[(l+3*no_grad) % 2], s=s, g) -> y=x[(l+3*no_grad+1) % 2]
  for l < 3*with_grad
    layer(x=x[l], s=s, g) -> y=x[l+1]
  loss(x=x[3*with_grad]) -> loss=loss
  one() -> one=d.loss
  loss_back(d.loss=d.loss) -> d.x=d.x[3*with_grad % 2]
  for l < 3*with_grad down
    layer_back(x=x[l], s=s, d.y=d.x[(l+1) % 2], g) -> d.x=d.x[l % 2], d.s+=d.s
  start_back(d.x=d.x) -> d.s+=d.s unless no_grad
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestRefIndex: the tensor that a loop leaves, and an alternating pair that ends at its
// first tensor.
func TestRefIndex(t *testing.T) {
	in := Ref{Buffer: "x", InLoop: true, N: 3, Runs: NoGrad, Mod: 2}
	for runs := range 4 {
		if i := After("x", 3, NoGrad).Turn().Index(0, runs); i != in.Index(0, runs) {
			t.Errorf("%d runs begin at %d, the loop reads %d", runs, i, in.Index(0, runs))
		}
		if end := in.Index(3*runs, runs); end != 0 {
			t.Errorf("%d runs end at tensor %d", runs, end)
		}
	}
	if i := After("x", 3, WithGrad).Index(0, 2); i != 6 {
		t.Errorf("two runs of three layers leave tensor %d", i)
	}
}

func TestNumParamsPlacesGroups(t *testing.T) {
	p := &Plan{Groups: []*Group{
		{Name: "a", Layers: 1, Params: []Param{{Name: "w", Shape: []int{2, 3}}, {Name: "c"}}},
		{Name: "b", Layers: 3, Params: []Param{{Name: "w", Shape: []int{5}}}},
	}}
	if n := p.NumParams(); n != 7+15 {
		t.Errorf("%d parameters", n)
	}
	if p.Group("b").Off != 7 || p.Group("a").Stride != 7 {
		t.Errorf("group b at %d, stride of a %d", p.Group("b").Off, p.Group("a").Stride)
	}
	if off, ok := p.Group("a").ParamOff("c"); !ok || off != 6 {
		t.Errorf("a.c at %d, %v", off, ok)
	}
}
