package prove

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/codegen/host"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/internal/golden"
	"github.com/arithlang/mlc/runtime/ckpt"
)

// TestHashes builds the trainers of the trials, trains on the processor, and compares the hashes
// with hashes.txt.
func TestHashes(t *testing.T) {
	full.Only(t)
	dir := full.Folder(t, "_programs") // go's patterns ignore a leading underscore
	binary := buildTrials(t, dir)
	var text strings.Builder
	text.WriteString(strings.SplitAfter(hashText, "\n")[0])
	for _, trial := range trials() {
		for _, size := range []string{fullSize, reducedSize} {
			fmt.Fprintf(&text, "%-14s %-8s %s\n", trial.name, size, onProcessor(t, binary, trial, size))
		}
	}
	golden.Compare(t, "hashes.txt", text.String())
}

// trialsMain runs the trainer of the package in the first argument.
const trialsMain = `package main

import (
	"os"

	"github.com/arithlang/mlc/runtime"
	"github.com/arithlang/mlc/runtime/program"
%s)

func main() {
	models := map[string]program.Model{
%s	}
	name := os.Args[1]
	os.Args = append(os.Args[:1], os.Args[2:]...)
	runtime.Main(models[name])
}
`

// buildTrials makes a program of the trainers of all trials at both sizes.
func buildTrials(t *testing.T, dir string) (binary string) {
	t.Helper()
	whole := &compiler.Program{Source: "trials", Spec: &check.Spec{Name: "trials"}}
	var imports, table strings.Builder
	for _, trial := range trials() {
		for size, set := range map[string][]string{fullSize: nil, reducedSize: trial.fewer} {
			p, err := trial.compile(append(slices.Clone(set), "eval.samples=1")...) // tests change no weights
			if err != nil {
				t.Fatal(err)
			}
			p.Stage = stage(trial, size)
			whole.Stages = append(whole.Stages, p)
			fmt.Fprintf(&imports, "\t%q\n", "github.com/arithlang/mlc/prove/"+filepath.Base(dir)+"/"+host.Package(p.Stage))
			fmt.Fprintf(&table, "\t\t%q: %s.Model,\n", p.Stage, host.Package(p.Stage))
		}
	}
	files, err := codegen.Generate(whole, codegen.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, codegen.File{Path: "main.go", Data: fmt.Appendf(nil, trialsMain, imports.String(), table.String())})
	for _, f := range files {
		path := filepath.Join(dir, f.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	binary = filepath.Join(t.TempDir(), "trials")
	if out, err := exec.Command("go", "build", "-o", binary, "./"+filepath.Base(dir)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// stage names the package of a trial at a size.
func stage(t trial, size string) string {
	return strings.ReplaceAll(t.name, "/", "_") + "_" + size
}

// onProcessor trains a trial on the processor and hashes its checkpoint.
func onProcessor(t *testing.T, binary string, trial trial, size string) string {
	t.Helper()
	run := filepath.Join(t.TempDir(), "run")
	cmd := exec.Command(binary, stage(trial, size), "train", "--device", "cpu", "--quiet", "--steps", fmt.Sprint(trainSteps), "--out", run)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", trial.name, err, out)
	}
	f, err := ckpt.Read(filepath.Join(run, "ckpt", fmt.Sprintf("step-%08d.safetensors", trainSteps)))
	if err != nil {
		t.Fatal(err)
	}
	hash, err := hashOf(f)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// TestSteps trains on the simulator and wants the processor's bits. It must notice other bits if
// the hash or a kernel is changed. In the short run, TestTools checks the case that passes.
func TestSteps(t *testing.T) {
	t.Parallel()
	for _, trial := range full.Some(trials(), 0) {
		p := conclude(t, runSteps, &Env{Device: "sim"}, trial.name)
		if p.Verdict != Pass || len(p.Steps.Seconds) != trainSteps || p.Steps.Loss == 0 {
			text, _ := json.Marshal(p)
			t.Errorf("%s", text)
		}
	}
	wrong := "0" + strings.Repeat("1", 63)
	p := conclude(t, runSteps, &Env{Device: "sim", hash: func(string) string { return wrong }}, "tiny")
	if p.Verdict != Fail || len(p.Wrong) != 1 || !strings.Contains(p.Wrong[0], "want 0111") || p.Steps.Hash != processorHashes()["tiny reduced"] {
		t.Errorf("with another hash: %+v", p)
	}
	p = conclude(t, runSteps, &Env{Device: "sim", ptx: func(text []byte) []byte {
		return []byte(strings.Replace(string(text), "mul.rn.f32", "add.rn.f32", 3))
	}}, "tiny")
	if p.Verdict != Fail || len(p.Wrong) != 1 {
		t.Errorf("with another kernel: %+v", p)
	}
}
