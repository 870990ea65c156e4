package counted_test

import (
	"math"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/sim/counted"
)

// TestReport reports two steps of three kernels: one of the model, one of unknown cost, and one
// of the runtime.
func TestReport(t *testing.T) {
	r := newRig(t)
	m, err := r.Load(cuda.MovePTX)
	r.must(err)
	clearing, err := m.Function("clear")
	r.must(err)
	args := make([]byte, 288)
	args[16], args[20] = 100, 3 // elements, and replicas, of the first set
	for range 2 {
		r.must(r.launch(1000, 20, 2, 24<<10), r.launch(3000, 60, 1, 0), r.other.Launch([3]int{7, 1, 1}, [3]int{32, 1, 1}, 0, nil),
			clearing.Launch([3]int{1, 3, 1}, [3]int{256, 1, 1}, 0, args), r.Synchronize())
	}
	got := r.Report("model", r.Counts(), 2)
	if got.Plan != 2+1+1 || got.Launches != 4 || got.Calls != 4 || got.Waits != 1 || got.Steps != 2 || got.SMs != 10 {
		t.Errorf("%+v", got)
	}
	// 2000 elements in 40 blocks are 6000 FLOP and 16 µs, 3000 in 60 are 9000 and 24 µs.
	k := got.Kernels[0]
	want := counted.Use{Name: "scale", Launches: 2, Least: 40, Mean: 50, Most: 60, Weighted: (40*6000 + 60*9000) / 15000., Threads: 64, Static: 1000, Dynamic: 24 << 10,
		Registers: 40, Resident: 6, Waves: 52. / (6 * 10), Flops: 15000, Bytes: 40000, Bound: 40e-6, Share: 40e-6 / got.Bound}
	if k != want {
		t.Errorf("%+v\nwant %+v", k, want)
	}
	share, own := 0.0, 0
	for _, k := range got.Kernels {
		share += k.Share
		if k.Own {
			own++
			if k.Name != "clear" || k.Bytes != 4*3*100 || k.Flops != 0 || k.Weighted != 3 {
				t.Errorf("%+v", k)
			}
		}
	}
	if math.Abs(share-1) > 1e-9 || own != 1 || got.Blocks != 52 {
		t.Errorf("shares add up to %g, %d kernels are the runtime's, launches have %g blocks by FLOP", share, own, got.Blocks)
	}
	_, table, _ := strings.Cut(got.String(), "\n\n")
	rows := strings.Split(strings.Split(table, "\n\n")[0], "\n")
	for _, row := range rows[1:] {
		if len(row) != len(rows[1]) {
			t.Errorf("a row is not aligned:\n%s\n%s", rows[1], row)
		}
	}
}
