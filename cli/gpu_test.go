//go:build !nogpu && linux && (amd64 || arm64)

package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/cuda/libcuda/fakecuda"
	"github.com/arithlang/mlc/runtime/record"
)

// TestGPUWithoutGo trains on a GPU without a go command. The driver's library is one that runs no
// kernel, so the training ends at a loss that is none, after its kernels were loaded and launched.
func TestGPUWithoutGo(t *testing.T) {
	lib := fakecuda.Build(t)
	t.Setenv("MLC_LIBCUDA", lib.Path)
	t.Setenv("MLC_CACHE", t.TempDir())
	t.Setenv("PATH", "")
	t.Setenv(record.TellVariable, "") // which the verb sets
	dir := filepath.Join(t.TempDir(), "run")
	var out, err bytes.Buffer
	code := Run(sourceTree(), []string{"train", "testdata/least.arith", "--device", "cuda", "--steps", "2", "--out", dir}, &out, &err)
	if want := "mlc itself uses the GPU, because there is no go command to build a trainer with\n"; code != 1 || err.String() != want {
		t.Errorf("exit %d, want 1, and said\n%s%s\nwant %s", code, out.String(), err.String(), want)
	}
	record, fail := os.ReadFile(filepath.Join(dir, "run.json"))
	if fail != nil || !strings.Contains(string(record), `"device": "cuda"`) {
		t.Errorf("%v, and the record says\n%s", fail, record)
	}
	if n := len(lib.Launches()); n < 10 {
		t.Errorf("%d kernels were launched", n)
	}
}
