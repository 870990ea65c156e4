package ptxas_test

import (
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxas"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
)

// TestShippedSpecs wants the kernels of every shipped spec accepted on every
// architecture that the module is to run on, with the shared memory that their
// entries say, and few of them without registers enough.
func TestShippedSpecs(t *testing.T) {
	if _, err := ptxas.Find(); err != nil {
		t.Skip(err)
	}
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
			for _, arch := range []string{"sm_80", "sm_89", "sm_90", "sm_120"} {
				t.Run(filepath.Base(s.Path)+"/"+arch, func(t *testing.T) {
					t.Parallel()
					kernels.Add(int64(len(out.Kernels)))
					spilling.Add(assembles(t, out, arch))
				})
			}
		}
	})
	if n, all := spilling.Load(), kernels.Load(); n*30 > all {
		t.Errorf("%d of %d kernels spill registers", n, all)
	}
}

// assembles counts the kernels that spill registers.
func assembles(t *testing.T, out ptx.Output, arch string) (spilling int64) {
	usage, err := ptxas.Assemble(out.Text, arch)
	if errors.Is(err, ptxas.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range out.Kernels {
		u, ok := usage[e.Name]
		if !ok || u.Shared != e.Static {
			t.Errorf("%s is said to take %d bytes of static shared memory, %s gives it %d", e.Name, e.Static, arch, u.Shared)
		}
		if u.SpillStores > 0 {
			spilling++
		}
	}
	return spilling
}
