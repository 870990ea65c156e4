package runtime

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/track"
)

// TestPythonReader runs the tests of runs in the Python package on a run, with its content as Go
// reads it.
func TestPythonReader(t *testing.T) {
	python := full.Needs(t, full.Python)
	if err := exec.Command(python, "-c", "import numpy, pandas").Run(); err != nil {
		t.Skipf("%s has no numpy and pandas", python)
	}
	dir := trained(t, toyModel(), "--steps", "3", "-q")
	f, err := ckpt.Read(lastCheckpoint(dir))
	if err != nil {
		t.Fatal(err)
	}
	weights := "{" // in the order of the file, unlike a map
	for i, w := range f.Tensors {
		text, err := json.Marshal(w.Data)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			weights += ","
		}
		weights += `"` + w.Name + `":` + string(text)
	}
	result, err := eval.Load(damage.At(record.Results(dir, "")))
	if err != nil {
		t.Fatal(err)
	}
	last, err := track.Last(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"weights": json.RawMessage(weights + "}"), "by_length": result.ByLength, "step": last.Step, "loss": last.Loss})
	if err != nil {
		t.Fatal(err)
	}
	expected := filepath.Join(t.TempDir(), "expected.json")
	if err := os.WriteFile(expected, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-m", "pytest", "-q", "../python/tests/test_runs.py")
	cmd.Env = append(os.Environ(), "PYTHONPATH=../python", "PYTHONDONTWRITEBYTECODE=1", "MLC_RUN="+dir, "MLC_EXPECTED="+expected)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
