package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/arithlang/mlc/internal/full"
)

// TestLanes trains several models at once. Each ends with the same bytes as if trained alone, on
// any number of threads and after a pause. The losses of problems asked on the way are the same,
// too.
func TestLanes(t *testing.T) {
	full.Only(t)
	small := []string{"model.width=16", "model.heads=2", "model.ffn=gelu(hidden=16)", "model.dropout=10%", "train.batch=24", "train.microbatch=4", "train.chunk=8",
		"train.budget=6steps", "train.report=full(every=3steps)", "train.clip=0.5", "eval.samples=4", "train.lanes=8"}
	for spec, set := range map[string][]string{
		// Text of many lengths, offsets, a progressive loss and a learned bias.
		"specs/small/looped.arith": {"task.operands=digits(1..4)", "model.decoder_only.self.bias=fire(hidden=4)", "eval.grid=none", "eval.digits=[3]"},
		// An encoder-decoder with windows, and an optimizer for matrices.
		"specs/successor.arith": {"task.holdout=10%", "train.optimizer=muon(lr=0.02)", "eval.digits=[3]"},
	} {
		t.Run(filepath.Base(spec), func(t *testing.T) {
			dir := generateWith(t, nil, spec, append(small, set...)...)
			binary := filepath.Join(t.TempDir(), "program")
			command(t, dir, nil, "go", "build", "-o", binary, ".")
			trained := func(run string) []byte {
				files, err := filepath.Glob(filepath.Join(run, "ckpt", "*.safetensors"))
				if err != nil || len(files) == 0 {
					t.Fatalf("%s has no checkpoint: %v", run, err)
				}
				return append(read(t, files[len(files)-1]), times.ReplaceAll(read(t, filepath.Join(run, "metrics.jsonl")), nil)...)
			}
			folder := t.TempDir()
			all := func(name string, flags ...string) string {
				out := filepath.Join(folder, name)
				command(t, ".", nil, binary, append([]string{"train", "--quiet", "--device", "cpu", "--init-seed", "3..11", "--out", out}, flags...)...)
				return out
			}
			one, two := all("one", "--threads", "1"), all("two", "--threads", "3")
			all("paused", "--pause", "0.4")
			paused := all("paused", "--resume")
			for _, seed := range []int{3, 7, 11} {
				alone := filepath.Join(folder, fmt.Sprint("alone-", seed))
				command(t, ".", nil, binary, "train", "--quiet", "--device", "cpu", "--init-seed", fmt.Sprint(seed), "--out", alone)
				want := trained(alone)
				for _, out := range []string{one, two, paused} {
					run := filepath.Join(out, fmt.Sprint("init-seed-", seed))
					if !bytes.Equal(want, trained(run)) {
						t.Errorf("%s: other bytes than alone", run)
					}
				}
			}
		})
	}
}
