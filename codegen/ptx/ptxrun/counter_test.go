package ptxrun

import (
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/ptxsim"
)

// TestCounter compares the counts of a kernel with counts by hand. The kernel reads and writes
// rows of 32 elements of 4 bytes; each row is a request of 4 sectors. A launch of no rows has no
// counts.
func TestCounter(t *testing.T) {
	ks, err := kernel.Parse(`kernel double map
	in     x f32[B, 32]
	out    y f32[B, 32]
	scalar B
	grid   b < B
	set    y[b, j] = x[b, j] * 2.0 for j < 32
	end`)
	if err != nil {
		t.Fatal(err)
	}
	code, err := ptx.Module(ks, ptx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCounter(code)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	x, y := kernel.Buffer{F: make([]float32, 1024)}, kernel.Buffer{F: make([]float32, 1024)}
	x.F[1000] = 3
	for _, n := range []int{32, 0} {
		s, err := c.Run("double", kernel.Scalars{"B": float64(n)}, []kernel.Buffer{{F: x.F[:32*n]}, {F: y.F[:32*n]}})
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			if s.Counts != nil {
				t.Errorf("a launch of nothing has counts: %+v", s.Counts)
			}
			continue
		}
		want := ptxsim.Traffic{Requests: 32, Sectors: 128, Bytes: 4096}
		if s.Counts.Loads != want || s.Counts.Stores != want || s.Counts.Fetched != 4096 || s.Counts.Kept != 4096 {
			t.Errorf("%+v", s.Counts)
		}
		if y.F[1000] != 6 {
			t.Errorf("computed %v, want 6", y.F[1000])
		}
	}
}
