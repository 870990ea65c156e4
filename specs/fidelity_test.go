package specs

import (
	"math"
	"os"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/ir/irtest"
)

// TestDrawnPositions holds figure 21 to the positions of the authors' code: 125 of 128,
// so that a problem of 30 tokens ends at 29.7 on average, whatever it is computed with.
// The n-th smallest of k numbers of 0 … m-1 is n(m+1)/(k+1) - 1 on average.
func TestDrawnPositions(t *testing.T) {
	spec, list := check.Resolve(check.Options{Path: "abacus/figure21.arith", Read: os.ReadFile})
	silent(t, "abacus/figure21.arith", list)
	p, n := spec.Model.Position, spec.DrawnPositions()
	if n != 125 || p.Max != 128 {
		t.Fatalf("%d of %d positions are drawn, want 125 of 128", n, p.Max)
	}
	b := ir.NewBuilder("positions", spec.Model.Pos)
	b.Result("y", b.Subset(p.Max, n, spec.DrawGroup(), 1, ir.Sym("T")), false)
	f, err := b.Func()
	if err != nil {
		t.Fatal(err)
	}
	const tokens, steps = 30, 5000
	last := func(rows int) (mean float64) {
		for step := range uint32(steps) {
			got := irtest.Eval(t, f, ir.Env{Dims: map[string]int{"T": rows}, Step: step}, nil)[0]
			mean += float64(got.I[tokens-1]) / steps
		}
		return mean
	}
	short, long := last(tokens), last(124)
	if want := 30.*129/126 - 1; short != long || math.Abs(short-want) > 0.05 {
		t.Errorf("a problem of %d tokens ends at %.2f alone and at %.2f beside a longer one, want %.2f", tokens, short, long, want)
	}
}

// TestRampOfFigure6 wants the batch to begin with what eight GPUs compute at once.
func TestRampOfFigure6(t *testing.T) {
	spec, list := check.Resolve(check.Options{Path: "abacus/figure6.arith", Read: os.ReadFile})
	silent(t, "abacus/figure6.arith", list)
	if tr := spec.Train; tr.RampFrom != 8*tr.MicroBatch || tr.Examples != 400e6 || tr.Batch != 8192 || tr.Ramp != 0.6 {
		t.Errorf("%d examples from steps of %d to steps of %d, over %g of them", tr.Examples, tr.RampFrom, tr.Batch, tr.Ramp)
	}
}
