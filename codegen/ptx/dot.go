package ptx

import (
	"math/bits"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A tiling is how a block computes a product: rows x cols outputs at a time, each
// thread high x wide of them in registers, over depth products at a time from
// shared memory.
type tiling struct{ rows, cols, depth, high, wide int }

// tilings are tried in order: the first that wastes little on what is known of
// the output's shape.
var tilings = []struct {
	maxRows, maxCols int // 0: any
	tiling
}{
	{32, 16, tiling{32, 16, 16, 2, 1}},
	{32, 0, tiling{32, 128, 16, 4, 4}},
	{0, 16, tiling{256, 16, 8, 4, 4}},
	{0, 32, tiling{128, 32, 16, 4, 4}},
	{0, 0, tiling{64, 64, 16, 4, 4}},
}

const (
	// stageName is the shared memory that products go through, a name that no tile has.
	stageName = "stage"
	// stagePad keeps the columns of a staged matrix in different banks.
	stagePad = 4
)

// bytes is the shared memory that a tiling takes for its operands.
func (t tiling) bytes() int { return 4 * t.depth * (t.rows + t.cols + 2*stagePad) }

// stageBytes is the shared memory that the products of a body take in turn.
func stageBytes(body []kernel.Stmt) int {
	most := 0
	for _, n := range body {
		if d, ok := n.(*kernel.Dot); ok && inTiles(d) {
			most = max(most, tilingOf(d).bytes())
		}
		most = max(most, stageBytes(kernel.Within(n)))
	}
	return most
}

// inTiles says whether a product is one for the whole block.
func inTiles(n *kernel.Dot) bool { return len(n.Axes) > 2 && !expr.IsInt(n.Axes[0].Size, 1) }

// tilingOf chooses by the shape of the output, as far as it is known.
func tilingOf(n *kernel.Dot) tiling {
	depth := n.Axes[len(n.Axes)-1].Size
	for _, t := range tilings {
		if fits(n.MostRows, t.maxRows) && fits(n.MostCols, t.maxCols) {
			if depth.IsConst() {
				t.depth = min(t.depth, powerOfTwo(int(depth.I)))
			}
			return t.tiling
		}
	}
	panic("BUG: no tiling")
}

// oneTurn says whether a product in tiles goes through shared memory once.
func oneTurn(n *kernel.Dot) bool {
	depth := n.Axes[len(n.Axes)-1].Size
	return depth.IsConst() && depth.I <= int64(tilingOf(n).depth)
}

// powerOfTwo is the least power of two that is not below n.
func powerOfTwo(n int) int { return 1 << bits.Len(uint(max(n, 1)-1)) }

// fits says whether a size is sure to be at most so much; 0 is any, or unknown.
func fits(size, most int) bool { return most == 0 || size > 0 && size <= most }

// dot adds a matrix product, each output in ascending k.
func (p *printer) dot(d *kernel.Dot) {
	n := flat.ProductOf(d)
	switch {
	case n.M == nil:
		v := p.vars[n.C.Slice]
		p.chain(n, v, expr.Int(0), expr.Int(0))
	case !p.team.whole || !inTiles(d):
		p.outputs(n)
	default:
		newProduct(p, n).print()
	}
}

const (
	rowVar = "dot.row"
	colVar = "dot.col"
)

// outputs gives each thread outputs of its own: for products that are too small
// for tiles.
func (p *printer) outputs(n flat.Product) {
	row, col := expr.NewVar(rowVar, expr.I32), expr.NewVar(colVar, expr.I32)
	c := p.own(expr.NewElem(n.C.Slice, expr.F32, element(n.C, row, col)))
	p.each([]kernel.Axis{{Var: rowVar, Size: n.M}, {Var: colVar, Size: n.N}}, func() {
		m, at, bytes := p.at(c, known{})
		acc := p.f.Variable(asm.F32(0))
		if !n.Zero {
			p.f.LoadInto(m, at, bytes, acc)
		}
		p.chain(n, acc, row, col)
		p.f.Store(m, at, bytes, acc)
	})
}

// element is the index of an operand's element.
func element(o flat.Operand, i, j *expr.Expr) *expr.Expr {
	at := expr.New(expr.Add, expr.New(expr.Mul, i, o.RS), expr.New(expr.Mul, j, o.CS))
	return expr.Simplify(expr.New(expr.Add, o.Off, at))
}

// chain adds the products of one output to a register.
func (p *printer) chain(n flat.Product, acc asm.Value, row, col *expr.Expr) {
	f := p.f
	a := f.Variable(p.pointer(n.A, row, expr.Int(0)))
	b := f.Variable(p.pointer(n.B, expr.Int(0), col))
	da, db := p.stride(n.A, n.A.CS), p.stride(n.B, n.B.RS)
	p.count(asm.Int(0), p.value(n.K), asm.Int(1), func(asm.Value) {
		x := f.Load(p.slices[n.A.Slice].Memory, asm.Float, a, 0)
		y := f.Load(p.slices[n.B.Slice].Memory, asm.Float, b, 0)
		f.Into(acc, "fma.rn.f32", x, y, acc)
		p.advance(a, da)
		p.advance(b, db)
	})
}

// pointer is the address of an operand's element.
func (p *printer) pointer(o flat.Operand, i, j *expr.Expr) asm.Value {
	index := p.value(element(o, i, j))
	return p.offset(p.slices[o.Slice], index)
}

// stride is a number of elements in bytes, as wide as an operand's addresses.
func (p *printer) stride(o flat.Operand, n *expr.Expr) asm.Value {
	if p.slices[o.Slice].Space == asm.Shared {
		return p.value(expr.Simplify(expr.New(expr.Mul, n, expr.Int(4))))
	}
	if n.IsConst() {
		return asm.WideInt(4 * n.I)
	}
	return p.f.Do("mul.wide.s32", p.value(n), asm.Int(4))
}

// advance moves an address.
func (p *printer) advance(addr, by asm.Value) { p.f.Into(addr, sumOf(addr), addr, by) }

// sumOf is the instruction that adds to an address.
func sumOf(addr asm.Value) string {
	if addr.Class() == asm.Word {
		return "add.s32"
	}
	return "add.s64"
}

// An address is so many bytes behind another.
type address struct {
	base  asm.Value
	bytes int
}

// behind is the address that lies a stride behind another.
func (p *printer) behind(at address, by asm.Value) address {
	if n, known := by.Const(); known && int(n) < maxOffset-at.bytes {
		return address{at.base, at.bytes + int(n)}
	}
	return address{p.f.Do(sumOf(at.base), at.base, by), at.bytes}
}
