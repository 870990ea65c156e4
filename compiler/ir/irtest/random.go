package irtest

import (
	"fmt"
	"math/rand/v2"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/dsl/diag"
)

// maps are expressions over two elements. Their constants fold to the same values in
// float32 and float64.
var maps = []string{
	"x0", "x0 + x1", "x0 * x1", "x0 - x0 * 1.0", "x0 * 2.0 * 0.5", "max(x0, 0.0)", "max(x0 + x1, 0.0)",
	"where(d1 < T, x0, x1)", "where(d2 % 2 == 0, x0, -(-x1))", "tanh(x0) + 0.25", "x0 * (1.5 + 0.5)", "sigmoid(x1) * x1",
	"x0 / (x1 * x1 + 1.0)", "0.5", "exp(0.125 * x0)", "where(2 < 1, x0, x1 / 1.0)",
}

// Random returns a function of about n values over tensors [B, T, 4] with repeated,
// useless and unused work. The result y depends on the last values.
func Random(seed uint64, n int) *ir.Func {
	g := &generator{
		rng: rand.New(rand.NewPCG(seed, 3)),
		b:   ir.NewBuilder(fmt.Sprintf("random%d", seed), diag.Pos{}),
	}
	g.full = []ir.Dim{ir.Sym("B"), ir.Sym("T"), ir.N(4)}
	g.pool = []*ir.Value{g.b.Param("p0", ir.T(g.full...), ir.Input), g.b.Param("p1", ir.T(g.full...), ir.Input)}
	g.weight = g.b.Param("w", ir.T(ir.N(4), ir.N(4)), ir.Weight)
	g.gain = g.b.Param("g", ir.T(ir.N(4)), ir.Weight)
	for range n {
		g.pool = append(g.pool, g.value())
	}
	last := g.pool[len(g.pool)-1]
	g.b.Result("y", g.b.Add(last, g.pick()), false)
	g.b.Result("z", g.pick(), false)
	f, err := g.b.Func()
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return f
}

type generator struct {
	rng          *rand.Rand
	b            *ir.Builder
	full         []ir.Dim
	pool         []*ir.Value // all of shape full
	weight, gain *ir.Value
}

// pick prefers recent values.
func (g *generator) pick() *ir.Value {
	n := len(g.pool)
	return g.pool[n-1-g.rng.IntN(min(n, 5))]
}

func (g *generator) value() *ir.Value {
	x := g.pick()
	switch g.rng.IntN(9) {
	case 0:
		return g.b.Dropout(x, []float64{0, 0.25}[g.rng.IntN(2)], uint32(g.rng.IntN(2)))
	case 1:
		return g.b.MatMul(x, g.weight, false, g.rng.IntN(2) == 0)
	case 2:
		return g.b.Transpose(g.b.Transpose(x, 2, 0, 1), 1, 2, 0)
	case 3:
		apart := g.b.Reshape(x, g.full[0], g.full[1], ir.N(2), ir.N(2))
		return g.b.Reshape(apart, g.full...)
	case 4:
		return g.b.LayerNorm(x, g.gain, g.gain, 0.0625)
	case 5:
		return g.b.MapShape(g.expr([]*ir.Value{x, g.b.Keep(g.b.Sum(x, 1), x, 1)}), g.full, x, g.b.Keep(g.b.Sum(x, 1), x, 1))
	}
	args := []*ir.Value{x, g.pick()}
	return g.b.MapShape(g.expr(args), g.full, args...)
}

func (g *generator) expr(args []*ir.Value) *expr.Expr {
	e, err := expr.Parse(maps[g.rng.IntN(len(maps))], func(name string) (expr.Type, bool) {
		if name[0] == 'x' {
			return args[name[1]-'0'].Type.Elem, true
		}
		return expr.I32, true
	})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return e
}
