package cuda_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
)

// factorPTX has a kernel that writes the first and the last of the step scalars.
const factorPTX = `
.version 7.8
.target sm_80
.address_size 64
.visible .entry factor(.param .u64 x, .param .u64 xStep, .param .u64 step)
.reqntid 32
{
	.reg .pred %other;
	.reg .b32 %v;
	.reg .b64 %x, %step;
	mov.u32 %v, %tid.x;
	setp.ne.u32 %other, %v, 0;
	@%other bra END;
	ld.param.u64 %x, [x];
	ld.param.u64 %step, [step];
	ld.global.u32 %v, [%step];
	st.global.u32 [%x], %v;
	ld.global.u32 %v, [%step+28];
	st.global.u32 [%x+4], %v;
END:
	ret;
}
`

// TestSettle compares the factor on the device with device.Clip, bit for bit. After a step without
// a factor no step has one, until a step does not depend on an earlier one.
func TestSettle(t *testing.T) {
	m, _ := newMachine(t, cuda.Program{PTX: factorPTX, Kernels: []cuda.Kernel{
		{Name: "factor", Threads: 32, Step: true, Blocks: func(*device.Env) int { return 1 }},
	}}, 4)
	w := m.Root()
	w.Fit(16, 0)
	step := uint32(0)
	settled := func(squares float32, limit float64, after bool) float32 {
		step++
		w.PutFloats(ref(device.Work, 0), []float32{squares, 0, 0})
		e := w.Env()
		*e = device.Env{Step: step, Clip: 7}
		m.Settle(e, limit, after)
		w.PutFloats(ref(device.Work, 0), []float32{-1})
		w.Queue().Launch(0, e, ref(device.Work, 1))
		var got [2]float32
		w.GetFloats(got[:], ref(device.Work, 1))
		if err := m.Err(); err != nil || math.Float32bits(got[0]) != step {
			t.Fatalf("scalars of step %d, %v; want those of step %d", math.Float32bits(got[0]), err, step)
		}
		return got[1]
	}
	same := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b }
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	squares := []float32{0, 1e-45, 1, 0.2499999, 0.25, 0.2500001, 3, 1e20, math.MaxFloat32, inf, nan}
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		squares = append(squares, float32(math.Exp(20*r.NormFloat64())))
	}
	for _, limit := range []float64{0, 0.5, 1, 1.0 / 3, 1e-30, 1e30} {
		for _, x := range squares {
			if got, want := settled(x, limit, false), device.Clip(limit, x); !same(got, want) {
				t.Errorf("norm² %g, limit %g: %g, want %g", x, limit, got, want)
			}
		}
	}
	for i, c := range []struct {
		squares float32
		after   bool
		want    float32
	}{{4, true, 0.5}, {inf, true, nan}, {4, true, nan}, {1, true, nan}, {4, false, 0.5}, {4, true, 0.5}, {nan, false, nan}, {1, true, nan}, {1, false, 1}} {
		if got := settled(c.squares, 1, c.after); i > 0 && !same(got, c.want) {
			t.Errorf("%d: %+v: %g", i, c, got)
		}
	}
}

// TestClip compares with factors computed by hand.
func TestClip(t *testing.T) {
	for _, c := range []struct {
		limit         float64
		squares, want float32
	}{{0, 1e30, 1}, {1, 4, 0.5}, {1, 0.5, 1}, {2, 4, 1}, {0.75, 9, 0.25}} {
		if got := device.Clip(c.limit, c.squares); got != c.want {
			t.Errorf("%+v: %g", c, got)
		}
	}
}
