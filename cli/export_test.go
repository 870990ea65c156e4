package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/cli/runtest"
	"github.com/arithlang/mlc/internal/full"
)

// TestExport writes each form, overwrites nothing, and leaves nothing half written. Package
// export tests the content of the files.
func TestExport(t *testing.T) {
	run := runtest.Untrained(t, "../specs/successor.arith", "model.width=16")
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	do := func(args ...string) (code int, err string) {
		var out, said bytes.Buffer
		code = Run(nil, append([]string{"export"}, args...), &out, &said)
		return code, said.String()
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{run, "--format", "python", "-o", in("torch.py")}, []string{"torch.py"}},
		{[]string{run, "--format", "numpy", "-o", in("new/plain.py"), "--store", "beside"}, []string{"plain.py", "plain.safetensors"}},
		{[]string{run, "--format", "onnx", "-o", in("model.onnx")}, []string{"model.onnx"}},
		{[]string{run, "--format", "hf", "-o", in("some/model")}, []string{"README.md", "config.json", "generation_config.json", "model.safetensors", "modeling_mlc.py", "tokenizer.json", "tokenizer_config.json"}},
	} {
		if code, said := do(c.args...); code != 0 || !strings.Contains(said, "wrote "+c.args[4]+": 22,065 parameters") {
			t.Errorf("%q: exit %d: %s", c.args, code, said)
		}
		folder := filepath.Dir(c.args[4])
		if c.args[2] == "hf" {
			folder = c.args[4]
		}
		for _, name := range c.want {
			if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Size() == 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
		if code, said := do(c.args...); code != 1 || !strings.Contains(said, "--force") {
			t.Errorf("again: exit %d: %s", code, said)
		}
		if code, said := do(append(c.args, "--force")...); code != 0 {
			t.Errorf("again, by force: exit %d: %s", code, said)
		}
	}
	text, err := os.ReadFile(in("torch.py"))
	if err != nil || !strings.Contains(string(text), "mlc export "+run+" --format python --out ") {
		t.Errorf("the file does not say how it came to be: %v", err)
	}
	entries := func() (names []string) {
		filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error { names = append(names, path); return err })
		return names
	}
	before := entries()
	other := runtest.Untrained(t, "../specs/successor.arith", "model.width=32")
	if err := os.RemoveAll(filepath.Join(other, "ckpt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(runtest.Untrained(t, "../specs/kerple.arith"), "ckpt"), filepath.Join(other, "ckpt")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{run, "--format", "gguf", "-o", in("x")}, 2, "--format must be one of"},
		{[]string{run, "--format", "python", "-o", in("x.txt")}, 2, "ends with .py"},
		{[]string{run, "--format", "onnx", "-o", in("x.onnx"), "--store", "inside"}, 2, "--store is for Python files"},
		{[]string{run, "--format", "numpy", "-o", in("x.py"), "--store", "literals"}, 1, "the model has 22065 parameters, and at most 10000"},
		{[]string{run, "--format", "python", "-o", in("x.py"), "--times", "3"}, 2, "this model has no loop"},
		{[]string{run, "--format", "python", "-o", in("x.py"), "--best"}, 1, "has no best checkpoint"},
		{[]string{run, "--format", "python", "-o", in("x.py"), "--average"}, 1, "keeps no averaged weights"},
		{[]string{in("nowhere"), "--format", "python", "-o", in("x.py")}, 1, "is no run directory"},
		{[]string{other, "--format", "python", "-o", in("x.py")}, 1, "belongs to another run"},
		{[]string{run, "--format", "hf", "-o", in("torch.py")}, 1, "torch.py"},
	} {
		if code, said := do(c.args...); code != c.code || !strings.Contains(said, c.want) {
			t.Errorf("%q: exit %d, want %d and %q: %s", c.args[1:], code, c.code, c.want, said)
		}
	}
	if after := entries(); !slices.Equal(before, after) {
		t.Errorf("what failed has left files: %q, before %q", after, before)
	}
}

// TestExportPage runs the Python of docs/export.md.
func TestExportPage(t *testing.T) {
	python := full.Needs(t, full.Python)
	const found = "import importlib.util as u, sys; sys.exit(any(u.find_spec(m) is None for m in sys.argv[1:]))" // importing them takes seconds
	if err := exec.Command(python, "-c", found, "numpy", "torch", "transformers", "onnxruntime").Run(); err != nil {
		t.Skipf("%s has not numpy, torch, transformers and onnxruntime", python)
	}
	page, err := os.ReadFile("../docs/export.md")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for n, part := range strings.Split(string(page), "```python\n") {
		if block, _, _ := strings.Cut(part, "```\n"); n > 0 {
			code.WriteString(block)
		}
	}
	run, dir := runtest.Untrained(t, "../specs/successor.arith", "model.width=16"), t.TempDir()
	for form, name := range map[string]string{"python": "model.py", "hf": "model_hf", "onnx": "model.onnx"} {
		var said bytes.Buffer
		if code := Run(nil, []string{"export", run, "--format", form, "-o", filepath.Join(dir, name)}, &said, &said); code != 0 {
			t.Fatal(said.String())
		}
	}
	cmd := exec.Command(python, "-B", "-c", code.String())
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "HF_HOME="+filepath.Join(dir, "hf"), "OMP_NUM_THREADS=1")
	out, err := cmd.Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) != 6 || lines[0] != "22065" || lines[1] != lines[3] || lines[2] != "torch.Size([1, 1, 17])" ||
		!strings.HasPrefix(lines[4], "[16, 6, 14, 14, 0]") || lines[5] != "(1, 1, 17)" {
		t.Errorf("%v\n%s", err, out)
	}
}
