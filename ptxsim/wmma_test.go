package ptxsim_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/arithlang/mlc/ptxsim"
)

// cellType describes how a matrix's elements are written. Its values are small integers, whose
// products and sums are exact in every format.
type cellType struct {
	name  string
	bytes int
	bits  func(v int) uint64
}

var cellTypes = map[string]cellType{
	"f16":  {"f16", 2, halfBits},
	"bf16": {"bf16", 2, func(v int) uint64 { return uint64(math.Float32bits(float32(v)) >> 16) }},
	"tf32": {"tf32", 4, func(v int) uint64 { return uint64(math.Float32bits(float32(v))) }},
	"f32":  {"f32", 4, func(v int) uint64 { return uint64(math.Float32bits(float32(v))) }},
	"f64":  {"f64", 8, func(v int) uint64 { return math.Float64bits(float64(v)) }},
	"s8":   {"s8", 1, func(v int) uint64 { return uint64(v) }},
	"u8":   {"u8", 1, func(v int) uint64 { return uint64(v) }},
	"s32":  {"s32", 4, func(v int) uint64 { return uint64(v) }},
}

// halfBits returns a small integer in half precision.
func halfBits(v int) uint64 {
	if v == 0 {
		return 0
	}
	x := math.Float32bits(float32(v))
	return uint64(x>>16&0x8000 | (x>>23&0xff-127+15)<<10 | x>>13&0x3ff)
}

// grid is a matrix of integers.
type grid struct {
	rows, cols int
	v          []int
}

func randomGrid(rng *rand.Rand, rows, cols, least, most int) grid {
	g := grid{rows, cols, make([]int, rows*cols)}
	for i := range g.v {
		g.v[i] = least + rng.IntN(most-least+1)
	}
	return g
}

// bytes lays out a matrix by rows or columns, stride elements apart.
func (g grid) bytes(t cellType, col bool, stride int) []byte {
	out := make([]byte, t.bytes*stride*max(g.rows, g.cols))
	for i := range g.rows {
		for j := range g.cols {
			at := i*stride + j
			if col {
				at = j*stride + i
			}
			copy(out[at*t.bytes:(at+1)*t.bytes], binary.LittleEndian.AppendUint64(nil, t.bits(g.v[i*g.cols+j])))
		}
	}
	return out
}

// wmmaTests are shapes with types, and how many registers A, B, C and D have.
var wmmaTests = []struct {
	m, n, k        int
	from, acc, end string // types of A and B, C, D
	regs           [4]int
}{
	{16, 16, 16, "f16", "f32", "f32", [4]int{8, 8, 8, 8}},
	{16, 16, 16, "f16", "f16", "f16", [4]int{8, 8, 4, 4}},
	{8, 32, 16, "f16", "f16", "f32", [4]int{8, 8, 4, 8}},
	{32, 8, 16, "f16", "f32", "f16", [4]int{8, 8, 8, 4}},
	{16, 16, 16, "bf16", "f32", "f32", [4]int{4, 4, 8, 8}},
	{8, 32, 16, "bf16", "f32", "f32", [4]int{2, 8, 8, 8}},
	{32, 8, 16, "bf16", "f32", "f32", [4]int{8, 2, 8, 8}},
	{16, 16, 8, "tf32", "f32", "f32", [4]int{4, 4, 8, 8}},
	{8, 8, 4, "f64", "f64", "f64", [4]int{1, 1, 2, 2}},
	{16, 16, 16, "s8", "s32", "s32", [4]int{2, 2, 8, 8}},
	{8, 32, 16, "u8", "s32", "s32", [4]int{1, 4, 8, 8}},
	{32, 8, 16, "s8", "s32", "s32", [4]int{4, 1, 8, 8}},
}

// TestWmma multiplies whole matrices in all layouts, dense and with a stride.
func TestWmma(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for _, x := range wmmaTests {
		for layout := range 16 {
			col := [4]bool{layout&1 != 0, layout&2 != 0, layout&4 != 0, layout&8 != 0}
			pad := 8 * rng.IntN(2)
			least := -7
			if x.from == "u8" {
				least = 0
			}
			a, b, c := randomGrid(rng, x.m, x.k, least, 7), randomGrid(rng, x.k, x.n, least, 7), randomGrid(rng, x.m, x.n, -50, 50)
			d := grid{x.m, x.n, append([]int(nil), c.v...)}
			for i := range d.v {
				for k := range x.k {
					d.v[i] += a.v[i/x.n*x.k+k] * b.v[k*x.n+i%x.n]
				}
			}
			types := [4]cellType{cellTypes[x.from], cellTypes[x.from], cellTypes[x.acc], cellTypes[x.end]}
			var args []any
			var strides [4]int
			for i, g := range []grid{a, b, c, d} {
				strides[i] = map[bool]int{false: g.cols, true: g.rows}[col[i]] + pad
				if data := g.bytes(types[i], col[i], strides[i]); i < 3 {
					args = append(args, data)
				} else {
					args = append(args, make([]byte, len(data)))
				}
			}
			text := wmmaText(fmt.Sprintf("m%dn%dk%d", x.m, x.n, x.k), types, x.regs, col, strides, pad == 0)
			bufs := job{text: text, kernel: "k", grid: [3]int{1}, block: [3]int{32}, args: args}.must(t, ptxsim.Options{})
			if string(bufs[3]) != string(d.bytes(types[3], col[3], strides[3])) {
				t.Errorf("m%dn%dk%d of %s, columns first %v, padded by %d: wrong product", x.m, x.n, x.k, x.from, col, pad)
			}
		}
	}
}

