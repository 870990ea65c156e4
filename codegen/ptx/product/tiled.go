package product

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A tiled is a kernel whose one cell is a product, then perhaps a loop over its rows with an
// elementwise epilogue. The left factor may be computed. Blocks take tiles of the output, and a
// thread finishes the outputs that it has in registers.
type tiled struct {
	*kernel.Dot
	left *kernel.Set           // makes the left factor; nil if that is a buffer
	rows *kernel.For           // may be nil
	made map[string]*expr.Expr // where arrays are written, by row and column
}

// PlanTiles plans a tiled kernel for any factors.
func PlanTiles(k *kernel.Kernel, l emit.Launches) (emit.Plan, string) {
	t, why := tiledOf(k)
	if why != "" {
		return emit.Plan{}, why
	}
	s := gridTilingOf(t.Dot, l.Geometry)
	pieces := fmt.Sprintf("%d x %d outputs, %d threads of %d x %d, sums of %d a turn, about %d blocks a launch", s.rows, s.cols, s.threads(), s.high, s.wide, s.depth, tiles(t.Dot, l.Geometry, s.rows, s.cols))
	return emit.Plan{Threads: s.threads(), Whole: true, Pieces: pieces, Cells: func(p *emit.Builder) emit.Cells { return tilesOf(p, t, s) }}, ""
}

func tiledOf(k *kernel.Kernel) (t tiled, why string) {
	switch {
	case !kernel.Has(k.Body, emit.IsProduct):
		return t, "it has no product"
	case len(k.Grid) > 0:
		return t, "it has cells of its own"
	}
	body := k.Body
	left, computed := body[0].(*kernel.Set)
	if computed {
		body = body[1:]
	}
	if len(body) == 0 || len(body) > 2 {
		return t, "it is more than a product and a loop over the rows"
	}
	d, ok := body[0].(*kernel.Dot)
	if !ok || !InTiles(d) || computed && !makes(left, d) {
		return t, "it does not begin with a product of more than one row"
	}
	t = tiled{d, left, nil, map[string]*expr.Expr{d.Dst.Name: d.Dst.Args[0]}}
	if len(body) == 2 {
		if t.rows, ok = body[1].(*kernel.For); !ok {
			return t, "it does not end with a loop over the rows"
		}
		why = t.elementwise(emit.Arrays(k))
	}
	if computed && (emit.Arrays(k)[d.A.Name] || slices.ContainsFunc(body[1:], func(s kernel.Stmt) bool { return kernel.Uses(s, d.A.Name) })) {
		return t, "the left factor is used for more"
	}
	for _, e := range t.factors() {
		if t.made[e.Name] != nil {
			return t, "it writes over a factor"
		}
	}
	return t, why
}

// makes reports whether a statement computes each element of a product's left factor.
func makes(s *kernel.Set, d *kernel.Dot) bool {
	rows, sums := d.Axes[0], d.Axes[2]
	if s.Dst.Name != d.A.Name || d.B.Name == d.A.Name || len(s.Axes) != 2 || s.Value.Type != expr.F32 || !expr.IsInt(flat.ProductOf(d).A.CS, 1) {
		return false
	}
	same := expr.Equal(s.Axes[0].Size, rows.Size) && expr.Equal(s.Axes[1].Size, sums.Size)
	return same && expr.Equal(emit.At(s.Dst, map[string]string{s.Axes[0].Var: rows.Var, s.Axes[1].Var: sums.Var}), d.A.Args[0])
}

// factors returns the elements that are read for the product.
func (t *tiled) factors() []*expr.Expr {
	if t.left == nil {
		return []*expr.Expr{t.A, t.B}
	}
	return append(expr.Elems(kernel.Reads(t.left)...), t.A, t.B)
}

// elementwise says why the loop over rows is not elementwise. Each array that is written must
// have one element for each output, and other arrays are only read.
func (t *tiled) elementwise(buffers map[string]bool) string {
	l, rows, columns := t.rows, t.Axes[0], t.Axes[1]
	if !l.Independent || !expr.IsInt(l.Lo, 0) || !expr.Equal(l.Hi, rows.Size) {
		return "its rows need each other"
	}
	if buffers[t.Dst.Name] {
		return "the product has its place in a buffer, and is used there"
	}
	t.made[t.Dst.Name] = emit.At(t.Dst, map[string]string{rows.Var: l.Var, columns.Var: emit.ColVar})
	for _, s := range l.Body {
		place := expr.NewVar(emit.ColVar, expr.I32) // of random words
		switch s := s.(type) {
		case *kernel.Let:
			continue
		case *kernel.Random:
			four := expr.Int(emit.PhiloxWords)
			if !expr.Equal(s.Size, columns.Size) || !expr.IsMultiple(s.Size, four) || !expr.IsMultiple(s.Base, four) {
				return "columns are not whole counters of random words"
			}
		case *kernel.Set:
			if len(s.Axes) != 1 || !expr.Equal(s.Axes[0].Size, columns.Size) {
				return "it sets something else than one element for each output"
			}
			place = emit.At(s.Dst, map[string]string{s.Axes[0].Var: emit.ColVar})
		default:
			return "rows have sums, loops or conditions"
		}
		name := kernel.Written(s)
		if before := t.made[name]; before != nil && !expr.Equal(before, place) {
			return "it writes " + name + " at two places"
		}
		t.made[name] = place
	}
	return emit.ReadsPlaces(l.Body, buffers, t.made, t.Dst.Name)
}

// besideThreads share the registers of a multiprocessor: 168 each are enough for the
// outputs of the largest tile.
const besideThreads = 384

// tilesOf returns the tiles of a product's output.
func tilesOf(p *emit.Builder, t tiled, size tiling) emit.Cells {
	n := flat.ProductOf(t.Dot)
	p.F.Beside = besideThreads / size.threads()
	q := newProduct(NewStage(p, size.bytes()), n, size, true)
	q.a.made = t.left
	down, across := kernel.CeilDiv(n.M, int64(size.rows)), kernel.CeilDiv(n.N, int64(size.cols))
	return emit.Cells{Count: expr.Simplify(expr.New(expr.Mul, down, across)), Body: func(cell asm.Value) {
		row, col := p.Divide(cell, p.Value(across))
		m0, n0 := p.F.Do("mul.lo.s32", row, asm.Int(q.rows)), p.F.Do("mul.lo.s32", col, asm.Int(q.cols))
		if t.rows == nil {
			q.tile(m0, n0)
			return
		}
		row, col = p.F.Do("add.s32", m0, q.row), p.F.Do("add.s32", n0, q.col)
		q.follow(t, q.sums(m0, n0), row, col)
	}}
}
