package main

import (
	"bytes"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/cpu"
)

// TestRounded trains with factors rounded to BF16 (an encoder-decoder and a loop) and with split
// products. The bytes are the same on any number of threads, with other instructions, and resumed
// after the first step. The simulated GPU, whose tensor cores add in another order, comes close
// and repeats its own bytes. The record names the precision.
func TestRounded(t *testing.T) {
	full.Only(t)
	for _, c := range []struct {
		spec, precision string
		near            float64
		set             []string
	}{
		{"tiny", "bf16", 1e-3, []string{"train.batch=8", "train.microbatch=2"}},
		{"tiny", "tf32x3", 1e-6, []string{"train.batch=8", "train.microbatch=2"}},
		{"small/looped", "bf16", 1e-3, []string{"train.batch=8", "model.width=24", "model.heads=2", "model.ffn=geglu(hidden=32)", "model.head=geglu(hidden=32)",
			"eval.grid=[1..1, 1..2]", "eval.samples=3"}},
	} {
		t.Run(c.spec+" "+c.precision, func(t *testing.T) {
			dir := generateWith(t, nil, "specs/"+c.spec+".arith", append(c.set, "train.precision="+c.precision)...)
			binary := filepath.Join(t.TempDir(), "rounded")
			command(t, dir, nil, "go", "build", "-o", binary, ".")
			train := func(name string, flags ...string) string {
				run := filepath.Join(t.TempDir(), name)
				for _, more := range strings.Split(strings.Join(flags, " "), ";") {
					do(t, dir, binary, append([]string{"train", "--quiet", "--out", run}, strings.Fields(more)...)...)
				}
				record := string(read(t, filepath.Join(run, "run.json")))
				schedules := "mma, "
				if _, isa, ok := strings.Cut(strings.Join(flags, " "), "--cpu "); ok {
					schedules = isa + `"`
				} else if !strings.Contains(strings.Join(flags, " "), "--device sim") {
					schedules = cpu.Detect().String() + `"`
				}
				if !strings.Contains(record, `"precision": "`+c.precision+`"`) || !strings.Contains(record, `"schedules": "`+schedules) {
					t.Errorf("the record does not say the precision, and the schedules %s:\n%s", schedules, record)
				}
				return filepath.Join(run, "ckpt", "step-00000003.safetensors")
			}
			want := train("plain", "--steps 3 --device cpu --threads 2 --cpu go")
			simulated := train("simulated", "--steps 3 --device sim")
			if d := distance(t, simulated, want); d == 0 || d > c.near {
				t.Errorf("the simulated GPU is %.2g off", d)
			}
			type run struct{ name, flags, want string }
			runs := []run{
				{"one thread", "--steps 3 --device cpu --threads 1", want},
				{"simulated again", "--steps 3 --device sim", simulated},
				{"resumed", "--steps 1 --device cpu; --resume --steps 3 --device cpu", want},
			}
			for isa := cpu.AVX2; isa <= cpu.Detect(); isa++ {
				if _, err := cpu.ParseISA(isa.String()); err != nil {
					continue
				}
				runs = append(runs, run{"on " + isa.String(), "--steps 3 --device cpu --cpu " + isa.String(), want})
			}
			for _, c := range runs {
				if !bytes.Equal(read(t, train(c.name, c.flags)), read(t, c.want)) {
					t.Errorf("%s: another checkpoint", c.name)
				}
			}
		})
	}
}

// distance returns how far the parameters and moments of two checkpoints are apart, relative to
// their sizes. It leaves out the biases of keys: softmax does not depend on them, so only
// rounding moves them.
func distance(t *testing.T, got, want string) float64 {
	t.Helper()
	a, err := ckpt.Read(got)
	if err != nil {
		t.Fatal(err)
	}
	b, err := ckpt.Read(want)
	if err != nil {
		t.Fatal(err)
	}
	off, size := 0.0, 0.0
	for i, x := range a.Tensors {
		if strings.HasSuffix(x.Name, ".k.b") {
			continue
		}
		for j, v := range b.Tensors[i].Data {
			off, size = off+math.Abs(float64(x.Data[j]-v)), size+math.Abs(float64(v))
		}
	}
	return off / size
}
