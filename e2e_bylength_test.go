package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/ckpt"
)

// byLength returns the settings of a small loop and of its training.
func byLength(set ...string) []string {
	return append([]string{"model.width=16", "model.heads=2", "model.ffn=gelu(hidden=16)", "model.dropout=10%", "task.curriculum=none", "task.holdout=0%",
		"train.batch=24", "train.microbatch=8", "train.chunk=16", "train.budget=6steps", "train.report=brief(every=3steps)", "eval.digits=[3]", "eval.samples=4"}, set...)
}

// TestByLengthTraining trains a loop that runs as often as a problem is long. It ends with the
// same bytes on every instruction set, on any number of threads, on the simulated GPU with its
// larger launches, and after a pause. If all problems have one length, it ends with the bytes of
// the loop that is given that number. Tests use that number, too.
func TestByLengthTraining(t *testing.T) {
	full.Only(t)
	build := func(spec string, set ...string) string {
		dir := generateWith(t, nil, spec, byLength(set...)...)
		binary, err := filepath.Abs(filepath.Join(dir, "program"))
		if err != nil {
			t.Fatal(err)
		}
		command(t, dir, nil, "go", "build", "-o", binary, ".")
		return binary
	}
	train := func(binary, run string, flags ...string) []byte {
		do(t, filepath.Dir(binary), binary, append([]string{"train", "--quiet", "--out", run}, flags...)...)
		files, err := filepath.Glob(filepath.Join(run, "ckpt", "*.safetensors"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%v leaves no checkpoint: %v", flags, err)
		}
		return append(read(t, files[len(files)-1]), times.ReplaceAll(read(t, filepath.Join(run, "metrics.jsonl")), nil)...)
	}

	t.Run("anywhere", func(t *testing.T) {
		for spec, set := range map[string][]string{
			"specs/small/copy.arith":        {"task.operands=digits(1..4)", "model.decoder_only.times=2 * digits - 1"},
			"specs/small/parity_loop.arith": {"task.operands=digits(1..5)", "model.decoder_only.times=prompt", "model.embed.position=abacus(max_offset=3)", "model.decoder_only.self.mask=true", "model.decoder_only.self.bias=alibi()"},
		} {
			binary := build(spec, set...)
			want := train(binary, filepath.Join(t.TempDir(), "one"), "--device", "cpu", "--threads", "1")
			for name, flags := range map[string][]string{
				"plain Go":      {"--device", "cpu", "--cpu", "go"},
				"two threads":   {"--device", "cpu", "--threads", "2"},
				"the simulator": {"--device", "sim"},
			} {
				if !bytes.Equal(want, train(binary, filepath.Join(t.TempDir(), "run"), flags...)) {
					t.Errorf("%s, %s: other bytes than one thread", spec, name)
				}
			}
			run := filepath.Join(t.TempDir(), "paused")
			train(binary, run, "--device", "cpu", "--pause", "0.4")
			if !bytes.Equal(want, train(binary, run, "--device", "cpu", "--resume")) {
				t.Errorf("%s, with a pause: other bytes than without", spec)
			}
		}
	})

	t.Run("one length", func(t *testing.T) {
		weights := map[string][]ckpt.Tensor{}
		for _, runs := range []string{"digits + 1", "4", "3"} {
			binary := build("specs/small/copy.arith", "task.operands=digits(3..3)", "model.decoder_only.times="+runs)
			run := filepath.Join(t.TempDir(), "run")
			train(binary, run, "--device", "cpu", "--threads", "1")
			file, err := ckpt.Read(filepath.Join(run, "ckpt", "step-00000006.safetensors"))
			if err != nil {
				t.Fatal(err)
			}
			weights[runs] = file.Tensors
		}
		if !reflect.DeepEqual(weights["digits + 1"], weights["4"]) || reflect.DeepEqual(weights["4"], weights["3"]) {
			t.Error("a number by length of 4 is not the number 4")
		}
	})

	t.Run("tests", func(t *testing.T) {
		binary := build("specs/small/copy.arith", "task.operands=digits(1..2)", "model.decoder_only.times=digits", "train.budget=150steps", "train.report=brief(every=150steps)", "train.optimizer.lr=1e-2", "model.decoder_only.self.mask=true", "model.dropout=0%", "eval.samples=200")
		run := filepath.Join(t.TempDir(), "run")
		train(binary, run, "--device", "cpu", "--threads", "1")
		ask := func(flags ...string) (out struct {
			ByCell [][]int `json:"by_cell"`
		}) {
			said, err := exec.Command(binary, append([]string{"eval", run, "--device", "cpu", "--quiet", "--json", "--metric", "first_token"}, flags...)...).Output()
			if err == nil {
				err = json.Unmarshal(said, &out)
			}
			if err != nil {
				t.Fatalf("%v: %v\n%s", flags, err, said)
			}
			return out
		}
		together := ask("--digits", "1,2,3,5").ByCell
		if greedy := ask("--digits", "1,2,3,5", "--mode", "greedy").ByCell; !reflect.DeepEqual(together, greedy) {
			t.Errorf("by one pass %v, token by token %v", together, greedy)
		}
		differ := false
		for k, digits := range []string{"1", "2", "3", "5"} {
			if alone := ask("--digits", digits, "--times", digits).ByCell; !reflect.DeepEqual(together[k:k+1], alone) {
				t.Errorf("%s digits: %v among others, %v alone with so many runs", digits, together[k], alone)
			}
			differ = differ || !reflect.DeepEqual(together[k:k+1], ask("--digits", digits, "--times", "4").ByCell)
		}
		if !differ || together[0][3] == 0 {
			t.Errorf("no answer depends on the number of runs: %v", together)
		}
	})
}
