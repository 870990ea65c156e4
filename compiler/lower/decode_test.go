package lower

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/arithlang/mlc/compiler/ir/irtest"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/opt"
)

// TestDecodedRowsAreTheForwardRows computes attention for all queries at once, and for each
// query alone with more keys. The bits must agree, including the sign of zeros.
func TestDecodedRowsAreTheForwardRows(t *testing.T) {
	for _, mask := range []string{
		"j <= i", "j <= i && i - 2 <= j", "j <= i && i - j < 12", "i - 4 <= j && j <= i - 3",
		"j <= i && (i + j) % 3 != 1", "2*j <= i && j <= i", "j < 3 && 0 <= j && j <= i", "i + 2 <= j && j <= i + 3 && j < I", "h <= j && j <= i",
	} {
		t.Run(mask, func(t *testing.T) {
			const rows, width, far = 37, 8, 14
			k := attentionKernel(t, mask)
			q, keys, values := normal(1, rows*width), normal(2, (rows+5)*width), normal(3, (rows+5)*width)
			relative, line := normal(4, rows*far), normal(5, 2*40)
			whole := attend(t, k, kernel.Scalars{"B": 1, "T": rows, "S": rows, "C": rows, "P": 0}, q, keys[:rows*width], relative, line, values[:rows*width])
			for row := range rows {
				s := kernel.Scalars{"B": 1, "T": 1, "S": rows + 5, "C": rows, "P": float64(row)}
				for e, got := range attend(t, k, s, q[row*width:][:width], keys, relative[row*far:][:far], line, values) {
					if want := whole[row*width+e]; math.Float32bits(got) != math.Float32bits(want) {
						t.Errorf("row %d, element %d: %v alone, %v among all", row, e, got, want)
					}
				}
			}
		})
	}
}

// attentionKernel returns the kernel of an attention with two heads of width 4, relative scores
// and a bias along diagonals.
func attentionKernel(t *testing.T, mask string) *kernel.Kernel {
	t.Helper()
	f := irtest.Parse(t, fmt.Sprintf("func f\n  v0 = param q input : f32[B, T, 8]\n  v1 = param k input : f32[B, S, 8]\n  v2 = param v input : f32[B, S, 8]\n"+
		"  v3 = param relative input : f32[B, T, 14]\n  v4 = param line fixed : f32[2, 40]\n"+
		"  v5 = attention v0 v1 v2 v3 v4 {heads = 2; scale = 0.5; fixed; relative = 3; parameters = line; mask = %s; bias = 0.125 * f32(i - j) + line[h, min(max(j - i + 30, 0), 39)]} : f32[B, T, 8]\n"+
		"  result y v5\nend\n", mask))
	v := f.Results[0].Value
	k, _, err := lowerGroup(&opt.Group{Anchors: f.Values[5:], Shape: v.Type.Shape, Outputs: f.Values[5:]}, &context{})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func attend(t *testing.T, k *kernel.Kernel, s kernel.Scalars, in ...[]float32) []float32 {
	t.Helper()
	var bufs []kernel.Buffer
	for _, x := range in {
		bufs = append(bufs, kernel.Buffer{F: x})
	}
	y := make([]float32, len(in[0]))
	if err := kernel.Run(k, s, append(bufs, kernel.Buffer{F: y})); err != nil {
		t.Fatal(err)
	}
	return y
}

func normal(seed uint64, n int) []float32 {
	rng := rand.New(rand.NewPCG(seed, 0))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}
