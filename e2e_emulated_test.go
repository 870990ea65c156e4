package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/codegen/cpu/cputest/served"
	"github.com/arithlang/mlc/internal/full"
)

// arm64 runs linux/arm64 programs on this machine.
type arm64 struct{ qemu, libraries string }

// emulated finds QEMU and the C library that trainers load on ARM64.
func emulated(t *testing.T) arm64 {
	t.Helper()
	full.Only(t)
	if runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" {
		t.Skip("compares linux/amd64 with linux/arm64 under QEMU")
	}
	qemu, ok := served.Emulator()
	if !ok {
		t.Skip("QEMU for ARM64 is missing: run tools/install-qemu")
	}
	a := arm64{qemu, "/usr/aarch64-linux-gnu"}
	if _, err := os.Stat(filepath.Join(a.libraries, "lib", "ld-linux-aarch64.so.1")); err != nil {
		t.Skip("the C library for ARM64 is missing: run tools/install-qemu")
	}
	return a
}

// build runs a go command for ARM64 as mlc train does: without a C compiler.
func (arm64) build(t *testing.T, dir string, args ...string) {
	t.Helper()
	command(t, dir, []string{"GOARCH=arm64", "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false -trimpath -ldflags=-w"}, "go", args...)
}

func (a arm64) command(binary string, args ...string) *exec.Cmd {
	return exec.Command(a.qemu, append([]string{"-L", a.libraries, binary}, args...)...)
}

// TestARM64Kernels compares every kernel of three specs, on each ARM64 instruction set, with the
// interpreter. It also compares the interpreter on ARM64 with the interpreter on this machine.
func TestARM64Kernels(t *testing.T) {
	a := emulated(t)
	for spec, set := range map[string][]string{
		"specs/tiny.arith":         {"train.optimizer=muon(lr=1e-2)"},
		"specs/successor.arith":    {"model.width=16", "model.heads=2", "model.ffn=gelu(hidden=20)", "train.precision=bf16"},
		"specs/small/looped.arith": {"model.width=16", "model.heads=2", "model.ffn=geglu(hidden=12)", "model.head=none", "model.dropout=10%", "model.decoder_only.self.bias=fire(hidden=4)"},
	} {
		t.Run(filepath.Base(spec), func(t *testing.T) {
			t.Parallel()
			dir := generateWith(t, []string{"bits_test.go"}, spec, set...)
			there, here := filepath.Join(t.TempDir(), "arm64.test"), filepath.Join(t.TempDir(), "amd64.test")
			a.build(t, dir, "test", "-vet=off", "-c", "-o", there, ".")
			command(t, dir, []string{"CGO_ENABLED=0"}, "go", "test", "-vet=off", "-c", "-o", here, ".")
			bits := func(cmd *exec.Cmd) []byte {
				file := filepath.Join(t.TempDir(), "bits")
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "BITS="+file)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %v\n%s", cmd, err, out)
				}
				return read(t, file)
			}
			got, want := bits(a.command(there, "-test.run", "Few|Bits")), bits(exec.Command(here, "-test.run", "Bits"))
			for i, line := range bytes.Split(want, []byte("\n")) {
				if other := bytes.Split(got, []byte("\n")); i >= len(other) || !bytes.Equal(line, other[i]) {
					t.Errorf("ARM64 has other bits: want %s", line)
				}
			}
		})
	}
}

// TestARM64Training trains on ARM64, by plain Go and by its best instructions, and checks for the
// same bytes as on this processor. It trains the quick start's first steps, also interrupted and
// resumed, and a loop with dropout and a table of biases.
func TestARM64Training(t *testing.T) {
	a := emulated(t)
	small := []string{"model.width=16", "model.heads=2", "model.dropout=10%", "train.batch=6", "train.microbatch=2", "train.report=full(every=2steps)",
		"train.budget=12steps", "eval.during=tests(every = 6steps)", "eval.during.digits=[2]", "eval.during.samples=4", "eval.grid=none", "eval.diagonal=none", "eval.digits=[2]", "eval.samples=4"}
	for spec, set := range map[string][]string{
		"specs/successor.arith":    {"model.ffn=relu(hidden=24)", "train.batch=16"},
		"specs/small/looped.arith": {"model.ffn=geglu(hidden=24)", "model.head=none", "task.operands=digits(1..3)", "model.decoder_only.self.bias=fire(hidden=4)", "train.loss=progressive(alpha=0.5)"},
	} {
		t.Run(filepath.Base(spec), func(t *testing.T) {
			t.Parallel()
			dir := generateWith(t, nil, spec, append(small, set...)...)
			here, there := filepath.Join(t.TempDir(), "amd64"), filepath.Join(t.TempDir(), "arm64")
			command(t, dir, nil, "go", "build", "-o", here, ".")
			a.build(t, dir, "build", "-o", there, ".")
			train := func(run string, flags ...string) []string {
				return append([]string{"train", "--quiet", "--device", "cpu", "--out", run}, flags...)
			}
			done := func(cmd *exec.Cmd, run string) string {
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %v\n%s", cmd, err, out)
				}
				return outcome(t, run)
			}
			run := filepath.Join(t.TempDir(), "run")
			want := done(exec.Command(here, train(run)...), run)
			for _, flags := range [][]string{{"--threads", "1"}, {"--threads", "2", "--cpu", "go"}} {
				run := filepath.Join(t.TempDir(), "run")
				if done(a.command(there, train(run, flags...)...), run) != want {
					t.Errorf("%v: other bytes than on this processor", flags)
				}
			}
			run = filepath.Join(t.TempDir(), "run")
			interrupt(t, a.command(there, train(run)...), filepath.Join(run, "metrics.jsonl"))
			if done(a.command(there, train(run, "--resume")...), run) != want {
				t.Error("interrupted and resumed: other bytes than on this processor")
			}
		})
	}
}

// outcome returns all that a training leaves except times: weights, metrics, tests, results.
func outcome(t *testing.T, run string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(run, "ckpt", "*.safetensors"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no checkpoint: %v", run, err)
	}
	all := append(read(t, files[len(files)-1]), times.ReplaceAll(read(t, filepath.Join(run, "metrics.jsonl")), nil)...)
	for _, name := range []string{"tests.jsonl", filepath.Join("eval", "grid.csv")} {
		all = append(all, read(t, filepath.Join(run, name))...)
	}
	return filepath.Base(files[len(files)-1]) + "\n" + string(all)
}

// interrupt starts a program and presses Ctrl-C once a file has content. The program must save
// and exit as interrupted.
func interrupt(t *testing.T, cmd *exec.Cmd, file string) {
	t.Helper()
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(5 * time.Millisecond) {
		if info, err := os.Stat(file); err == nil && info.Size() > 0 {
			break
		}
	}
	cmd.Process.Signal(os.Interrupt)
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Fatalf("%v ends with %v, want 130:\n%s", cmd, err, said.String())
	}
}
