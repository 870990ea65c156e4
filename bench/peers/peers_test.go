package peers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
)

// TestProblems compares the problem files of the cases with the experiments.
func TestProblems(t *testing.T) {
	const looped8x2 = "B 512, S 0, T 63, 16 heads of 1024, hidden 2048, 0 layers, dropout 0, lr 0.001, 8 looped 2 times, 1 with gradients, from noise of 0.02, offsets to 100 of 128 rows"
	want := map[string]string{
		"abs":            "B 512, S 125, T 62, 8 heads of 128, hidden 512, 6 layers, dropout 0.3, lr 0.0001",
		"abs-bf16":       "B 512, S 125, T 62, 8 heads of 128, hidden 512, 6 layers, dropout 0.3, lr 0.0001",
		"abs-no-dropout": "B 512, S 125, T 62, 8 heads of 128, hidden 512, 6 layers, dropout 0, lr 0.0001",
		"successor":      "B 128, S 9, T 8, 4 heads of 64, hidden 256, 2 layers, dropout 0.1, lr 0.003",
		"looped":         "B 128, S 0, T 33, 2 heads of 128, hidden 256, 0 layers, dropout 0, lr 0.001, 2 looped 2 times, 1 with gradients, from noise of 0.02, offsets to 16 of 128 rows",
		"looped8x2":      looped8x2,
		"looped8x2-bf16": looped8x2,
		"gpt":            "B 12, S 0, T 64, 4 heads of 128, hidden 512, 0 layers, dropout 0, lr 0.001, 4 looped 1 times, 1 with gradients, from noise of 0, offsets to 0 of 128 rows",
		"fire-40":        "B 64, S 41, T 40, 8 heads of 256, hidden 1024, 4 layers, dropout 0, lr 0.001",
		"fire-80":        "B 64, S 81, T 80, 8 heads of 256, hidden 1024, 4 layers, dropout 0, lr 0.001",
	}
	for _, c := range Cases() {
		read := func(path string) ([]byte, error) { return os.ReadFile("../../" + path) }
		spec, found := check.Resolve(check.Options{Path: c.Spec, Read: read, Set: c.Set})
		if found.HasErrors() {
			t.Fatal(found)
		}
		p := NewProblem(c.Kind, spec, map[string][]int{"embed.token": {17, spec.Model.Width}, "embed.position": {128, spec.Model.Width}})
		var err error
		if p.Batches, err = Batches(spec, 0, 2); err != nil {
			t.Fatal(err)
		}
		if p.Kind != c.Kind || p.Vocab != 17 {
			t.Errorf("%s: kind %s, %d tokens", c.Name, p.Kind, p.Vocab)
		}
		b := p.Batches[1]
		source := 0
		if len(b.Source) > 0 {
			source = len(b.Source[0])
		}
		got := fmt.Sprintf("B %d, S %d, T %d, %d heads of %d, hidden %d, %d layers, dropout %g, lr %g", len(b.Target), source,
			len(b.Target[0]), p.Heads, p.Width, p.Hidden, p.Layers, p.Dropout, p.Adam["lr"])
		if l := p.Loop; l != nil {
			got += fmt.Sprintf(", %d looped %d times, %d with gradients, from noise of %g, offsets to %d of %d rows", l.Layers, l.Times, l.WithGrad, l.Noise, l.MaxOffset, l.Table)
		}
		if got != want[c.Name] {
			t.Errorf("%s: %s\nwant %s", c.Name, got, want[c.Name])
		}
		if len(b.Labels) != len(b.Target) || len(b.Labels[0]) != len(b.Target[0]) {
			t.Errorf("%s: %d labels of %d rows", c.Name, len(b.Labels), len(b.Target))
		}
		if reflect.DeepEqual(p.Batches[0], b) {
			t.Errorf("%s: two batches are the same", c.Name)
		}
		later, err := Batches(spec, 1, 1)
		if err != nil || !reflect.DeepEqual(later[0], b) {
			t.Errorf("%s: the batch after a step is not the second one: %v", c.Name, err)
		}
	}
}

// TestScripts writes the scripts and compares them with the checkout.
func TestScripts(t *testing.T) {
	dir := t.TempDir()
	if err := Write(dir); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 11 {
		t.Errorf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		got, err1 := os.ReadFile(filepath.Join(dir, f.Name()))
		want, err2 := os.ReadFile(f.Name())
		if err1 != nil || err2 != nil || string(got) != string(want) {
			t.Errorf("%s differs: %v, %v", f.Name(), err1, err2)
		}
	}
}

func TestCommand(t *testing.T) {
	got := strings.Join(Way{"compile", "cuda", "bf16", 3}.Command("py", "/d", "p.json", "--follow", "a", "b"), " ")
	if want := "py -B /d/peer.py p.json --peer compile --device cuda --precision bf16 --threads 3 --follow a b"; got != want {
		t.Errorf("got %s", got)
	}
	if got := OnCPU("jax", 2).Command("py", ".", "p"); !slices.Contains(got, "cpu") || !slices.Contains(got, "fp32") {
		t.Errorf("got %s", got)
	}
}

// TestAsk imitates Python.
func TestAsk(t *testing.T) {
	python := filepath.Join(t.TempDir(), "python")
	script := "#!/bin/sh\ncase \"$2\" in *torch*) echo 2.7.1+cu128;; *) echo a trace >&2; echo no such module >&2; exit 1;; esac\n"
	if err := os.WriteFile(python, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := Version(context.Background(), python, "torch"); err != nil || got != "2.7.1" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := Version(context.Background(), python, "jax"); err == nil || !strings.HasSuffix(err.Error(), "exit status 1: no such module") {
		t.Errorf("%v", err)
	}
}
