package ptxsim_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/arithlang/mlc/ptxsim"
)

// mmaTest is a shape of mma with operands of some width. The layouts follow the tables of the PTX
// manual, written as functions of lane and element.
type mmaTest struct {
	form    string
	m, k    int
	bits    int
	cRegs   int
	element func(rng *rand.Rand) (pattern uint64, value float64)
}

var mmaTests = []mmaTest{
	{"m16n8k8.row.col.f32.bf16.bf16.f32", 16, 8, 16, 4, smallBF16},
	{"m16n8k16.row.col.f32.bf16.bf16.f32", 16, 16, 16, 4, smallBF16},
	{"m16n8k4.row.col.f32.tf32.tf32.f32", 16, 4, 32, 4, smallF32},
	{"m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, 32, 4, smallF32},
	{"m8n8k16.row.col.s32.s8.s8.s32", 8, 16, 8, 2, smallInt(8, true)},
	{"m16n8k16.row.col.s32.u8.u8.s32", 16, 16, 8, 4, smallInt(8, false)},
	{"m16n8k32.row.col.s32.s8.s8.s32", 16, 32, 8, 4, smallInt(8, true)},
	{"m16n8k32.row.col.s32.u4.u4.s32", 16, 32, 4, 4, smallInt(4, false)},
	{"m16n8k64.row.col.s32.s4.s4.s32", 16, 64, 4, 4, smallInt(4, true)},
}

// Small integers: their products and sums are exact in every format.

func smallBF16(rng *rand.Rand) (uint64, float64) {
	p, v := smallF32(rng)
	return p >> 16, v
}

func smallF32(rng *rand.Rand) (uint64, float64) {
	v := float64(rng.IntN(15) - 7)
	return uint64(math.Float32bits(float32(v))), v
}

func smallInt(bits int, signed bool) func(rng *rand.Rand) (uint64, float64) {
	return func(rng *rand.Rand) (uint64, float64) {
		v := rng.IntN(1 << bits)
		p := uint64(v)
		if signed && v >= 1<<(bits-1) {
			v -= 1 << bits
		}
		return p, float64(v)
	}
}

// place returns the row (for B the column) and the depth of an element in a lane. Like the
// manual's tables, it numbers elements through all of a lane's registers.
func (x *mmaTest) place(lane, element int, ofA bool) (row, k int) {
	per := 32 / x.bits // elements in a register
	reg := element / per
	group, thread := lane/4, lane%4
	k = thread*per + element%per
	if !ofA {
		return group, k + 4*per*reg
	}
	switch {
	case x.m == 8:
		return group, k + 4*per*reg
	case reg == 0:
		return group, k
	case reg == 1:
		return group + 8, k
	case reg == 2:
		return group, k + 4*per
	}
	return group + 8, k + 4*per
}

func (x *mmaTest) run(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	matrix := func(rows int) (patterns []uint64, values []float64) {
		for range rows * x.k {
			p, v := x.element(rng)
			patterns, values = append(patterns, p), append(values, v)
		}
		return patterns, values
	}
	pa, a := matrix(x.m)
	pb, b := matrix(8)
	per := 32 / x.bits
	aRegs, bRegs := x.m*x.k/(32*per), 8*x.k/(32*per)
	var in []uint32 // by register and lane
	fill := func(regs int, p []uint64, ofA bool) {
		for r := range regs {
			for lane := range 32 {
				word := uint32(0)
				for e := range per {
					row, k := x.place(lane, r*per+e, ofA)
					word |= uint32(p[row*x.k+k]) << (e * x.bits)
				}
				in = append(in, word)
			}
		}
	}
	fill(aRegs, pa, true)
	fill(bRegs, pb, false)
	var body strings.Builder
	list := func(first, n int) string {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("%%r%d", first+i))
		}
		return "{" + strings.Join(names, ", ") + "}"
	}
	for i := range aRegs + bRegs {
		fmt.Fprintf(&body, "ld.global.u32 %%r%d, [%%rd4+%d];\n", 10+i, 128*i)
	}
	for i := range x.cRegs {
		fmt.Fprintf(&body, "mov.b32 %%r%d, 0;\n", 20+i)
	}
	c := list(20, x.cRegs)
	fmt.Fprintf(&body, "mma.sync.aligned.%s %s, %s, %s, %s;\n", x.form, c, list(10, aRegs), list(10+aRegs, bRegs), c)
	for i := range x.cRegs {
		fmt.Fprintf(&body, "st.global.u32 [%%rd3+%d], %%r%d;\n", 128*i, 20+i)
	}
	got, err := runSnippet(ptxsim.Options{}, body.String(), 1, 32, words(in...))
	if err != nil {
		t.Fatal(err)
	}
	for i := range x.cRegs {
		for lane := range 32 {
			row, col := lane/4+8*(i/2), lane%4*2+i%2
			want := 0.0
			for k := range x.k {
				want += a[row*x.k+k] * b[col*x.k+k]
			}
			v := float64(int32(got[32*i+lane]))
			if strings.Contains(x.form, "f32") {
				v = float64(math.Float32frombits(got[32*i+lane]))
			}
			if v != want {
				t.Fatalf("row %d, column %d is %v, want %v", row, col, v, want)
			}
		}
	}
}

// TestMMA multiplies matrices of small integers, which are exact.
func TestMMA(t *testing.T) {
	for _, x := range mmaTests {
		t.Run(x.form, x.run)
	}
}

// TestMovmatrix transposes a matrix in registers.
func TestMovmatrix(t *testing.T) {
	got, err := runSnippet(ptxsim.Options{}, `
	shl.b32 %r4, %r0, 1;
	add.s32 %r5, %r4, 1;
	shl.b32 %r5, %r5, 16;
	or.b32 %r4, %r4, %r5;
	movmatrix.sync.aligned.m8n8.trans.b16 %r6, %r4;
	st.global.u32 [%rd3], %r6;`, 1, 32, nil)
	if err != nil {
		t.Fatal(err)
	}
	for lane := range 32 {
		row, col := lane/4, lane%4*2
		if want := uint32(8*(col+1)+row)<<16 | uint32(8*col+row); got[lane] != want {
			t.Fatalf("lane %d has %#x, want %#x", lane, got[lane], want)
		}
	}
}
