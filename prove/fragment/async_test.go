package fragment

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/cuda"
)

// TestScripts follows the scripts for barriers by what the manual says of them: a
// script that leaves pending arrivals or bytes below zero means nothing on a card.
// Enough of them have to end a phase by an arrival, and enough by bytes.
func TestScripts(t *testing.T) {
	r := record(t, 90, Options{Only: []string{"mbarrier"}})
	if len(r.Probes) != 2 {
		t.Fatalf("%d probes", len(r.Probes))
	}
	for _, one := range r.Probes {
		var byArrival, byBytes int
		_, size := layout(one.In, one.Threads)
		for number := range one.Cases {
			in := read(r.Inputs[one.Inputs][number*size:], one.In, 1)
			count := int(in[0][0])
			pending, left := count, 0
			for i := range scriptSteps {
				step := int(in[1+i][0])
				what, n := step&255, step>>8
				switch what {
				case 1, 3:
					left += n
				case 2:
					left -= n
				}
				if what == 0 || what == 3 {
					pending--
				}
				if count < 1 || pending < 0 || left < 0 || left >= 1<<20 || what > 3 || one.Name == "mbarrier.arrive" && what != 0 {
					t.Fatalf("%s, case %d: step %d of %x leaves %d pending of %d, %d bytes", one.Name, number, i, in, pending, count, left)
				}
				if pending == 0 && left == 0 {
					if pending = count; what == 2 {
						byBytes++
					} else {
						byArrival++
					}
				}
			}
		}
		if byArrival < one.Cases/2 || strings.HasSuffix(one.Name, "tx") && byBytes < one.Cases/2 {
			t.Errorf("%s: %d phases end by an arrival, %d by bytes, of %d cases", one.Name, byArrival, byBytes, one.Cases)
		}
	}
}

// describer notes what it is told to describe.
type describer struct {
	cuda.Driver
	told cuda.Tensor
}

func (d *describer) Describe(t cuda.Tensor) (r [128]byte, err error) {
	d.told = t
	copy(r[:], bytes.Repeat([]byte{0xab}, len(r)))
	return r, nil
}

// TestBoxes wants the descriptor of all inputs in memory, its address as the third
// parameter of the kernel, and boxes that begin within reach of their case.
func TestBoxes(t *testing.T) {
	p, err := choose([]string{"cp.async.bulk.tensor.2d.shared.global box 32 8 swizzle 64"})
	if err != nil {
		t.Fatal(err)
	}
	r := &Recording{Inputs: map[string][]byte{}}
	one := p[0].prepare(r, Options{Cases: 2048})
	if !strings.Contains(one.PTX, ".param .u64 inputs, .param .u64 outputs, .param .u64 map)") {
		t.Errorf("the kernel has other parameters:\n%s", one.PTX)
	}
	const instead = `.version 8.0
.target sm_90
.address_size 64
.visible .entry probe(.param .u64 inputs, .param .u64 outputs, .param .u64 map)
{
	.reg .b32 %x, %y;
	.reg .b64 %a, %out;
	.reg .pred %other;
	mov.u32 %x, %tid.x;
	mov.u32 %y, %ctaid.x;
	or.b32 %x, %x, %y;
	setp.ne.u32 %other, %x, 0;
	@%other ret;
	ld.param.u64 %out, [outputs];
	ld.param.u64 %a, [inputs];
	st.global.u64 [%out], %a;
	ld.param.u64 %a, [map];
	st.global.u64 [%out+8], %a;
	ld.global.u64 %a, [%a+120];
	st.global.u64 [%out+16], %a;
	ret;
}`
	d := &describer{Driver: another{open(t, 90), func(string) (string, error) { return instead, nil }}}
	out, err := run(d, one, r.Inputs[one.Inputs])
	if err != nil {
		t.Fatal(err)
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(out[8*i:]) }
	if word(1)%128 != 0 || word(2) != 0xabababababababab {
		t.Errorf("the kernel sees a descriptor at %#x that ends with %#x", word(1), word(2))
	}
	want := cuda.Tensor{Address: cuda.Ptr(word(0)), Element: 9, Size: [2]int{64, 320}, Stride: 128, Box: [2]int{32, 8}, Swizzle: 64}
	if d.told != want {
		t.Errorf("%+v is described, want %+v", d.told, want)
	}
	if _, err := describe(struct{ cuda.Driver }{}, d.told); err == nil || !strings.Contains(err.Error(), "tensors") {
		t.Error(err)
	}
	before := 0
	for number := range one.Cases {
		in := read(r.Inputs[one.Inputs][number*1280:], one.In, warp)
		x, y := int(int32(in[8][0])), int(int32(in[9][0]))
		if x < -32 || x > 96 || y < 10*number-2 || y > 10*number+5 {
			t.Errorf("case %d begins at %d, %d", number, x, y)
		}
		if x < 0 {
			before++
		}
	}
	if before == 0 {
		t.Error("no box begins before the first element")
	}
}
