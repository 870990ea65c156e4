package runtime

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/ckpt"
)

// TestOtherSums lets no other version continue a run that an earlier version began with sums in
// another order. Everything else still works for it.
func TestOtherSums(t *testing.T) {
	m := toyModel()
	dir := filepath.Join(t.TempDir(), "run")
	stopAt(t, m, dir, 10)
	path := filepath.Join(dir, "ckpt", "step-00000010.safetensors")
	f, err := ckpt.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	delete(f.Meta, "sums")
	f.Meta["mlc_version"] = "v0.8.0"
	if err := ckpt.Write(path, ckpt.File{Meta: f.Meta, Tensors: f.Tensors}); err != nil {
		t.Fatal(err)
	}
	before := contents(t, dir)
	s := call(t, m, "", "train", "--resume", "--out", dir)
	if want := path + ": this run was begun by mlc v0.8.0, which added numbers in another order: go on with that version, or begin a new run"; s.code != 1 || !strings.Contains(s.err, want) {
		t.Errorf("exit %d, no %q in\n%s", s.code, want, s.err)
	}
	unchanged(t, dir, before)
	if s := call(t, m, "", "solve", dir, "1"); s.code != 0 {
		t.Errorf("solve: exit %d\n%s", s.code, s.err)
	}
}
