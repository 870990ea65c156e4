package ptx_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxrun"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
	"github.com/arithlang/mlc/ptxsim"
)

// shipped returns the kernels of a spec that such accepts.
func shipped(t *testing.T, path string, such func(k *kernel.Kernel) bool) []*kernel.Kernel {
	t.Helper()
	specs, err := ptxtest.Shipped(path)
	if err != nil {
		t.Fatal(err)
	}
	var ks []*kernel.Kernel
	for _, s := range specs {
		ks = append(ks, slices.DeleteFunc(slices.Clone(s.Kernels), func(k *kernel.Kernel) bool { return !such(k) })...)
	}
	if len(ks) == 0 {
		t.Fatalf("%s has no such kernel", path)
	}
	return ks
}

// counted returns the counts of a launch with aligned buffers, and the bytes of its buffers.
func counted(t *testing.T, k *kernel.Kernel, s kernel.Scalars) (n *ptxsim.Counts, floor int64) {
	t.Helper()
	code, err := ptx.Module([]*kernel.Kernel{k}, ptx.Options{Aligned: always})
	if err != nil {
		t.Fatal(err)
	}
	c, err := ptxrun.NewCounter(code)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	bufs, _, err := kerneltest.Interpret(k, s, kerneltest.Signed, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	stats, err := c.Run(k.Name, s, bufs)
	if err != nil {
		t.Fatal(err)
	}
	return stats.Counts, int64(cost.Value(cost.Bytes(k), s))
}

// asked returns the bytes of the sectors that warps ask of global memory.
func asked(n *ptxsim.Counts) int64 { return 32 * (n.Loads.Sectors + n.Stores.Sectors) }

// TestColumnCounts wants sums over rows of shipped models to read each row once. Every block of
// columns reads its part, and the single values of each row.
func TestColumnCounts(t *testing.T) {
	for _, k := range shipped(t, "../../specs/looped8x2.arith", func(k *kernel.Kernel) bool {
		columns := slices.ContainsFunc(k.Params, func(p kernel.Param) bool {
			last := len(p.Shape) - 1
			return p.Mode != kernel.In && last >= 0 && p.Shape[last].IsConst() && p.Shape[last].I > 1
		})
		return columns && ptx.Choose(k, ptx.Options{}).Name == "columns"
	}) {
		n, floor := counted(t, k, kernel.Scalars{"B": 2, "T": 64, "R": 128})
		if got := asked(n); 3*got > 4*floor {
			t.Errorf("%s asks for %d bytes, its buffers have %d\n%s", k.Name, got, floor, k)
		}
	}
}

// TestSegmentCounts wants sums of an arena's segments to need one request for 128 elements. Only
// some rows next to the last segment, which is no multiple of four, may have more.
func TestSegmentCounts(t *testing.T) {
	const segments = 64
	for _, k := range append(shipped(t, "../../specs/looped8x2.arith", func(k *kernel.Kernel) bool { return k.Kind == "segment_sum" }), squares(t)) {
		n, floor := counted(t, k, kernel.Scalars{"N": (segments-1)*1024 + 999})
		if got := asked(n); 100*got > 105*floor {
			t.Errorf("%s asks for %d bytes, its buffers have %d\n%s", k.Name, got, floor, k)
		}
		if got, want := n.Loads.Requests, int64(segments*1024/128+40); got > want {
			t.Errorf("%s: %d requests, want %d", k.Name, got, want)
		}
	}
}

// TestRowCounts wants norms to read each element of a row once for all their sums.
func TestRowCounts(t *testing.T) {
	const rows, width = 8, 1024
	for _, k := range shipped(t, "../../specs/looped8x2.arith", func(k *kernel.Kernel) bool { return strings.HasPrefix(k.Kind, "layernorm") }) {
		n, _ := counted(t, k, kernel.Scalars{"B": 2, "T": 4, "R": rows})
		want := int64(0) // a sector for each single value of a row
		for _, b := range k.Params {
			switch {
			case b.Mode == kernel.Scalar:
			case expr.IsInt(b.Shape[len(b.Shape)-1], width):
				want += 4 * rows * width
			default:
				want += 32 * rows
			}
		}
		if got := asked(n); got != want {
			t.Errorf("%s asks for %d bytes, want %d\n%s", k.Name, got, want, k)
		}
	}
}
