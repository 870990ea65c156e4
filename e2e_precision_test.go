package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// TestRounded trains with factors rounded to BF16, an encoder-decoder and a loop: the same
// bytes with any number of threads, by other instructions, on the simulated GPU, and
// resumed after the first step. The record says the precision.
func TestRounded(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	for _, c := range []struct {
		spec string
		set  []string
	}{
		{"tiny", []string{"train.batch=8", "train.microbatch=2"}},
		{"small/looped", []string{"train.batch=8", "model.width=24", "model.heads=2", "model.ffn=geglu(hidden=32)", "model.head=geglu(hidden=32)",
			"eval.grid=[1..1, 1..2]", "eval.samples=3"}},
	} {
		t.Run(c.spec, func(t *testing.T) {
			dir := generateWith(t, nil, "specs/"+c.spec+".arith", append(c.set, "train.precision=bf16")...)
			binary := filepath.Join(t.TempDir(), "rounded")
			command(t, dir, nil, "go", "build", "-o", binary, ".")
			train := func(name string, flags ...string) []byte {
				run := filepath.Join(t.TempDir(), name)
				for _, more := range strings.Split(strings.Join(flags, " "), ";") {
					command(t, dir, nil, binary, append([]string{"train", "--quiet", "--out", run}, strings.Fields(more)...)...)
				}
				if record := string(read(t, filepath.Join(run, "run.json"))); !strings.Contains(record, `"precision": "bf16"`) {
					t.Errorf("the record does not say the precision:\n%s", record)
				}
				return read(t, filepath.Join(run, "ckpt", "step-00000003.safetensors"))
			}
			want := train("plain", "--steps 3 --device cpu --threads 2")
			for name, flags := range map[string]string{
				"one thread":      "--steps 3 --device cpu --threads 1",
				"without vectors": "--steps 3 --device cpu --cpu go",
				"simulated":       "--steps 3 --device sim",
				"resumed":         "--steps 1 --device cpu; --resume --steps 3 --device cpu",
			} {
				if !bytes.Equal(train(name, flags), want) {
					t.Errorf("%s: another checkpoint", name)
				}
			}
		})
	}
}
