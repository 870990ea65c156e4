package ptx_test

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
	"github.com/arithlang/mlc/internal/full"
)

// TestFarScores has scores so far apart that most weights are 0 and a row's maximum has to be
// right. One of the launches of a gradient has a sum that underflows to -0 before the last
// keys, which are closed.
func TestFarScores(t *testing.T) {
	launches := func(lengths ...float64) (all []kernel.Scalars) {
		for _, n := range lengths {
			s := maps.Clone(kerneltest.Launches()[1])
			s["B"], s["T"], s["S"], s["P"], s["C"] = 1, n, n+5, 0, n
			all = append(all, s)
		}
		return all
	}
	text, err := os.ReadFile("mutate/testdata/attention.kir")
	if err != nil {
		t.Fatal(err)
	}
	ks, err := kernel.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	kinds, o := []kerneltest.Kind{kerneltest.Large}, ptx.Options{Aligned: always}
	ptxtest.CompareOn(t, kinds, ks, o, *all, launches(full.Some([]float64{40, 100, 140}, 1)...)...)
	underflow := slices.IndexFunc(ks, func(k *kernel.Kernel) bool { return k.Name == "windowed_grad" })
	ptxtest.CompareOn(t, kinds, ks[underflow:][:1], o, *all, launches(slices.Repeat([]float64{70}, full.Either(1, 14))...)...)
}
