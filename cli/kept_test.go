package cli

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/internal/golden"
)

// TestOutputsAsKept runs the commands of testdata/kept.txt. The file has their outputs, their exit
// codes, and hashes of the figures and models that they write. A long output is kept as its first
// lines and a hash. After a change that is right, run it with -update. The runs of
// testdata/runs are models of 60 steps, one with a calibrated bias, one with a best checkpoint and
// averaged weights.
func TestOutputsAsKept(t *testing.T) {
	text, err := os.ReadFile("testdata/kept.txt")
	if err != nil {
		t.Fatal(err)
	}
	file, err := filepath.Abs("testdata/kept.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for to, from := range map[string]string{"runs": "../serve/testdata/runs", "trained": "testdata/runs", "specs": "../specs"} {
		if err := os.CopyFS(filepath.Join(dir, to), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	least, err := os.ReadFile("testdata/least.arith")
	if err != nil {
		t.Fatal(err)
	}
	const heldOut = `{"step":9,"examples":72,"tokens":640,"loss":1.5,"held_out_loss":%s,"seconds":4}` + "\n"
	const read = `{"metric":"exact_match","text":{"of":"its last tenth","characters":1234,"loss":%s,"bits":%s}}`
	for name, text := range map[string]string{
		"least.arith":              string(least),
		"texts/a/run.json":         `{"name":"tale","seed":1,"budget":{"steps":9}}`,
		"texts/a/metrics.jsonl":    fmt.Sprintf(heldOut, "1.4375"),
		"texts/a/eval/result.json": fmt.Sprintf(read, "1.25", "1.803369"),
		"texts/b/run.json":         `{"name":"tale","seed":2,"budget":{"steps":9}}`,
		"texts/b/metrics.jsonl":    fmt.Sprintf(heldOut, "1.25"),
		"texts/b/eval/result.json": fmt.Sprintf(read, "1", "1.442695"),
		"texts/c/run.json":         `{"name":"tale","seed":3,"init_seed":5,"budget":{"steps":9}}`,
		"texts/c/metrics.jsonl":    fmt.Sprintf(heldOut, "1.1"),
		"wrong.arith":              "arith 2\ntask addition {\n  operands = digits(1..3)\n  odrer = reversed\n}\nmodel.width = 10\n",
		"two.arith":                "arith 2\ninclude \"specs/tiny.arith\"\nsweep { train.seed = [1, 2] }\n",
		"staged.arith":             "arith 2\ninclude \"least.arith\"\nstage first {}\nstage second {\n  from = first\n  train.batch = 8\n  train.chunk = 4\n}\n",
		"ugly.arith":               "arith 2\n\n\ntask   addition { operands=digits(1..3) }\nmodel.width=  16 // wide\n",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, name := range []string{"MLC_PTXAS", "MLFLOW_TRACKING_URI"} {
		t.Setenv(name, "")
	}
	t.Setenv("MLC_CACHE", filepath.Join(dir, "cache"))
	var now strings.Builder
	for line := range strings.Lines(string(text)) {
		command, ok := strings.CutPrefix(line, "$ mlc ")
		if !ok {
			continue
		}
		var args []string
		for i, part := range strings.Split(strings.TrimSpace(command), "'") {
			if i%2 == 0 {
				args = append(args, strings.Fields(part)...)
			} else {
				args = append(args, part)
			}
		}
		var out, messages strings.Builder
		code := run(sourceTree(), build.Maker{Generate: toyGenerate, Build: toyBuild}, args, &out, &messages)
		fmt.Fprintf(&now, "%s%s%sexit %d\n\n", line, short(out.String(), dir), short(messages.String(), dir), code)
	}
	for _, name := range written(t, dir) {
		fmt.Fprintf(&now, "%s\n", name)
	}
	golden.Compare(t, file, now.String())
}

// written lists the figures and models, with hashes.
func written(t *testing.T, dir string) (all []string) {
	figures, err := filepath.Glob(filepath.Join(dir, "*/*.svg"))
	if err != nil {
		t.Fatal(err)
	}
	models, err := filepath.Glob(filepath.Join(dir, "models*/*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range slices.Concat(figures, models) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s: %x", strings.TrimPrefix(file, dir+"/"), sha256.Sum256(text)))
	}
	return all
}

// short returns the first lines of an output, and what stands for the rest.
func short(text, dir string) string {
	text = strings.ReplaceAll(text, dir, "HERE")
	lines := strings.SplitAfter(text, "\n")
	if len(lines) <= 24 && len(text) < 3000 {
		return text
	}
	head := strings.Join(lines[:min(len(lines)-1, 12)], "")
	return fmt.Sprintf("%.1500s\n%d lines, %d bytes, %x\n", head, len(lines)-1, len(text), sha256.Sum256([]byte(text)))
}
