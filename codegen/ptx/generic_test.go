package ptx_test

import (
	"os"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler/kernel"
)

func TestFile(t *testing.T) {
	text, _ := os.ReadFile("../../generated/successor/kernels.kir")
	ks, err := kernel.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, al := range []bool{false, true} {
		o := ptx.Options{Aligned: func(k *kernel.Kernel, b int) bool { return al }}
		out, err := ptx.Module(ks, o)
		if err != nil {
			t.Fatal(err)
		}
		os.WriteFile("/tmp/lead/k.ptx", out.Text, 0o644)
		total := int64(0)
		for _, k := range ks {
			s := kernel.Scalars{"B": 8, "T": 12, "S": 12, "C": 12, "P": 0, "N": 1000, "layer": 0, "step": 3, "example": 8, "seed0": 1, "seed1": 2, "scale": 1, "lr": 1, "correct1": 1, "correct2": 1, "clip": 1, "decay": 0}
			w := ptxtest.Ways()[0]
			r, err := ptxtest.Load(out, w)
			if err != nil {
				t.Fatal(err)
			}
			c, err := ptxtest.NewCase(k, s, 0, 1)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Check(c); err != nil {
				t.Error(k.Name, err)
			}
			t.Log(k.Name, r.Steps())
			total += r.Steps()
		}
		t.Log("total", total)
	}
}
