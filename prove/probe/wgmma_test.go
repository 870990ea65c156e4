package probe

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/sim/simulated"
)

// TestAbsent checks the reason if there is no result.
func TestAbsent(t *testing.T) {
	figures, err := Run("wgmma-bf16", open(t), true)
	want := "the device lacks the instructions: wgmma needs compute capability 9.0, and simulated sm_80 has 8.0"
	if figures != nil || !errors.Is(err, ErrAbsent) || err.Error() != want {
		t.Errorf("%v, %v, want %s", figures, err, want)
	}
}

var wgmma = regexp.MustCompile(`(?m)^\twgmma\.mma_async\.sync\.aligned\.m64n256k16\.f32\.bf16\.bf16 {(.*)}, (%\w+), (%\w+), %keep, 1, 1, 0, 0;$`)

// others matches the instructions that order wgmma with other work.
var others = regexp.MustCompile(`(?m)^\t(wgmma|fence\.proxy)\..*$`)

// multiplied replaces each wgmma by ordinary instructions for the simulator. They read elements
// from the same addresses as the cards of prove/records, and leave sums at the PTX ISA's places.
// Lane l of warp w has row 16w + l/4 and the row eight below it. Of every eight columns it has
// columns 2(l%4) and 2(l%4) + 1.
func multiplied(ptx string) string {
	step := 0
	ptx = wgmma.ReplaceAllStringFunc(ptx, func(text string) string {
		parts := wgmma.FindStringSubmatch(text)
		var b strings.Builder
		say := func(text string, names ...string) { strings.NewReplacer(names...).WriteString(&b, text) }
		step++
		say(beginProduct)
		say(readDescriptor, "M", "a", "FROM", parts[2])
		say(readDescriptor, "M", "b", "FROM", parts[3])
		say("STEP:\n", "STEP", "STEP"+strconv.Itoa(step))
		say(loadElement, "M", "a", "EIGHT", "%eight0", "LINE", "%row", "TO", "%x0")
		say(loadElement, "M", "a", "EIGHT", "%eight1", "LINE", "%row", "TO", "%x1")
		d := strings.Split(parts[1], ", ")
		for i := range wide / 4 {
			eight, odd := i/2, i%2
			say(loadElement, "M", "b", "EIGHT", strconv.Itoa(eight), "LINE", "%column"+strconv.Itoa(odd), "TO", "%y")
			for below := range 2 {
				say("\tfma.rn.f32 D, X, %y, D;\n", "D", d[4*eight+2*below+odd], "X", "%x"+strconv.Itoa(below))
			}
		}
		say("\tadd.u32 %k, %k, 1;\n\tsetp.lt.u32 %on, %k, 16;\n\t@%on bra STEP;\n\t}\n", "STEP", "STEP"+strconv.Itoa(step))
		return b.String()
	})
	return others.ReplaceAllString(ptx, "")
}

const beginProduct = `	{
	.reg .pred %on;
	.reg .b32 %k, %row, %column0, %column1, %eight0, %eight1, %at, %bits, %word;
	.reg .b64 %high;
	.reg .f32 %x0, %x1, %y;
	mov.u32 %k, 0;
	bfe.u32 %row, %thread, 2, 3;
	and.b32 %column0, %thread, 3;
	mul.lo.u32 %column0, %column0, 2;
	add.u32 %column1, %column0, 1;
	bfe.u32 %eight0, %thread, 5, 2;
	mul.lo.u32 %eight0, %eight0, 2;
	add.u32 %eight1, %eight0, 1;
`

// readDescriptor extracts the stride between groups of eight lines, the bytes of a row of the
// swizzle, and the mask of the address bits that it changes.
const readDescriptor = `	.reg .b32 %startM, %strideM, %widthM, %maskM;
	cvt.u32.u64 %startM, FROM;
	bfe.u32 %startM, %startM, 0, 14;
	shl.b32 %startM, %startM, 4;
	shr.u64 %high, FROM, 32;
	cvt.u32.u64 %strideM, %high;
	bfe.u32 %maskM, %strideM, 30, 2;
	bfe.u32 %strideM, %strideM, 0, 14;
	shl.b32 %strideM, %strideM, 4;
	mov.u32 %widthM, 256;
	shr.u32 %widthM, %widthM, %maskM;
	shr.u32 %maskM, %widthM, 4;
	sub.u32 %maskM, %maskM, 1;
`

// loadElement loads element k of a line among eight. Address bits from 4 on are exchanged by the
// bits from 7 on.
const loadElement = `	mad.lo.u32 %at, EIGHT, %strideM, %startM;
	mad.lo.u32 %at, LINE, %widthM, %at;
	mad.lo.u32 %at, %k, 2, %at;
	shr.u32 %bits, %at, 7;
	and.b32 %bits, %bits, %maskM;
	shl.b32 %bits, %bits, 4;
	xor.b32 %at, %at, %bits;
	ld.shared.u16 %word, [%at];
	shl.b32 %word, %word, 16;
	mov.b32 TO, %word;
`

