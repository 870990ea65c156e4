package fragment

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/cuda"
)

// TestScripts checks the scripts for barriers against the manual. A script in which pending
// arrivals or bytes fall below zero has no meaning on a card. Enough scripts must end a phase by
// an arrival, and enough by bytes.
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

// describer records what it is told to describe.
type describer struct {
	cuda.Driver
	told cuda.Tensor
}

func (d *describer) Describe(t cuda.Tensor) (r [128]byte, err error) {
	d.told = t
	copy(r[:], bytes.Repeat([]byte{0xab}, len(r)))
	return r, nil
}

// empty is a kernel with the parameters of boxes that does nothing.
func empty(string) (string, error) {
	return `.version 8.0
.target sm_90
.address_size 64
.visible .entry probe(.param .u64 inputs, .param .u64 outputs, .param .u64 map) { ret; }`, nil
}

// TestCorners checks where boxes begin: at multiples of 16 bytes, except boxes that a card
// refuses, within reach of their case, and beyond each edge in some cases.
func TestCorners(t *testing.T) {
	for _, p := range Probes() {
		if p.box == nil {
			continue
		}
		r := &Recording{Inputs: map[string][]byte{}}
		one := p.prepare(r, Options{Cases: 2048})
		_, size := layout(one.In, one.Threads)
		rows := one.inputBytes() / rowBytes
		var left, right, above, below int
		for number := range one.Cases {
			in := read(r.Inputs[one.Inputs][number*size:], one.In, warp)
			x, y := int(int32(in[8][0])), int(int32(in[9][0]))
			if x < -32 || x > 96 || y < 10*number-2 || y > 10*number+8 || (x%8 != 0) != (p.Claim == Refused) {
				t.Errorf("%s: case %d begins at %d, %d", p.Name, number, x, y)
			}
			for _, c := range []struct {
				count  *int
				beyond bool
			}{{&left, x < 0}, {&right, x+p.box.Elements > 64}, {&above, y < 0}, {&below, y+p.box.Rows > rows}} {
				if c.beyond {
					*c.count++
				}
			}
		}
		if p.Claim == Modelled && min(left, right, above, below) == 0 {
			t.Errorf("%s: of %d boxes %d reach beyond the left edge, %d the right, %d the first row, %d the last", p.Name, one.Cases, left, right, above, below)
		}
	}
}

// TestBoxModel copies boxes of rows whose elements are all different.
func TestBoxModel(t *testing.T) {
	const rows = 20
	var all []byte
	for i := range rows * 64 {
		all = binary.LittleEndian.AppendUint16(all, uint16(i+1))
	}
	element := func(row, col int) uint16 { return uint16(64*row + col + 1) }
	const pattern = 0xa5a5
	for _, c := range []struct {
		box  Box
		x, y int
		want map[int]uint16 // by bytes of the tile
	}{
		{Box{64, 8, 0}, 0, 0, map[int]uint16{0: element(0, 0), 2: element(0, 1), 126: element(0, 63), 128: element(1, 0), 1022: element(7, 63)}},
		{Box{64, 8, 0}, 8, 12, map[int]uint16{0: element(12, 8), 110: element(12, 63), 112: 0, 126: 0, 128: element(13, 8), 1006: element(19, 63)}},
		{Box{64, 8, 0}, -8, -1, map[int]uint16{0: 0, 126: 0, 128: 0, 142: 0, 144: element(0, 0), 254: element(0, 55), 272: element(1, 0), 1022: element(6, 55)}},
		{Box{64, 8, 0}, 16, 17, map[int]uint16{0: element(17, 16), 94: element(17, 63), 96: 0, 256: element(19, 16), 384: 0, 1022: 0}},
		{Box{64, 8, 0}, 64, 0, map[int]uint16{0: 0, 512: 0, 1022: 0}},
		{Box{16, 8, 0}, 24, 3, map[int]uint16{0: element(3, 24), 30: element(3, 39), 32: element(4, 24), 254: element(10, 39), 256: pattern, 1022: pattern}},
		{Box{16, 8, 32}, 0, 0, map[int]uint16{0: element(0, 0), 16: element(0, 8), 112: element(3, 8), 128: element(4, 8), 144: element(4, 0), 240: element(7, 0), 256: pattern}},
		{Box{32, 8, 64}, 0, 0, map[int]uint16{0: element(0, 0), 64: element(1, 0), 128: element(2, 8), 144: element(2, 0), 160: element(2, 24),
			256: element(4, 16), 272: element(4, 24), 384: element(6, 24), 510: element(7, 7), 512: pattern}},
		{Box{64, 8, 128}, 0, 0, map[int]uint16{0: element(0, 0), 112: element(0, 56), 128: element(1, 8), 144: element(1, 0),
			384: element(3, 24), 400: element(3, 16), 416: element(3, 8), 432: element(3, 0), 448: element(3, 56), 496: element(3, 32), 896: element(7, 56), 1022: element(7, 7)}},
		{Box{64, 8, 128}, -8, 0, map[int]uint16{0: 0, 16: element(0, 0), 128: element(1, 0), 144: 0}},
		{Box{32, 5, 128}, 0, 0, map[int]uint16{0: element(0, 0), 62: element(0, 31), 64: pattern, 126: pattern, 128: element(1, 8), 144: element(1, 0), 256: element(2, 16), 512: pattern,
			576: element(4, 0), 638: element(4, 31), 640: pattern}},
	} {
		p := c.box.probe()
		in := make([][]uint64, len(p.In))
		for k := range in {
			in[k] = make([]uint64, warp)
		}
		in[tileWords][0], in[tileWords+1][0] = uint64(uint32(c.x)), uint64(uint32(c.y))
		out := c.box.model(all)(p, in)
		for lane := range warp {
			if out[0][lane] != 2 || out[1][lane] != 1 || out[2][lane] != 1 {
				t.Errorf("%v, lane %d: the marks of the barrier are %d, %d, %d", c.box, lane, out[0][lane], out[1][lane], out[2][lane])
			}
		}
		for at, want := range c.want {
			if got := uint16(out[3+at/128][at%128/4] >> (at % 4 * 8)); got != want {
				t.Errorf("%v at %d, %d: byte %d has %#x, want %#x", c.box, c.x, c.y, at, got, want)
			}
		}
	}
}

