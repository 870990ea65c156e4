package ptxas_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxas"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
)

// TestShippedSpecs wants the kernels of every shipped spec accepted on every
// architecture that the module is to run on, with the shared memory that their
// entries say.
func TestShippedSpecs(t *testing.T) {
	if _, err := ptxas.Find(); err != nil {
		t.Skip(err)
	}
	specs, err := ptxtest.Shipped("../../../specs")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range ptxtest.Distinct(specs) {
		out, err := ptx.Module(s.Kernels, s.Options)
		if err != nil {
			t.Errorf("%s: %v", s.Path, err)
			continue
		}
		for _, arch := range []string{"sm_80", "sm_86", "sm_90"} {
			t.Run(filepath.Base(s.Path)+"/"+arch, func(t *testing.T) {
				t.Parallel()
				assembles(t, out, arch)
			})
		}
	}
}

func assembles(t *testing.T, out ptx.Output, arch string) {
	usage, err := ptxas.Assemble(out.Text, arch)
	if errors.Is(err, ptxas.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range out.Kernels {
		if u, ok := usage[e.Name]; !ok || u.Shared != e.Static {
			t.Errorf("%s is said to take %d bytes of static shared memory, %s gives it %d", e.Name, e.Static, arch, u.Shared)
		}
	}
}