// wmmaText returns a kernel that loads A, B and C, and stores D.
func wmmaText(shape string, types [4]cellType, regs [4]int, col [4]bool, strides [4]int, dense bool) string {
	var s strings.Builder
	s.WriteString(".version 7.8\n.target sm_80\n.address_size 64\n.entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n{\n.reg .b64 %p<4>;\n")
	var lists, orders [4]string
	for i, n := range regs {
		kind := map[string]string{"f32": "f32", "f64": "f64"}[types[i].name]
		if kind == "" {
			kind = "b32"
		}
		name := string("abcd"[i])
		fmt.Fprintf(&s, ".reg .%s %%%s<%d>;\nld.param.u64 %%p%d, [%s];\n", kind, name, n, i, name)
		var list []string
		for r := range n {
			list = append(list, fmt.Sprintf("%%%s%d", name, r))
		}
		lists[i] = "{" + strings.Join(list, ", ") + "}"
		orders[i] = map[bool]string{false: "row", true: "col"}[col[i]]
	}
	stride := func(i int) string {
		if dense {
			return ""
		}
		return fmt.Sprintf(", %d", strides[i])
	}
	for i := range 3 {
		fmt.Fprintf(&s, "wmma.load.%c.sync.aligned.%s.%s.global.%s %s, [%%p%d]%s;\n", "abc"[i], orders[i], shape, types[i].name, lists[i], i, stride(i))
	}
	sum := types[3].name + "." + types[2].name
	if types[0].name != "f16" {
		sum = types[3].name + "." + types[0].name + "." + types[0].name + "." + types[2].name
	}
	if types[0].name == "f64" {
		sum = "rn." + sum
	}
	fmt.Fprintf(&s, "wmma.mma.sync.aligned.%s.%s.%s.%s %s, %s, %s, %s;\n", orders[0], orders[1], shape, sum, lists[3], lists[0], lists[1], lists[2])
	fmt.Fprintf(&s, "wmma.store.d.sync.aligned.%s.%s.global.%s [%%p3], %s%s;\nret;\n}\n", orders[3], shape, types[3].name, lists[3], stride(3))
	return s.String()
}

// TestWmmaFaults checks reports of wrong accesses by wmma.
func TestWmmaFaults(t *testing.T) {
	const load = "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r10,%r11,%r12,%r13,%r14,%r15,%r16,%r17}, [%rd5], %r4; // HERE"
	for _, x := range []struct {
		kind ptxsim.Kind
		body string
	}{
		{ptxsim.OutOfBounds, "mov.u32 %r4, 520;\nadd.u64 %rd5, %rd1, 768;\n" + load},
		{ptxsim.Misaligned, "mov.u32 %r4, 16;\nadd.u64 %rd5, %rd1, 1;\n" + load},
		{ptxsim.DivergentWarp, "mov.u32 %r4, 16;\nmov.u64 %rd5, %rd4;\n" + load},
		{ptxsim.DivergentWarp, "mov.u32 %r4, %r0;\nmov.u64 %rd5, %rd1;\n" + load},
		{ptxsim.UndefinedReg, "mov.u32 %r4, 16;\n" + load},
		{ptxsim.UndefinedReg, `
	wmma.store.d.sync.aligned.row.m16n16k16.global.f16 [%rd0], {%r10,%r11,%r12,%r13}; // HERE`},
		{ptxsim.DivergentWarp, "mov.u32 %r4, 16;\nmov.u64 %rd5, %rd1;\nsetp.lt.u32 %p1, %r0, 7;\n@%p1 " + load},
		{ptxsim.Race, "mov.u32 %r4, 16;\nmov.u64 %rd5, %rd0;\nst.global.u32 [%rd3], 0;\n" + load},
	} {
		_, err := runSnippet(ptxsim.Options{}, x.body, 1, 32, nil)
		wantKind(t, err, x.kind, snippet(x.body), "HERE")
	}
}
