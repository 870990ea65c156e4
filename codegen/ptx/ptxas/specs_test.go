package ptxas_test

import (
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
)

// TestShippedSpecs wants the kernels of every shipped spec accepted on every architecture of
// Archs. Their shared memory must be as their entries say, and at most 1 in 25 may spill. It
// assembles only kernels whose PTX is not on the committed list, and the smallest spec on one
// architecture.
func TestShippedSpecs(t *testing.T) {
	list := ptxtest.ReadAssembled(t, "testdata/assembled.txt")
	specs, err := ptxtest.Shipped("../../../specs")
	if err != nil {
		t.Fatal(err)
	}
	var kernels, spilling atomic.Int64
	t.Run("specs", func(t *testing.T) {
		for _, s := range ptxtest.Distinct(specs) {
			out, err := ptx.Module(s.Kernels, s.Options)
			if err != nil {
				t.Errorf("%s: %v", s.Path, err)
				continue
			}
			for i, arch := range ptxtest.Archs {
				t.Run(filepath.Base(s.Path)+"/"+arch, func(t *testing.T) {
					t.Parallel()
					usage, err := list.Usage(s.Kernels, s.Options, arch, i == 0 && filepath.Base(s.Path) == "tiny.arith")
					if err != nil {
						t.Fatal(err)
					}
					for _, e := range out.Kernels {
						kernels.Add(1)
						u := usage[e.Name]
						if u.Shared != e.Static {
							t.Errorf("%s is said to take %d bytes of static shared memory, %s gives it %d", e.Name, e.Static, arch, u.Shared)
						}
						if u.SpillStores > 0 {
							spilling.Add(1)
						}
					}
				})
			}
		}
	})
	if n, all := spilling.Load(), kernels.Load(); n*25 > all {
		t.Errorf("%d of %d kernels spill registers", n, all)
	}
	list.Update(t)
}
