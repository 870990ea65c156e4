package fragment

import (
	"context"
	"testing"

	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/sim/simulated"
)

// open returns a simulated device.
func open(t *testing.T, arch int) cuda.Driver {
	t.Helper()
	d, err := simulated.Open(ptxsim.Options{Arch: arch})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// record records on a simulated device.
func record(t *testing.T, arch int, o Options) *Recording {
	t.Helper()
	r, err := Record(context.Background(), open(t, arch), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// eachCase compares the simulator's results with an oracle, in all cases of the probes of a group
// that the simulator knows exactly. The oracle gets all operands of a case and returns the
// results of a thread.
func eachCase(t *testing.T, group string, want func(p *Probe, in [][]uint64, thread int) []uint64) {
	t.Helper()
	known := map[string]*Probe{}
	for _, p := range Probes() {
		known[p.Name] = p
	}
	r := record(t, 90, Options{Seed: 3, Only: []string{group}})
	for _, one := range r.Probes {
		p := known[one.Name]
		if p.Claim != Exact {
			continue
		}
		if one.Error != "" {
			t.Errorf("%s: %s", one.Name, one.Error)
			continue
		}
		_, size := layout(one.In, one.Threads)
		_, outSize := layout(one.Out, one.Threads)
		wrong := 0
		for number := range one.Cases {
			in := read(r.Inputs[one.Inputs][number*size:], one.In, one.Threads)
			out := read(one.Outputs[number*outSize:], one.Out, one.Threads)
			for thread := range one.Threads {
				for k, x := range want(p, in, thread) {
					ot := one.Out[k]
					if got := out[k][thread]; got != x {
						if wrong++; wrong < 4 {
							var operands []string
							for k, it := range one.In {
								operands = append(operands, it.text(in[k][thread]))
							}
							t.Errorf("%s, case %d, thread %d, of %q: %s, want %s", one.Name, number, thread, operands, ot.text(got), ot.text(x))
						}
					}
				}
			}
		}
		if wrong > 3 {
			t.Errorf("%s: %d results are wrong", one.Name, wrong)
		}
	}
}
