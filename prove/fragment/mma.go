package fragment

import (
	"fmt"
	"strings"
)

// fragmentPlace returns where the lanes of a warp hold the matrices of mma, by the PTX manual.
// Operands are the registers of A, then B, then C. Let e be the number of elements in a register.
// Lane 4g+t holds rows g and g+8 of A, and in each run of 4e columns the e neighbours from column
// et on. It holds column g of B, with the same pattern of rows, and two neighbours of C from
// column 2t on.
func fragmentPlace(p *product, matrix byte, row, col int) (operand, thread, element int) {
	aRegs, bRegs := p.m*p.k/(warp*p.a.count), p.n*p.k/(warp*p.b.count)
	switch matrix {
	case 'a':
		e := p.a.count
		return row/8 + p.m/8*(col/(4*e)), 4*(row%8) + col%(4*e)/e, col % e
	case 'b':
		e := p.b.count
		return aRegs + row/(4*e), 4*col + row%(4*e)/e, row % e
	case 'c':
		operand, thread, element = accumulatorPlace(p.c, row, col)
		return aRegs + bRegs + operand, thread, element
	}
	return accumulatorPlace(p.d, row, col)
}

// accumulatorPlace returns the place of an element of C or D among its registers.
func accumulatorPlace(t Type, row, col int) (register, lane, element int) {
	lane = 4*(row%8) + col/2
	if t.count == 2 {
		return row / 8, lane, col % 2
	}
	return 2*(row/8) + col%2, lane, 0
}

// mmaForm is a form of mma. Types are without the number of elements.
type mmaForm struct {
	shapes          string // m16n8k16 m16n8k8
	mods            string // between row.col and the types
	d, a, b, c      string
	after           string // after the types
	target, version string
	model           model
}

// registerTypes maps element types to types of registers.
var registerTypes = map[string]string{
	"f16": "f16x2", "bf16": "bf16x2", "s8": "s8x4", "u8": "u8x4", "s4": "s4x8", "u4": "u4x8", "b1": "b1x32", "e4m3": "e4m3x4", "e5m2": "e5m2x4",
}

func registerType(element string) Type {
	if t, ok := registerTypes[element]; ok {
		element = t
	}
	return typesOf(element)[0]
}

// mmaForms are the forms that the simulator knows, and forms of 8-bit floats, which it does not
// know.
var mmaForms = []mmaForm{
	{shapes: "m16n8k8 m16n8k16", d: "f32", a: "bf16", b: "bf16", c: "f32"},
	{shapes: "m16n8k8 m16n8k16", d: "f32", a: "f16", b: "f16", c: "f32"},
	{shapes: "m16n8k8 m16n8k16", d: "f16", a: "f16", b: "f16", c: "f16"},
	{shapes: "m16n8k4 m16n8k8", d: "f32", a: "tf32", b: "tf32", c: "f32"},
	{shapes: "m8n8k4", d: "f64", a: "f64", b: "f64", c: "f64"},
	{shapes: "m8n8k16 m16n8k16 m16n8k32", d: "s32", a: "s8", b: "s8", c: "s32"},
	{shapes: "m16n8k32", d: "s32", a: "u8", b: "s8", c: "s32"},
	{shapes: "m16n8k32", mods: ".satfinite", d: "s32", a: "s8", b: "s8", c: "s32"},
	{shapes: "m16n8k32", mods: ".satfinite", d: "s32", a: "u8", b: "u8", c: "s32"},
	{shapes: "m8n8k32 m16n8k32 m16n8k64", d: "s32", a: "s4", b: "s4", c: "s32"},
	{shapes: "m16n8k64", mods: ".satfinite", d: "s32", a: "u4", b: "s4", c: "s32"},
	{shapes: "m8n8k128 m16n8k256", d: "s32", a: "b1", b: "b1", c: "s32", after: ".xor.popc"},
	{shapes: "m16n8k256", d: "s32", a: "b1", b: "b1", c: "s32", after: ".and.popc"},
	{shapes: "m16n8k32", d: "f32", a: "e4m3", b: "e4m3", c: "f32", target: "sm_89", version: "8.4", model: products(mmaBytesDot)},
	{shapes: "m16n8k32", d: "f32", a: "e5m2", b: "e4m3", c: "f32", target: "sm_89", version: "8.4", model: products(mmaBytesDot)},
}

func mmaProbes() []*Probe {
	var all []*Probe
	for _, f := range mmaForms {
		for _, shape := range strings.Fields(f.shapes) {
			x := &product{place: fragmentPlace, a: registerType(f.a), b: registerType(f.b), c: registerType(f.c), d: registerType(f.d)}
			if n, _ := fmt.Sscanf(shape, "m%dn%dk%d", &x.m, &x.n, &x.k); n != 3 {
				panic("BUG: shape " + shape)
			}
			all = append(all, f.probe(shape, x))
		}
	}
	return all
}

func (f *mmaForm) probe(shape string, x *product) *Probe {
	tail := fmt.Sprintf("%s.row.col%s.%s.%s.%s.%s%s", shape, f.mods, f.d, f.a, f.b, f.c, f.after)
	na, nb, nc, nd := x.m*x.k/(warp*x.a.count), x.n*x.k/(warp*x.b.count), x.m*x.n/(warp*x.c.count), x.m*x.n/(warp*x.d.count)
	p := &Probe{Name: "mma." + tail, Group: "mma", Doc: "a product of matrices in registers, added to a third", model: f.model,
		Target: f.target, Version: f.version, Threads: warp,
		In: repeat(x.a, na, x.b, nb, x.c, nc), Out: repeat(x.d, nd), product: x, draw: productDraw(x), thin: 2}
	p.body = fmt.Sprintf("mma.sync.aligned.%s %s, %s, %s, %s;", tail,
		registers("d", 0, nd), registers("a", 0, na), registers("a", na, nb), registers("a", na+nb, nc))
	p.complete()
	return p
}

// productDraw draws the matrices of a product. Equal types in equal shapes get equal inputs.
func productDraw(x *product) draw {
	return draw{fmt.Sprintf("product %dx%dx%d", x.m, x.n, x.k), func(p *Probe, s *source, number int, in [][]uint64) { x.fill(s, number, in) }}
}

// repeat lists types, each followed by its number.
func repeat(list ...any) []Type {
	var r []Type
	for i := 0; i < len(list); i += 2 {
		for range list[i+1].(int) {
			r = append(r, list[i].(Type))
		}
	}
	return r
}