// TestWgmma runs the probe on a simulator of sm_90 that multiplies by other means. It passes
// unchanged, and fails with each fault.
func TestWgmma(t *testing.T) {
	for _, c := range full.Some([]struct{ name, old, text string }{
		{"nothing", "", ""},
		{"swizzle of 64 bytes", "0x4000004000010000", "0x8000004000010000"},
		{"distance of eight lines", "0x4000004000010000", "0x4000002000010000"},
		{"start of A in a row", "add.u64 %a1, %a, 2;", "add.u64 %a1, %a, 4;"},
		{"start of B in a row", "add.u64 %b3, %b, 6;", "add.u64 %b3, %b, 4;"},
		{"start of B", "add.u64 %b, %b, 1024;", "add.u64 %b, %b, 960;"},
		{"rows of a group", "%group, 512", "%group, 0"},
		{"a part of the image", "[%in+45056]", "[%in+40960]"},
		{"transposed accumulators", "{%d0, %d1, %d2, %d3};", "{%d0, %d2, %d1, %d3};"},
		{"place of accumulators", "[%out+126976]", "[%out+122880]"},
		{"start of sums", "mov.f32 %d127, 0f00000000", "mov.f32 %d127, 0f3f800000"},
		{"a turn too few", "@%more bra LOOP;", ""},
		{"a turn too many", "sub.u32 %turn, %turn, 1;\n\tsetp.ne.u32 %more, %turn, 0;", "sub.u32 %turn, %turn, 1;\n\tsetp.ge.s32 %more, %turn, 0;"},
	}, 4) {
		t.Run(c.name, func(t *testing.T) {
			d, err := simulated.Open(ptxsim.Options{Memory: 1 << 30, Arch: 90})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			before, _, _ := d.MemInfo()
			figures, err := Run("wgmma-bf16", faulty{Driver: d, host: func([]byte) {}, load: func(ptx string) string {
				if !strings.Contains(ptx, c.old) {
					t.Fatalf("there is no %q", c.old)
				}
				return multiplied(strings.ReplaceAll(ptx, c.old, c.text))
			}}, true)
			if c.old == "" && (err != nil || len(figures) != 1 || figures[0] != Figure{Name: "wgmma bf16 m64n256k16", Unit: "TFLOP/s"}) {
				t.Errorf("%v, %v", figures, err)
			}
			if c.old != "" && (figures != nil || err == nil || !strings.Contains(err.Error(), "wgmma is wrong")) {
				t.Errorf("%v, %v, want a wrong result", figures, err)
			}
			if after, _, _ := d.MemInfo(); after != before {
				t.Errorf("%d bytes are kept", before-after)
			}
		})
	}
}

// TestWgmmaSerial checks that NVIDIA's assembler accepts the probe, keeps its sums in registers
// and lets products overlap. For a kernel that changes a sum between products, the assembler
// reports that they cannot.
func TestWgmmaSerial(t *testing.T) {
	path := full.Needs(t, full.Ptxas)
	source := wgmmaSource()
	changed := strings.Replace(source, "\twgmma.wait_group", "\tadd.f32 %d0, %d0, %d1;\n\twgmma.wait_group", 1)
	for text, want := range map[string]bool{source: false, changed: true} {
		file := filepath.Join(t.TempDir(), "wgmma.ptx")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		said, err := exec.Command(path, "-v", "-arch=sm_90a", file, "-o", file+".cubin").CombinedOutput()
		if err != nil || !strings.Contains(string(said), " 0 bytes spill stores, 0 bytes spill loads") {
			t.Errorf("%v, %s", err, said)
		}
		if serial := regexp.MustCompile("(?i)warning|serialized").Match(said); serial != want {
			t.Errorf("%s", said)
		}
	}
}

// TestCheckWgmma checks that elements of all warps and registers are compared.
func TestCheckWgmma(t *testing.T) {
	m, out := make([]float32, (tall+wide)*deep), make([]byte, 2*tall*wide*4)
	if err := checkWgmma(out, m, 1); err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(out); at += 4 * 1021 { // a prime number
		for _, x := range []float32{1, float32(math.NaN())} {
			binary.LittleEndian.PutUint32(out[at:], math.Float32bits(x))
			if checkWgmma(out, m, 1) == nil {
				t.Errorf("the element at %d may be %v", at, x)
			}
		}
		binary.LittleEndian.PutUint32(out[at:], 0)
	}
}
