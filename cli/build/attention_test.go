package build

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/codegen/torch"
	"github.com/arithlang/mlc/export"
	"github.com/arithlang/mlc/internal/full"
)

// pythonWith runs a Python program that imports packages from a folder.
func pythonWith(t *testing.T, dir string, env []string, args ...string) {
	t.Helper()
	cmd := exec.Command(full.Needs(t, full.Python), args...)
	cmd.Env = append(append(os.Environ(), "PYTHONPATH="+dir, "PYTHONDONTWRITEBYTECODE=1", "OMP_NUM_THREADS=1"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestAttentionExamples runs the examples of docs/attention.md, and a short training of each model in
// python/examples.
func TestAttentionExamples(t *testing.T) {
	full.Needs(t, full.Python)
	page, err := os.ReadFile("../../docs/attention.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := func(language string, count int) []string {
		all := strings.Split(string(page), "```"+language+"\n")[1:]
		if len(all) != count {
			t.Fatalf("docs/attention.md has %d blocks of %s, want %d", len(all), language, count)
		}
		for i := range all {
			all[i], _, _ = strings.Cut(all[i], "```")
		}
		return all
	}
	dir := t.TempDir()
	spec := filepath.Join(dir, "kerple.arith")
	if err := os.WriteFile(spec, []byte(blocks("arith", 1)[0]), 0o644); err != nil {
		t.Fatal(err)
	}
	sh := &shell.Shell{Context: t.Context(), Out: io.Discard, Err: os.Stderr}
	small := []string{"attention.heads=4", "attention.width=16"}
	for _, c := range []Attention{
		{File: spec, Out: filepath.Join(dir, "kerple")},
		{File: "../../specs/attention/t5.arith", Out: filepath.Join(dir, "t5"), Set: small},
		{File: "../../specs/attention/given.arith", Out: filepath.Join(dir, "pairs")},
		{File: "../../specs/attention/given.arith", Out: filepath.Join(dir, "small", "pairs"), Set: small},
	} {
		if err := c.Write(sh); err != nil {
			t.Fatal(err)
		}
	}
	for _, program := range blocks("python", 3) {
		pythonWith(t, dir, nil, "-c", program)
	}
	pythonWith(t, dir, nil, "../../python/examples/copy_digits.py", "--steps", "3", "--device", "cpu")
	pythonWith(t, filepath.Join(dir, "small"), nil, "../../python/examples/pair_bias.py", "--steps", "3", "--device", "cpu")
}

// TestAttentionInPython writes a package for each bias and mask and compares its kernels, on the
// simulator, with PyTorch in float64: results, gradients, and bits of several runs.
func TestAttentionInPython(t *testing.T) {
	full.Needs(t, full.Python)
	full.Needs(t, full.CC)
	dir := t.TempDir()
	library := filepath.Join(dir, "libcuda.so")
	if out, err := exec.Command("go", "build", "-buildmode=c-shared", "-o", library, "../../sim/libcuda").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	all, err := ptxtest.Attentions(4, 2, 16, ptxtest.Each)
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
	pythonWith(t, dir, []string{"MLC_LIBCUDA=" + library, "MLC_LIBCUDA_MEMORY=cpu"}, "testdata/attention.py", dir)
}
