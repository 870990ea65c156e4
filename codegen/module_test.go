package codegen

import (
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler/kernel"
)

// TestGeometryCountsJoinedLaunches has kernels of gradients whose launches go together, in sets
// of at least so many, beside those that are launched alone somewhere and those of tests.
func TestGeometryCountsJoinedLaunches(t *testing.T) {
	p := compile(t, "bias/addition_abs", "train.batch=512", "train.chunk=32")
	o := ModuleOptions(p.Lowered)
	want := map[string]int{
		"outer_128x128_acc":   6,
		"outer_128x128_acc_2": 2,
		"sum_128_mul_acc":     1, // three in a layer, one in the head
		"linear_128x128_bias": 1, // q, k and v go together; q of the source goes alone
	}
	for _, k := range p.Lowered.Kernels {
		sets, known := want[k.Name]
		if !known {
			continue
		}
		delete(want, k.Name)
		g := p.Lowered.Geometry
		if g.Replicas != 16 {
			t.Errorf("%d chunks", g.Replicas)
		}
		if g.Replicas *= sets; o.Geometry(k) != g {
			t.Errorf("%s: %+v, not %+v", k.Name, o.Geometry(k), g)
		}
	}
	if len(want) > 0 {
		t.Errorf("there are no kernels %v", want)
	}
	if g := o.Geometry(&kernel.Kernel{Name: "argmax"}); g != ptx.Alone {
		t.Errorf("%+v for a kernel of no gradients", g)
	}
}
