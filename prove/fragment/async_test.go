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

// TestBoxes wants the descriptor of all inputs where the kernel's third parameter
// lies, and boxes that begin within reach of their case.
func TestBoxes(t *testing.T) {
	p, err := choose([]string{"cp.async.bulk.tensor.2d.shared.global box 32 8 swizzle 64"})
	if err != nil {
		t.Fatal(err)
	}
	r := &Recording{Inputs: map[string][]byte{}}
	one := p[0].prepare(r, Options{Cases: 2048})
	d := &describer{}
	args, err := arguments(d, one, 0x1000, 0x2000, len(r.Inputs[one.Inputs]))
	if err != nil {
		t.Fatal(err)
	}
	want := cuda.Tensor{Address: 0x1000, Element: 9, Size: [2]int{64, 320}, Stride: 128, Box: [2]int{32, 8}, Swizzle: 64}
	if d.told != want {
		t.Errorf("%+v is described, want %+v", d.told, want)
	}
	if len(args) != 192 || binary.LittleEndian.Uint64(args[8:]) != 0x2000 || args[63] != 0 || args[64] != 0xab || args[191] != 0xab {
		t.Errorf("parameters are %x", args)
	}
	if _, err := arguments(struct{ cuda.Driver }{}, one, 0, 0, 0); err == nil || !strings.Contains(err.Error(), "tensors") {
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
