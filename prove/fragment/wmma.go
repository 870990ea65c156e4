package fragment

import (
	"fmt"
	"strings"
)

// wmmaForm is a form of wmma: loads, a product and a store, since the manual does not define its
// registers. Numbers count registers.
type wmmaForm struct {
	shape      string
	layouts    string // layouts of A and B: row.col row.row
	d, a, c    string // element types; B has A's
	na, nb, nc int
	nd         int
	types      string // in wmma.mma
	after      string
}

var wmmaForms = []wmmaForm{
	{"m16n16k16", "row.col row.row col.row col.col", "f32", "f16", "f32", 8, 8, 8, 8, "f32.f32", ""},
	{"m16n16k16", "row.col", "f16", "f16", "f16", 8, 8, 4, 4, "f16.f16", ""},
	{"m16n16k16", "row.col", "f16", "f16", "f32", 8, 8, 8, 4, "f16.f32", ""},
	{"m16n16k16", "row.col", "f32", "f16", "f16", 8, 8, 4, 8, "f32.f16", ""},
	{"m8n32k16", "row.col", "f32", "f16", "f32", 8, 8, 8, 8, "f32.f32", ""},
	{"m32n8k16", "row.col", "f32", "f16", "f32", 8, 8, 8, 8, "f32.f32", ""},
	{"m16n16k16", "row.col col.row", "f32", "bf16", "f32", 4, 4, 8, 8, "f32.bf16.bf16.f32", ""},
	{"m8n32k16", "row.col", "f32", "bf16", "f32", 2, 8, 8, 8, "f32.bf16.bf16.f32", ""},
	{"m32n8k16", "row.col", "f32", "bf16", "f32", 8, 2, 8, 8, "f32.bf16.bf16.f32", ""},
	{"m16n16k16", "row.col", "s32", "s8", "s32", 2, 2, 8, 8, "s32.s8.s8.s32", ""},
	{"m16n16k16", "row.col", "s32", "u8", "s32", 2, 2, 8, 8, "s32.u8.u8.s32", ""},
	{"m16n16k16", "row.col", "s32", "s8", "s32", 2, 2, 8, 8, "s32.s8.s8.s32", ".satfinite"},
	{"m32n8k16", "row.col", "s32", "s8", "s32", 4, 1, 8, 8, "s32.s8.s8.s32", ""},
	{"m16n16k8", "row.col row.row", "f32", "tf32", "f32", 4, 4, 8, 8, "f32.tf32.tf32.f32", ""},
	{"m8n8k4", "row.col", "f64", "f64", "f64", 1, 1, 2, 2, "f64.f64.f64.f64", ""},
}

func wmmaProbes() []*Probe {
	var all []*Probe
	for i := range wmmaForms {
		for _, layouts := range strings.Fields(wmmaForms[i].layouts) {
			all = append(all, wmmaForms[i].probe(layouts))
		}
	}
	return all
}

func (f *wmmaForm) probe(layouts string) *Probe {
	x := &product{a: registerType(f.a), b: registerType(f.a), c: registerType(f.c), d: registerType(f.d)}
	if n, _ := fmt.Sscanf(f.shape, "m%dn%dk%d", &x.m, &x.n, &x.k); n != 3 {
		panic("BUG: shape " + f.shape)
	}
	aLayout, bLayout, _ := strings.Cut(layouts, ".")
	x.place = imagePlace(aLayout, bLayout)
	planes := func(elements int, t Type) int { return elements / (warp * t.count) }
	na, nb, nc, nd := planes(x.m*x.k, x.a), planes(x.k*x.n, x.b), planes(x.m*x.n, x.c), planes(x.m*x.n, x.d)
	p := &Probe{Name: fmt.Sprintf("wmma.mma.%s.%s.%s%s", layouts, f.shape, f.types, f.after), Group: "wmma",
		Doc: "a product of matrices in memory, added to a third", Threads: warp,
		In: repeat(x.a, na, x.b, nb, x.c, nc), Out: repeat(x.d, nd), product: x, draw: productDraw(x), image: true, thin: 8}
	p.draw.name += " " + layouts
	p.body = f.body(x, p, aLayout, bLayout, na, nb)
	p.complete()
	return p
}

// body loads the matrices from the case's memory, multiplies and stores.
func (f *wmmaForm) body(x *product, p *Probe, aLayout, bLayout string, na, nb int) string {
	at, _ := layout(p.In, warp)
	leading := func(layout string, rows, cols int) int {
		if layout == "row" {
			return cols
		}
		return rows
	}
	declare := func(reg, element string, n int) string {
		bits := "b32"
		if element == "f64" {
			bits = "b64"
		}
		return fmt.Sprintf(".reg .%s %%%s<%d>;", bits, reg, n)
	}
	load := func(matrix, layout, element, reg string, n, offset, leading int) string {
		return fmt.Sprintf("wmma.load.%s.sync.aligned.%s.%s.global.%s %s, [%%in+%d], %d;",
			matrix, layout, f.shape, element, registers(reg, 0, n), offset, leading)
	}
	return strings.Join([]string{
		declare("ra", f.a, f.na), declare("rb", f.a, f.nb), declare("rc", f.c, f.nc), declare("rd", f.d, f.nd),
		load("a", aLayout, f.a, "ra", f.na, 0, leading(aLayout, x.m, x.k)),
		load("b", bLayout, f.a, "rb", f.nb, at[na], leading(bLayout, x.k, x.n)),
		load("c", "row", f.c, "rc", f.nc, at[na+nb], x.n),
		fmt.Sprintf("wmma.mma.sync.aligned.%s.%s.%s.%s%s %s, %s, %s, %s;", aLayout, bLayout, f.shape, f.types, f.after,
			registers("rd", 0, f.nd), registers("ra", 0, f.na), registers("rb", 0, f.nb), registers("rc", 0, f.nc)),
		fmt.Sprintf("wmma.store.d.sync.aligned.row.%s.global.%s [%%out], %s, %d;", f.shape, f.d, registers("rd", 0, f.nd), x.n),
	}, "\n")
}

// imagePlace returns the place of an element of matrices that are consecutive in memory, C and D
// by rows.
func imagePlace(aLayout, bLayout string) func(p *product, matrix byte, row, col int) (operand, thread, element int) {
	return func(p *product, matrix byte, row, col int) (operand, thread, element int) {
		planes := func(elements int, t Type) int { return elements / (warp * t.count) }
		var t Type
		first, at := 0, 0
		switch matrix {
		case 'a':
			t, at = p.a, row*p.k+col
			if aLayout == "col" {
				at = col*p.m + row
			}
		case 'b':
			t, first, at = p.b, planes(p.m*p.k, p.a), row*p.n+col
			if bLayout == "col" {
				at = col*p.k + row
			}
		case 'c':
			t, first, at = p.c, planes(p.m*p.k, p.a)+planes(p.k*p.n, p.b), row*p.n+col
		case 'd':
			t, at = p.d, row*p.n+col
		}
		word := at / t.count
		return first + word/warp, word % warp, at % t.count
	}
}
