package main

import (
	"bytes"
	"path/filepath"
	"testing"
)

// TestLoopedTraining trains a loop with all that training has: passes of two kinds, a
// throttled sum over the batch, a growing batch, chunks that are no whole groups of examples
// that share draws, a budget in FLOP. It ends with the same bytes on any instruction set, any number of threads and the simulated GPU.
func TestLoopedTraining(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	dir := generateWith(t, nil, "specs/small/looped.arith", "model.width=32", "model.ffn=geglu(hidden=32)", "model.head=none",
		"model.loop.layers=1", "model.loop.times=4", "train.schedule=constant", "task.digits=1..3", "train.loss=progressive(alpha=0.5)", "train.reduce=sum_over_batch",
		"train.throttle=true", "train.batch=24", "train.microbatch=4", "train.chunk=6", "train.ramp=60%", "train.budget=50MFLOP",
		"eval.grid=[1..2,1..2]", "eval.samples=4")
	binary := filepath.Join(t.TempDir(), "looped")
	command(t, dir, nil, "go", "build", "-o", binary, ".")
	train := func(flags ...string) []byte {
		run := filepath.Join(t.TempDir(), "run")
		command(t, dir, nil, binary, append([]string{"train", "--quiet", "--out", run}, flags...)...)
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
		"the simulator": {"--device", "sim"},
	} {
		if !bytes.Equal(want, train(flags...)) {
			t.Errorf("%s: other bytes than one thread", name)
		}
	}
}