// TestBoxResults compares the model's results, then with one bit changed, and then with a kernel
// that copies nothing.
func TestBoxResults(t *testing.T) {
	d := &describer{Driver: another{open(t, 90), empty}}
	r, err := Record(t.Context(), d, Options{Only: []string{"box 64 8 swizzle 128"}})
	if err != nil || len(r.Probes) != 1 || r.Probes[0].Error != "" {
		t.Fatalf("%+v, %v", r, err)
	}
	one := r.Probes[0]
	if found, err := differences(r); err != nil || len(found) < one.Cases*3*warp {
		t.Errorf("of nothing copied: %d differences, %v", len(found), err)
	}
	p, _ := choose([]string{one.Name})
	_, inSize := layout(one.In, one.Threads)
	_, size := layout(one.Out, one.Threads)
	all := r.Inputs[one.Inputs]
	for number := range one.Cases {
		write(one.Outputs[number*size:], one.Out, warp, p[0].box.model(all)(p[0], read(all[number*inSize:], one.In, warp)))
	}
	report, err := Compare(r)
	if err != nil || len(report.Differences) != 0 || report.Rows[0].Results != one.Cases*size/4 {
		t.Errorf("%+v, %v", report, err)
	}
	one.Outputs[5*size/2] ^= 1
	if found, err := differences(r); err != nil || len(found) != 1 || found[0].Case != 2 {
		t.Errorf("a bit is changed: %v, %v", found, err)
	}
}

// TestRefused accepts only an illegal instruction where one is claimed.
func TestRefused(t *testing.T) {
	illegal := &cuda.Error{Code: 715, Name: "CUDA_ERROR_ILLEGAL_INSTRUCTION", Doing: "load PTX"}
	for _, c := range []struct {
		probe          string
		failed         *cuda.Error // the device's error, if any
		refused, ended bool        // whether that is recorded, and whether it ends the recording
		row            string
		results, found int
	}{
		{"box unaligned", illegal, true, false, "refused, as claimed", 1, 0},
		{"box unaligned", &cuda.Error{Code: cuda.IllegalAddress, Name: "CUDA_ERROR_ILLEGAL_ADDRESS"}, false, true, "not recorded: ", 0, 0},
		{"box unaligned", &cuda.Error{Code: cuda.InvalidPTX, Name: "CUDA_ERROR_INVALID_PTX"}, false, false, "not recorded: ", 0, 0},
		{"box unaligned", nil, false, false, "1 of 1 results differ", 1, 1},
		{"box 64 8 swizzle 0", illegal, true, true, "not recorded: ", 0, 0},
	} {
		d := &describer{Driver: another{open(t, 90), func(ptx string) (string, error) {
			if c.failed != nil {
				return "", c.failed
			}
			return empty(ptx)
		}}}
		r, err := Record(t.Context(), d, Options{Only: []string{c.probe}})
		if len(r.Probes) != 1 || r.Probes[0].Refused != c.refused || (r.Probes[0].Error != "") != (c.failed != nil) || (err != nil) != c.ended {
			t.Fatalf("%s, %v: %+v, %v", c.probe, c.failed, r.Probes, err)
		}
		report, err := Compare(r)
		if err != nil {
			t.Fatal(err)
		}
		if row := report.Rows[0]; !strings.Contains(row.String(), c.row) || row.Results != c.results || len(report.Differences) != c.found {
			t.Errorf("%s, %v: %s, %d results, %v", c.probe, c.failed, row, row.Results, report.Differences)
		}
		if c.found > 0 && !strings.Contains(report.Differences[0].String(), "it ran, although") {
			t.Error(report.Differences[0])
		}
		r.Capability = "10.0" // it may accept other boxes
		if report, err = Compare(r); err != nil || len(report.Differences) != 0 || report.Rows[0].Claim != Unknown {
			t.Errorf("%s, %v, of another generation: %+v, %v", c.probe, c.failed, report, err)
		}
	}
}

// TestBoxes checks that the descriptor of all inputs is in memory, and its address is the third
// parameter of the kernel.
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
}
