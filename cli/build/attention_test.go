package build

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/codegen/torch"
	"github.com/arithlang/mlc/export"
	"github.com/arithlang/mlc/internal/full"
)

// TestAttentionInPython writes a package for each bias and mask and compares its kernels, on the
// simulator, with PyTorch in float64: results, gradients, and bits of several runs.
func TestAttentionInPython(t *testing.T) {
	python := full.Needs(t, full.Python)
	full.Needs(t, full.CC)
	dir := t.TempDir()
	library := filepath.Join(dir, "libcuda.so")
	if out, err := exec.Command("go", "build", "-buildmode=c-shared", "-o", library, "../../sim/libcuda").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	all, err := ptxtest.Attentions(4, 2, 16)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		reference, err := export.Attention(a.Spec)
		if err != nil {
			t.Fatal(a.Name, err)
		}
		files, err := torch.Package(a.Attention, "mlc attention "+a.Name+".arith -o "+a.Name, reference)
		if err != nil {
			t.Fatal(a.Name, err)
		}
		for _, f := range files {
			path := filepath.Join(dir, a.Name, f.Path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, f.Data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd := exec.Command(python, "testdata/attention.py", dir)
	cmd.Env = append(os.Environ(), "MLC_LIBCUDA="+library, "MLC_LIBCUDA_MEMORY=cpu", "PYTHONDONTWRITEBYTECODE=1", "OMP_NUM_THREADS=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
