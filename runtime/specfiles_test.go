package runtime

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/label"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/rundir"
	"github.com/arithlang/mlc/runtime/tokens"
)

// TestSpecFiles wants a run to have the files that its spec reads: for stages all of them,
// tables with each tensor that a stage reads, and problems as they were before tokens were
// joined.
func TestSpecFiles(t *testing.T) {
	first, second := toyModel(), toyModel()
	first.Given = []program.Table{{Param: "fixed.a", Values: "\x00\x00\x80\x3f\x00\x00\x00\x40"}}
	first.Files = []program.File{{Path: "spec-files/p.txt", Text: "1 + 2=3\n"}, {Path: "spec-files/t.safetensors", Stage: "before", Tensors: []program.Tensor{{Name: "a", Shape: []int{1, 2}, Param: "fixed.a"}}}}
	first.Task.Tokens = tokens.Rule{Numbers: 10}
	second.Given = []program.Table{{Param: "fixed.b", Values: "\x00\x00\x40\x40"}}
	second.Files = []program.File{{Path: "spec-files/p.txt", Text: "1+2=3\n"}, {Path: "spec-files/t.safetensors", Tensors: []program.Tensor{{Name: "b", Shape: []int{1, 1}, Param: "fixed.b"}}}}
	id := rundir.IdentityOf(&first)
	id.Models = []*program.Model{&first, &second}
	dir := filepath.Join(t.TempDir(), "run")
	for range 2 { // again, like a resumed run
		if err := rundir.Fill(dir, id, record.Record{Name: id.Name}); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "spec-files", "p.txt")); err != nil || string(text) != "1+2=3\n" {
			t.Errorf("problems %q, %v", text, err)
		}
		f, err := ckpt.Read(filepath.Join(dir, "spec-files", "t.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][]float32{}
		for _, x := range f.Tensors {
			got[x.Name] = x.Data
		}
		if f.Meta["stage"] != "before" || len(got) != 2 || got["a"][0] != 1 || got["a"][1] != 2 || got["b"][0] != 3 {
			t.Errorf("tables %v, %v", f.Meta, got)
		}
	}
}

// TestSpecFilesLeft lets a run begin where one was killed while it wrote the files of its spec,
// but not where the folder has other files.
func TestSpecFilesLeft(t *testing.T) {
	m := toyModel()
	m.Files = []program.File{{Path: "spec-files/p.txt", Text: "1=2\n"}}
	for name, free := range map[string]bool{"p.txt": true, ".p.txt.123": true, "mine.txt": false} {
		dir := t.TempDir()
		path := filepath.Join(dir, "spec-files", name)
		if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("1="), 0o644); err != nil {
			t.Fatal(err)
		}
		_, held, err := rundir.New(dir, rundir.IdentityOf(&m), time.Now(), label.Label{})
		if (err == nil) != free {
			t.Errorf("%s is there: %v", name, err)
		}
		if err == nil {
			held.Close()
		}
	}
}
