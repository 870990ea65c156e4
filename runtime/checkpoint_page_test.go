package runtime

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/rundir"
)

// TestReaderOfThePage runs the reader in docs/checkpoint.md and compares every tensor, and the
// vocabulary, with package ckpt.
func TestReaderOfThePage(t *testing.T) {
	python := full.Needs(t, full.Python)
	page, err := os.ReadFile("../docs/checkpoint.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(page), "```python\n")
	code, _, found := strings.Cut(code, "```\n")
	if !found {
		t.Fatal("the page has no reader")
	}
	reader := filepath.Join(t.TempDir(), "reader.py")
	if err := os.WriteFile(reader, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := rundir.NewestCheckpoint(trained(t, toyModel(), "--steps", "3", "-q"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := ckpt.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if f.Meta["end"] != "0" {
		t.Errorf("the end is token %q", f.Meta["end"])
	}
	for _, want := range f.Tensors {
		out, err := exec.Command(python, reader, path, want.Name).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", want.Name, err, out)
		}
		var got struct {
			Vocabulary []string
			Shape      []int
			Elements   []float32
		}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Shape, want.Shape) || !slices.Equal(got.Elements, want.Data) {
			t.Errorf("%s: read as %v, %.5v …; want %v, %.5v …", want.Name, got.Shape, got.Elements, want.Shape, want.Data)
		}
		if diff := cmp.Diff(strings.Split("$*+-/0123456789@^", ""), got.Vocabulary); diff != "" {
			t.Errorf("the vocabulary: %s", diff)
		}
	}
}
