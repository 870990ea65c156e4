package world

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/comm/commtest"
	"github.com/arithlang/mlc/runtime/cuda"
)

// TestOwnGPU refuses ranks that share a GPU.
func TestOwnGPU(t *testing.T) {
	for _, c := range []struct {
		places [3]int
		want   string
	}{{[3]int{1, 2, 3}, ""}, {[3]int{0, 0, 0}, ""}, {[3]int{5, 7, 5}, "ranks 0 and 2 would share one GPU"}} {
		for _, err := range commtest.Run(3, commtest.Faults{}, func(w comm.World) error {
			return (&Ranks{World: w}).ownGPU(cuda.Info{Place: c.places[w.Rank()]})
		}) {
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v: %v, want %q", c.places, err, c.want)
			}
		}
	}
}
