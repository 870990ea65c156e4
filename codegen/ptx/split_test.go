package ptx_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxrun"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/sim/simulated"
)

// TestSplitProducts wants the bits of the definition from products of halves without tensor
// cores. Products go in tiles of a whole output, in tiles of a cell, and one output after the
// other.
func TestSplitProducts(t *testing.T) {
	texts := []string{
		strings.ReplaceAll(strings.Replace(gated, "w[k, j]", "w[k, j]; split", 1), "12", "13"),
		`kernel cells matmul
  in     x f32[B * T, 21]
  in     w f32[19, 21]
  out    y f32[B * T, 19]
  scalar B, T
  span   first, height of B * T
  tile   c f32[height, 19]
  set    c[i, e] = -0.0
  dot    c[i, j] += x[first + i, k] * w[j, k]; split
  for    i = 0 until height
    reduce s = sum(c[i, e])
    set    y[first + i, e] = c[i, e] + s
  end
end
`,
		`kernel rows map
  in     x f32[B * T, 6]
  in     w f32[6, 5]
  inout  y f32[B * T, 5]
  scalar B, T
  for    r = 0 until B * T
    dot  y[r, j] += x[r, k] * w[k, j]; split
  end
end
`,
	}
	var ks []*kernel.Kernel
	for _, text := range texts {
		ks = append(ks, parsed(t, text))
	}
	var found []string
	for _, k := range ks {
		found = append(found, ptx.Choose(k, ptx.Options{}).Name)
	}
	if got, want := fmt.Sprint(found), "[product generic generic]"; got != want {
		t.Errorf("schedules %s, want %s", got, want)
	}
	for _, aligned := range []bool{false, true} {
		ptxtest.Compare(t, ks, ptx.Options{Aligned: func(*kernel.Kernel, int) bool { return aligned }}, *all)
	}
}

// TestSplitTies multiplies numbers. Half of them lie half-way between two TF32 numbers.
func TestSplitTies(t *testing.T) {
	const rows = 1000
	k := parsed(t, `kernel ties matmul
  in     x f32[1000, 1]
  in     w f32[1, 1]
  out    y f32[1000, 1]
  dot    y[i, j] = x[i, k] * w[k, j] for i < 1000, j < 1, k < 1; split
end
`)
	code, err := ptx.Module([]*kernel.Kernel{k}, ptx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	machine, err := ptxrun.New(func() (cuda.Driver, error) { return simulated.Open(ptxsim.Options{}) }, code)
	if err != nil {
		t.Fatal(err)
	}
	defer machine.Close()
	g := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, rows)
	for i := range x {
		x[i] = math.Float32frombits(0x3f800000 | g.Uint32N(1<<11)<<12)
	}
	w := []float32{math.Float32frombits(0x3f800000 | g.Uint32N(1<<23))}
	got, want := make([]float32, rows), make([]float32, rows)
	if err := kernel.Run(k, nil, []kernel.Buffer{{F: x}, {F: w}, {F: want}}); err != nil {
		t.Fatal(err)
	}
	if err := machine.Run(k.Name, nil, []kernel.Buffer{{F: x}, {F: w}, {F: got}}); err != nil {
		t.Fatal(err)
	}
	for i := range x {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%x * %x is %x, want %x", x[i], w[0], got[i], want[i])
		}
	}
}
