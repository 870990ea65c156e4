package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/cli"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/cli/slurmtest"
	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/comm/mpitest"
)

// TestTrainerOfTheQuickStart generates the quick start's program and trains it for a few steps.
// It checks for the same bytes on any number of threads and any instruction set, and that
// decoding agrees with verification.
func TestTrainerOfTheQuickStart(t *testing.T) {
	dir := generate(t, "specs/successor.arith", "train.batch=64")
	binary := filepath.Join(t.TempDir(), "successor")
	command(t, dir, nil, "go", "build", "-o", binary, ".")

	train := func(name string, flags ...string) (checkpoint string) {
		run := filepath.Join(t.TempDir(), name)
		args := append([]string{"train", "--device", "cpu", "--quiet", "--out", run, "--steps", "3"}, flags...)
		command(t, dir, nil, binary, args...)
		files, err := filepath.Glob(filepath.Join(run, "ckpt", "*.safetensors"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no checkpoint: %v", run, err)
		}
		return files[len(files)-1]
	}
	first := read(t, train("two threads", "--steps", "2", "--threads", "2"))
	for _, flags := range full.Some([]string{"--threads=1", "--threads=5", "--cpu=go", "--threads=32"}, 2) {
		if !bytes.Equal(first, read(t, train(flags, "--steps", "2", flags))) {
			t.Errorf("two steps with %s give another checkpoint", flags)
		}
	}
	t.Run("ranks", func(t *testing.T) { sameOnRanks(t, binary, first) })
	t.Run("slurm", func(t *testing.T) {
		sameInSlurm(t, binary, func() []byte { return read(t, train("whole", "--steps", "600")) })
	})
	tests := filepath.Join(t.TempDir(), "tests")
	command(t, dir, nil, "go", "test", "-c", "-vet=off", "-o", tests, ".")
	command(t, dir, nil, tests, "-test.v", "-test.run", "Allocate")
	undertrained := train("undertrained", "--steps", "30")
	command(t, dir, []string{"CHECKPOINT=" + undertrained}, tests, "-test.v", "-test.run", "Agrees")
	t.Run("long", func(t *testing.T) { longTests(t, binary, filepath.Dir(filepath.Dir(undertrained))) })
	t.Run("exported", func(t *testing.T) { answersInPython(t, binary, filepath.Dir(filepath.Dir(undertrained))) })
}

// longTests solves the longest problems, in one pass and token by token, and wants the same
// answers. Windows make their tensors narrow.
func longTests(t *testing.T, binary, run string) {
	var said []string
	longest, samples := strconv.Itoa(full.Either(4000, 32768)), strconv.Itoa(full.Either(1, 2))
	for _, mode := range []string{"verify", "greedy"} {
		out, err := exec.Command(binary, "eval", run, "--device", "cpu", "--quiet", "--digits", "1000,"+longest, "--samples", samples, "--metric", "first_token", "--mode", mode).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		said = append(said, string(out))
	}
	if said[0] != said[1] || !strings.Contains(said[0], longest+"         "+samples) {
		t.Errorf("by one pass\n%s\ntoken by token\n%s", said[0], said[1])
	}
}

// sameOnRanks trains two steps on several ranks and wants the checkpoint of one process.
func sameOnRanks(t *testing.T, binary string, want []byte) {
	for _, l := range mpitest.Launchers(t) {
		for _, ranks := range []int{2, 3, 4} {
			run := filepath.Join(t.TempDir(), "run")
			out, err := l.Command(ranks, binary, "train", "--device", "cpu", "--out", run, "--steps", "2", "--threads", "1").CombinedOutput()
			files, _ := filepath.Glob(filepath.Join(run, "ckpt", "*.safetensors"))
			if err != nil || len(files) == 0 {
				t.Fatalf("%s, %d ranks: %v\n%s", l, ranks, err, out)
			}
			if !bytes.Equal(want, read(t, files[len(files)-1])) {
				t.Errorf("%s: two steps on %d ranks give another checkpoint", l, ranks)
			}
		}
	}
}

// sameInSlurm trains on two ranks in a real Slurm, which stops and restarts them half way, and
// wants the checkpoint of one process.
func sameInSlurm(t *testing.T, binary string, whole func() []byte) {
	if why := slurmtest.Missing(); why != "" {
		t.Skip(why)
	}
	full.Needs(t, full.MPICH) // srun starts its ranks
	c, err := slurmtest.Start(2)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	dir := t.TempDir()
	run, said := filepath.Join(dir, "run"), filepath.Join(dir, "said")
	script := filepath.Join(dir, "job.sh")
	text := "#!/bin/sh\nexec srun --mpi=pmi2 " + binary + " train --resume=auto --device cpu --threads 1 --save 100ms --steps 600 --out " + run + "\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	job := c.Run("sbatch", "--parsable", "--requeue", "--ntasks=2", "--open-mode=append", "--output="+said, script)
	state := func() string { return c.Run("squeue", "--noheader", "--format=%T", "--job="+job) }
	saved := func() int {
		files, _ := filepath.Glob(filepath.Join(run, "ckpt", "step-*.safetensors"))
		return len(files)
	}
	wait := func(what string, done func() bool) {
		for start := time.Now(); !done(); time.Sleep(50 * time.Millisecond) {
			if time.Since(start) > 90*time.Second {
				text, _ := os.ReadFile(said)
				t.Fatalf("job %q: no %s, state %s:\n%s", job, what, state(), text)
			}
		}
	}
	wait("checkpoint", func() bool { return saved() > 0 })
	c.Run("scontrol", "requeue", job)
	wait("second start", func() bool { text, _ := os.ReadFile(said); return bytes.Count(text, []byte("training successor")) == 2 })
	wait("end", func() bool { return c.Run("squeue", "--noheader", "--format=%T", "--job="+job) == "" })
	if text, _ := os.ReadFile(said); !bytes.Contains(text, []byte("on 2 ranks")) || !bytes.Contains(text, []byte("interrupted at step")) {
		t.Errorf("it says\n%s", text)
	}
	if got := read(t, filepath.Join(run, "ckpt", "step-00000600.safetensors")); !bytes.Equal(got, whole()) {
		t.Error("another checkpoint than that of one process")
	}
}

// answersInPython exports a run and wants the trainer's answers.
func answersInPython(t *testing.T, binary, run string) {
	python := numpy(t)
	file := filepath.Join(t.TempDir(), "model.py")
	var said bytes.Buffer
	if code := cli.Run(source, []string{"export", run, "--format", "numpy", "--out", file}, &said, &said); code != 0 {
		t.Fatalf("exit %d: %s", code, said.String())
	}
	problems := []string{"0", "9", "42", "1999", "123456", "999999"}
	want, err := exec.Command(binary, append([]string{"solve", run, "--device", "cpu"}, problems...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	got, err := exec.Command(python, append([]string{"-B", file}, problems...)...).CombinedOutput()
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v: Python answers\n%swant\n%s", err, got, want)
	}
}

// TestLoopsDecodeWhatOnePassSays makes a loop of large random weights. For several numbers of
// runs it compares decoding with caches and one pass over all rows.
func TestLoopsDecodeWhatOnePassSays(t *testing.T) {
	full.Only(t)
	for _, precision := range []string{"f32", "bf16"} {
		t.Run(precision, func(t *testing.T) { loopDecodes(t, "train.precision="+precision) })
	}
}

func loopDecodes(t *testing.T, set string) {
	dir := generateWith(t, []string{"decode_test.go"}, "specs/small/looped.arith", set, "model.width=24", "model.heads=2",
		"model.ffn=geglu(hidden=32)", "model.head=geglu(hidden=32)", "train.batch=16", "train.microbatch=8", "eval.grid=[1..1, 1..2]", "eval.samples=3", "model.init=normal(std = 0.3)")
	binary := filepath.Join(t.TempDir(), "looped")
	command(t, dir, nil, "go", "build", "-o", binary, ".")
	run := filepath.Join(t.TempDir(), "run")
	command(t, dir, nil, binary, "train", "--device", "cpu", "--quiet", "--steps", "1", "--out", run)
	command(t, dir, []string{"CHECKPOINT=" + filepath.Join(run, "ckpt", "step-00000001.safetensors")}, "go", "test", "-vet=off", "-run", "PassAgrees", ".")
}

// TestSimulatedSteps wants the processor's bits from three steps on the simulated GPU:
// parameters, moments, and the metrics with the test at a report. Chunks of several
// micro-batches, the last one smaller, run as replicas and one after another.
func TestSimulatedSteps(t *testing.T) {
	full.Only(t)
	for spec, set := range map[string][]string{
		"tiny":      {"train.batch=8"},
		"successor": {"train.batch=7", "model.width=32", "model.heads=2", "model.ffn=relu(hidden = 64)"},
		"addition":  {"train.batch=5", "model.width=32", "model.heads=2", "model.ffn=swiglu(hidden = 64)", "model.embed.position=shifted"},
		"kerple":    {"train.batch=3", "model.width=32", "model.heads=2", "model.ffn=relu(hidden = 64)"},
	} {
		t.Run(spec, func(t *testing.T) {
			dir := generate(t, "specs/"+spec+".arith", append(set, "train.microbatch=2")...)
			binary := filepath.Join(t.TempDir(), spec)
			command(t, dir, nil, "go", "build", "-o", binary, ".")
			train := func(device string) []byte {
				run := filepath.Join(t.TempDir(), device)
				do(t, dir, binary, "train", "--quiet", "--out", run, "--steps", "3", "--device", device)
				return append(read(t, filepath.Join(run, "ckpt", "step-00000003.safetensors")), times.ReplaceAll(read(t, filepath.Join(run, "metrics.jsonl")), nil)...)
			}
			if !bytes.Equal(train("cpu"), train("sim")) {
				t.Error("the simulated GPU gives other bytes than the processor")
			}
		})
	}
}

// TestOptimizers trains with optimizers that keep more or fewer states than Adam, and with
// updates of matrices. Bytes and tests are the same on the processor, with other instructions, on
// the simulated GPU and on any number of threads. After a few steps, a step allocates nothing.
func TestOptimizers(t *testing.T) {
	full.Only(t)
	elsewhere := [][]string{{"--device", "cpu", "--cpu", "go"}, {"--device", "sim"}}
	for _, c := range []struct {
		spec, optimizer, average, grokfast string
		elsewhere                          [][]string // flags
	}{
		{"tiny", "lion", "none", "none", elsewhere},
		{"tiny", "muon", "ema()", "none", elsewhere},
		{"tiny", "adamw", "ema()", "ema()", elsewhere},
		{"successor", "muon", "ema()", "ema()", [][]string{{"--device", "cpu", "--threads", "1"}, {"--device", "cpu", "--threads", "3"}}},
	} {
		t.Run(c.spec+", "+c.optimizer, func(t *testing.T) {
			dir := generate(t, "specs/"+c.spec+".arith", "train.batch=6", "train.microbatch=2", "train.optimizer="+c.optimizer+"(lr = 1e-2)", "train.average="+c.average, "train.grokfast="+c.grokfast, "train.clip=0.5",
				"eval.during=tests(every = 2steps)", "eval.during.digits=[2]", "eval.during.samples=10")
			binary := filepath.Join(t.TempDir(), c.optimizer)
			command(t, dir, nil, "go", "build", "-o", binary, ".")
			train := func(flags ...string) []byte {
				run := filepath.Join(t.TempDir(), strings.Join(flags, ""))
				do(t, dir, binary, append([]string{"train", "--quiet", "--out", run, "--steps", "3"}, flags...)...)
				return append(read(t, filepath.Join(run, "ckpt", "step-00000003.safetensors")), read(t, filepath.Join(run, "tests.jsonl"))...)
			}
			command(t, dir, nil, "go", "test", "-vet=off", "-run", "Allocate", ".")
			want := train("--device", "cpu", "--threads", "2")
			for _, flags := range c.elsewhere {
				if !bytes.Equal(train(flags...), want) {
					t.Errorf("three steps with %s give another checkpoint", flags)
				}
			}
		})
	}
}

// times match the only differences between two equal runs.
var times = regexp.MustCompile(`"seconds":[^,]*,`)

// generate writes the program of a spec, with the tests of problems and training, into a folder
// of this module.
func generate(t *testing.T, spec string, set ...string) (dir string) {
	t.Helper()
	return generateWith(t, []string{"agree_test.go", "alloc_test.go"}, spec, append(set, "eval.samples=20", "eval.digits=[6]")...)
}

// generateWith writes the program of a spec with some tests of testdata/e2e.
func generateWith(t *testing.T, tests []string, spec string, set ...string) (dir string) {
	t.Helper()
	p, found, err := compiler.Compile(check.Options{Path: spec, Read: os.ReadFile, Set: set})
	if err != nil || found.HasErrors() {
		t.Fatal(err, found)
	}
	files, err := codegen.Generate(p, codegen.Options{Version: shell.Version})
	if err != nil {
		t.Fatal(err)
	}
	dir = full.Folder(t, "testdata/e2e/program-"+strings.NewReplacer("/", "-", " ", "-", ",", "").Replace(t.Name()))
	for _, test := range tests {
		files = append(files, codegen.File{Path: test, Data: read(t, "testdata/e2e/"+test+".txt")})
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Path), f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// do runs a program whose source is in dir. If the device is the simulated GPU, mlc runs it
// instead.
func do(t *testing.T, dir, binary string, args ...string) {
	t.Helper()
	if i := slices.Index(args, "--device"); i < 0 || args[i+1] != "sim" {
		command(t, dir, nil, binary, args...)
		return
	}
	name := regexp.MustCompile(`(?m)^\s+Name: +"(.*)"`).FindSubmatch(read(t, filepath.Join(dir, "model.go")))
	spec := filepath.Join(t.TempDir(), string(name[1])+".arith")
	if err := os.WriteFile(spec, read(t, filepath.Join(dir, "spec.arith")), 0o644); err != nil {
		t.Fatal(err)
	}
	if code := cli.Run(source, slices.Concat(args[:1], []string{spec}, args[1:]), t.Output(), t.Output()); code != 0 {
		t.Fatalf("mlc %v: exit %d", args, code)
	}
}

func command(t *testing.T, dir string, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	if name == "go" && args[0] == "build" { // as in mlc train, which links faster
		cmd.Env = append(cmd.Env, "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false -trimpath -ldflags=-w")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	} else if name == "go" || slices.Contains(args, "-test.v") {
		t.Logf("%s", out)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
