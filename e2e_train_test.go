package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/arithlang/mlc/internal/full"
)

// TestLoopedTraining trains a loop with every feature of training: passes of two kinds,
// divided gradients, a sum over the batch, a growing batch, chunks that split groups of examples, and a
// budget in FLOP. Split groups share draws. It ends with the same bytes on every instruction set,
// any number of threads and the simulated GPU.
func TestLoopedTraining(t *testing.T) {
	full.Only(t)
	dir := generateWith(t, nil, "specs/small/looped.arith", "model.width=32", "model.ffn=geglu(hidden=32)", "model.head=none",
		"model.decoder_only.layers=1", "model.decoder_only.times=4", "train.schedule=constant", "task.operands=digits(1..3)", "train.loss=progressive(alpha=0.5)", "train.reduce=sum_over_batch",
		"train.throttle=block", "train.batch=24", "train.microbatch=4", "train.chunk=6", "train.ramp=grow(over = 60%)", "train.budget=50MFLOP",
		"eval.grid=[1..2,1..2]", "eval.samples=4")
	binary := filepath.Join(t.TempDir(), "looped")
	command(t, dir, nil, "go", "build", "-o", binary, ".")
	train := func(flags ...string) []byte {
		run := filepath.Join(t.TempDir(), "run")
		do(t, dir, binary, append([]string{"train", "--quiet", "--out", run}, flags...)...)
		files, err := filepath.Glob(filepath.Join(run, "ckpt", "*.safetensors"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%v leaves no checkpoint: %v", flags, err)
		}
		last := files[len(files)-1]
		return append(append(read(t, last), filepath.Base(last)...), times.ReplaceAll(read(t, filepath.Join(run, "metrics.jsonl")), nil)...)
	}
	want := train("--device", "cpu", "--threads", "1")
	for name, flags := range map[string][]string{
		"plain Go":      {"--device", "cpu", "--cpu", "go"},
		"two threads":   {"--device", "cpu", "--threads", "2"},
		"8 threads":     {"--device", "cpu", "--threads", "8"},
		"32 threads":    {"--device", "cpu", "--threads", "32"},
		"the simulator": {"--device", "sim"},
	} {
		if !bytes.Equal(want, train(flags...)) {
			t.Errorf("%s: other bytes than one thread", name)
		}
	}
}

// TestCurriculumTraining trains on problems that grow, with carries that fade and a piecewise
// schedule. It gives the same bytes on any number of threads, with a pause, and on the simulated
// GPU. A budget that does not determine the number of problems is refused.
func TestCurriculumTraining(t *testing.T) {
	full.Only(t)
	dir := generateWith(t, nil, "specs/addition.arith", "model.width=16", "model.heads=2", "model.ffn=relu(hidden=16)", "task.operands=digits(1..6)",
		"task.curriculum=digits(from=1, until=75%)", "task.carries=often", "task.vocabulary=used", "train.schedule=pieces(at=[0%,50%,100%], factor=[0.1,1,0])",
		"train.batch=16", "train.microbatch=4", "train.ramp=grow(over = 50%)", "train.budget=12steps", "train.report=full(every=3steps)", "eval.digits=[6]", "eval.samples=4")
	binary := filepath.Join(t.TempDir(), "addition")
	command(t, dir, nil, "go", "build", "-o", binary, ".")
	train := func(run string, flags ...string) []byte {
		do(t, dir, binary, append([]string{"train", "--quiet", "--out", run}, flags...)...)
		files, err := filepath.Glob(filepath.Join(run, "ckpt", "*.safetensors"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%v leaves no checkpoint: %v", flags, err)
		}
		return append(read(t, files[len(files)-1]), times.ReplaceAll(read(t, filepath.Join(run, "metrics.jsonl")), nil)...)
	}
	want := train(filepath.Join(t.TempDir(), "one"), "--device", "cpu", "--threads", "1")
	if !bytes.Equal(want, train(filepath.Join(t.TempDir(), "two"), "--device", "cpu", "--threads", "2")) {
		t.Error("two threads: other bytes than one")
	}
	if !bytes.Equal(want, train(filepath.Join(t.TempDir(), "sim"), "--device", "sim")) {
		t.Error("the simulator: other bytes than one thread")
	}
	run := filepath.Join(t.TempDir(), "paused")
	train(run, "--device", "cpu", "--pause", "0.4")
	if !bytes.Equal(want, train(run, "--device", "cpu", "--resume")) {
		t.Error("with a pause: other bytes than without")
	}
	if bytes.Equal(want, train(filepath.Join(t.TempDir(), "longer"), "--device", "cpu", "--steps", "13")) {
		t.Error("one more step changes nothing")
	}
	out, err := exec.Command(binary, "train", "--device", "cpu", "--out", filepath.Join(t.TempDir(), "time"), "--time", "1s").CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("E0340")) {
		t.Errorf("a budget of time: %v\n%s", err, out)
	}
}
