package lower_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/dsl/diag"
)

// TestRoundedModels runs every function of models as kernels and as tensors in float64, which
// also round to BF16.
func TestRoundedModels(t *testing.T) {
	shapes := []kernel.Scalars{{"B": 2, "T": 5, "S": 6, "C": 5, "P": 0, "N": 64}}
	for _, precision := range []string{"bf16", "tf32x3"} {
		for _, v := range slices.Concat(variants, loops) {
			rounded := variant{v.name, func(s *check.Spec) {
				v.change(s)
				s.Train.Precision = precision
			}}
			t.Run(precision+"/"+v.name, func(t *testing.T) { runAll(t, build(t, rounded), shapes, "") })
		}
	}
}

// TestRoundedProducts compares products of BF16 factors and of split F32 factors with float64.
// The error may be 2^-23 (2 + K/8) times the sum of the products' magnitudes, plus a unit in
// the last place of the stored result. Two halves of a number lack 2^-23 of it. The omitted
// product of two low halves is 2^-22 of the factors' product.
func TestRoundedProducts(t *testing.T) {
	for _, c := range []struct {
		name, k string
		a, b    ir.Type
		product func(b *ir.Builder, x, y *ir.Value) *ir.Value
		rows    func(r, e, k int) (x, y int) // the elements that output r, e multiplies
	}{
		{"linear", "K = 200", ir.Rounded(ir.Sym("B"), ir.N(200)), ir.Rounded(ir.N(200), ir.N(6)),
			func(b *ir.Builder, x, y *ir.Value) *ir.Value { return b.MatMul(x, y, false, false) },
			func(r, e, k int) (x, y int) { return r*200 + k, k*6 + e }},
		{"transposed", "K = 6", ir.Rounded(ir.Sym("B"), ir.N(6)), ir.Rounded(ir.N(200), ir.N(6)),
			func(b *ir.Builder, x, y *ir.Value) *ir.Value { return b.MatMul(x, y, false, true) },
			func(r, e, k int) (x, y int) { return r*6 + k, e*6 + k }},
		{"outer", "K = B", ir.Rounded(ir.Sym("B"), ir.N(6)), ir.Rounded(ir.Sym("B"), ir.N(200)),
			func(b *ir.Builder, x, y *ir.Value) *ir.Value { return b.Outer(x, y) },
			func(r, e, k int) (x, y int) { return k*6 + r, k*200 + e }},
	} {
		for _, form := range []string{"summed", "stored", "split"} {
			t.Run(c.name+"/"+form, func(t *testing.T) {
				const batch = 300
				b := ir.NewBuilder("f", diag.Pos{})
				if form == "split" {
					c.a.Elem, c.b.Elem = expr.F32, expr.F32
				}
				y := c.product(b, b.Param("x", c.a, ir.Input), b.Param("y", c.b, ir.Input))
				y.Attr.Split = form == "split"
				rank, last := y.Type.Shape[0], y.Type.Shape[1].N
				ulp, lost := 0x1p-23, 0.0
				if y.Attr.Split {
					lost = 4 * 0x1p-23
				}
				if form == "stored" && c.name != "outer" {
					y, ulp = b.Round(y), 0x1p-7
				}
				b.Result("z", y, false)
				m, e := product(t, b)
				s := kernel.Scalars{"B": batch}
				m.Prepare(e, s)
				rng := rand.New(rand.NewPCG(7, 7))
				for _, name := range []string{"x", "y"} {
					in := m.Buffer(e, lower.Arg{Ref: plan.At(name, 0)}, 0, s)
					for i := range in.H {
						in.H[i] = uint16(math.Float32bits(float32(rng.NormFloat64())) >> 16)
					}
					for i := range in.F {
						in.F[i] = float32(rng.NormFloat64())
					}
				}
				if err := m.Run(e, s); err != nil {
					t.Fatal(err)
				}
				at := func(b kernel.Buffer, i int) float64 {
					if b.H != nil {
						return float64(expr.Widen(expr.BF16, b.H[i]))
					}
					return float64(b.F[i])
				}
				x, w := m.Buffer(e, lower.Arg{Ref: plan.At("x", 0)}, 0, s), m.Buffer(e, lower.Arg{Ref: plan.At("y", 0)}, 0, s)
				depth := map[string]int{"K = 200": 200, "K = 6": 6, "K = B": batch}[c.k]
				rows, _ := rank.Size(map[string]int{"B": batch})
				got := m.Buffer(e, lower.Arg{Ref: plan.At("z", 0)}, 0, s)
				for i := range rows * last {
					sum, magnitudes := 0.0, 0.0
					for k := range depth {
						left, right := c.rows(i/last, i%last, k)
						p := at(x, left) * at(w, right)
						sum, magnitudes = sum+p, magnitudes+math.Abs(p)
					}
					z := at(got, i)
					bound := (0x1p-23*(2+float64(depth)/8)+lost)*magnitudes + ulp*math.Abs(sum)
					if d := math.Abs(z - sum); !(d <= bound) {
						t.Fatalf("element %d is %g, want %g: %g apart, %g are allowed", i, z, sum, d, bound)
					}
				}
			})
		}
	}
}

// product lowers a function of x and y to z by itself.
func product(t *testing.T, b *ir.Builder) (*lower.Machine, *lower.Entry) {
	t.Helper()
	f, err := b.Func()
	if err != nil {
		t.Fatal(err)
	}
	p := &plan.Program{Name: "forward", Memory: "forward"}
	call := &plan.Call{Func: f, Args: map[string]plan.Ref{"x": plan.At("x", 0), "y": plan.At("y", 0)}, Results: map[string]plan.Ref{"z": plan.At("z", 0)}}
	for i, name := range []string{"x", "y"} {
		p.Buffers = append(p.Buffers, &plan.Buffer{Name: name, Type: f.Params[i].Type, Count: 1})
	}
	p.Buffers = append(p.Buffers, &plan.Buffer{Name: "z", Type: f.Results[0].Value.Type, Count: 1})
	p.Body = []plan.Stmt{call}
	l, err := lower.Lower(&plan.Plan{Programs: []*plan.Program{p}})
	if err != nil {
		t.Fatal(err)
	}
	return lower.NewMachine(l), l.Entry("forward")
}
