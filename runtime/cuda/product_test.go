package cuda_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/runtime/cuda"
)

// TestBatch combines only products in equal steps, in any order.
func TestBatch(t *testing.T) {
	at := func(left, right, plus, out cuda.Ptr) cuda.Product {
		return cuda.Product{M: 2, N: 3, K: 4, Batch: 1, Left: cuda.Matrix{At: left, Trans: true}, Right: cuda.Matrix{At: right}, Plus: cuda.Matrix{At: plus}, Out: cuda.Matrix{At: out}}
	}
	batch := func(first cuda.Product, n int, left, right, plus, out int64) cuda.Product {
		first.Batch, first.Left.Step, first.Right.Step, first.Plus.Step, first.Out.Step = n, left, right, plus, out
		return first
	}
	replicas := at(100, 200, 0, 300)
	replicas.Batch = 2
	for name, c := range map[string]struct {
		all  []cuda.Product
		want cuda.Product // without products: not combined
	}{
		"one":              {[]cuda.Product{at(100, 200, 0, 300)}, cuda.Product{}},
		"steps":            {[]cuda.Product{at(100, 200, 0, 300), at(110, 200, 0, 330), at(120, 200, 0, 360)}, batch(at(100, 200, 0, 300), 3, 10, 0, 0, 30)},
		"backwards":        {[]cuda.Product{at(120, 240, 360, 360), at(110, 220, 330, 330)}, batch(at(110, 220, 330, 330), 2, 10, 20, 30, 30)},
		"another order":    {[]cuda.Product{at(100, 240, 0, 300), at(110, 220, 0, 330)}, cuda.Product{}},
		"an unequal step":  {[]cuda.Product{at(100, 200, 0, 300), at(110, 200, 0, 330), at(121, 200, 0, 360)}, cuda.Product{}},
		"with replicas":    {[]cuda.Product{replicas, replicas}, cuda.Product{}},
		"another's addend": {[]cuda.Product{at(100, 200, 300, 300), at(110, 200, 290, 330)}, cuda.Product{}},
	} {
		got, ok := cuda.Batch(c.all)
		if ok != (c.want.Batch > 0) {
			t.Errorf("%s: %t", name, ok)
		} else if diff := cmp.Diff(c.want, got); ok && diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
