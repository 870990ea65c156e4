package flat

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/depend"
)

// A strip is a group of rows whose reads fit into the first-level cache.
const (
	stripElems = 1024 // elements of an array in a strip
	leastRows  = 4
	mostRows   = 32
)

// strips splits the loop over rows that draw random words after their last reduction: one loop
// computes the reductions of a strip of rows, a second one the rest. The random words take so
// many instructions that a CPU would not reach the next row's reductions, whose latency would
// leave it idle.
func strips(k *kernel.Kernel) *kernel.Kernel {
	s := &stripper{&marker{k.TileShapes(), k.Vars(), countUses(k.Body)}, k.Names(), map[string]bool{}}
	for st := range kernel.All(k.Body) {
		s.written[kernel.Written(st)] = true
	}
	last := len(k.Grid) - 1
	if last < 0 || len(k.Once) > 0 {
		return k
	}
	a := k.Grid[last]
	if r := s.rows(a.Var, a.Size, k.Body, tilesOf(k.Body)); r != nil {
		n := rowsOf(k.Body)
		out := withBody(k, r.strip(n))
		out.Grid = append(slices.Clone(k.Grid[:last]), kernel.Axis{Var: r.number.Name, Size: kernel.CeilDiv(r.size, n)})
		return out
	}
	return withBody(k, s.body(NewBounds(k.Grid), k.Body))
}

type stripper struct {
	*marker
	kernel.Taken
	written map[string]bool // arrays and variables of the kernel
}

// tilesOf returns the names of the tiles that statements declare.
func tilesOf(body []kernel.Stmt) map[string]bool {
	tiles := map[string]bool{}
	for _, s := range body {
		if t, ok := s.(*kernel.Tile); ok {
			tiles[t.Name] = true
		}
	}
	return tiles
}

// body splits the loops of a body that have at most mostRows rows.
func (s *stripper) body(b *Bounds, body []kernel.Stmt) []kernel.Stmt {
	var out []kernel.Stmt
	for _, st := range body {
		b.Enter(st)
		if l, ok := st.(*kernel.For); ok && expr.IsInt(l.Lo, 0) {
			if most := b.most(l.Hi); 0 < most && most <= mostRows {
				if own, ok := s.independent(l); ok {
					if r := s.rows(l.Var, l.Hi, l.Body, own); r != nil {
						out = append(out, r.loops(expr.Int(int64(most)), expr.Int(0), l.Hi)...)
						continue
					}
				}
			}
		}
		out = append(out, within(st, func(body []kernel.Stmt) []kernel.Stmt { return s.body(b, body) }))
	}
	return out
}

// rowsOf returns the number of rows of a strip.
func rowsOf(body []kernel.Stmt) int64 {
	longest := int64(1)
	for _, s := range body {
		for _, a := range kernel.Axes(s) {
			if a.Size.IsConst() {
				longest = max(longest, a.Size.I)
			}
		}
	}
	return min(max(stripElems/longest, leastRows), mostRows)
}

// rows holds the statements of a row, in two parts.
type rows struct {
	kernel.Taken
	row         string
	size        *expr.Expr // number of rows
	number      *expr.Expr // of a strip
	index       *expr.Expr // of a row in its strip
	first, then []kernel.Stmt
	tiles       []kernel.Stmt
	kept        []*kernel.Tile // scalars that the second part reads, one element per row
}

// rows splits the statements of a row, which depend on no other row, after the last reduction.
// It returns nil if no random words come after it, or if the second part needs more than
// scalars from the first.
func (s *stripper) rows(row string, size *expr.Expr, body []kernel.Stmt, own map[string]bool) *rows {
	at := 0
	for i, st := range body {
		switch st.(type) {
		case *kernel.Reduce:
			at = i + 1
		case *kernel.Var, *kernel.Dot:
			return nil
		}
	}
	for at > 0 && at < len(body) && kernel.Bound(body[at]) != "" {
		at++
	}
	if at == 0 || !slices.ContainsFunc(body[at:], kernel.Is[*kernel.Random]) {
		return nil
	}
	r := &rows{
		Taken: s.Taken, row: row, size: size,
		number: expr.NewVar(s.Fresh(row+"_strip"), expr.I32), index: expr.NewVar(s.Fresh(row+"_row"), expr.I32),
	}
	inside := depend.Changes(body...)
	inside[row] = true
	var before []kernel.Stmt // lets of the first part that the second repeats
	once := map[string]bool{}
	for i, st := range body {
		name := kernel.Bound(st)
		needed := name != "" && i < at && uses(body[at:], name)
		switch st := st.(type) {
		case *kernel.Tile:
			if slices.ContainsFunc(st.Shape, func(e *expr.Expr) bool { return expr.DependsOnAny(e, inside) }) {
				return nil
			}
			r.tiles = append(r.tiles, st)
			continue
		case *kernel.Let:
			if once[name] = expr.DependsOnAny(st.Value, once) || s.changes(st.Value); !once[name] && i < at {
				before = append(before, st)
				needed = false
			}
			if needed && st.Value.Type != expr.F32 {
				return nil
			}
		case *kernel.Reduce:
			once[name] = true
		case *kernel.Set:
			if st.Dst.Op == expr.Var {
				return nil
			}
		}
		if i >= at {
			r.then = append(r.then, st)
			continue
		}
		r.first = append(r.first, st)
		if needed {
			r.first = append(r.first, r.keep(name))
			before = append(before, &kernel.Let{Name: name, Value: r.last()})
		}
	}
	for name := range own {
		if uses(body[:at], name) && uses(body[at:], name) {
			return nil
		}
	}
	r.then = append(before, r.then...)
	return r
}

// changes reports whether an expression reads an array that the kernel writes.
func (s *stripper) changes(e *expr.Expr) bool {
	return slices.ContainsFunc(expr.Elems(e), func(x *expr.Expr) bool { return s.written[x.Name] })
}

// keep returns the statement that stores a scalar for the second part.
func (r *rows) keep(name string) kernel.Stmt {
	r.kept = append(r.kept, &kernel.Tile{Name: r.Fresh(name + "_rows"), Type: expr.F32})
	return &kernel.Set{Dst: r.last(), Value: expr.NewVar(name, expr.F32)}
}

// last returns the row's element of the last kept tile.
func (r *rows) last() *expr.Expr {
	return expr.NewElem(r.kept[len(r.kept)-1].Name, expr.F32, r.index)
}

// strip returns the loops over one strip of n rows.
func (r *rows) strip(n int64) []kernel.Stmt {
	first, height := r.Fresh("first"), r.Fresh("height")
	from := expr.NewVar(first, expr.I32)
	return append([]kernel.Stmt{
		&kernel.Let{Name: first, Value: mul(r.number, expr.Int(n))},
		&kernel.Let{Name: height, Value: expr.Simplify(expr.New(expr.Min, sub(r.size, from), expr.Int(n)))},
	}, r.loops(expr.Int(n), from, expr.NewVar(height, expr.I32))...)
}

// loops returns the two loops over rows rows, at most most, starting at from.
func (r *rows) loops(most, from, rows *expr.Expr) []kernel.Stmt {
	out := slices.Clone(r.tiles)
	for _, t := range r.kept {
		out = append(out, &kernel.Tile{Name: t.Name, Type: t.Type, Shape: []*expr.Expr{most}})
	}
	for _, part := range [][]kernel.Stmt{r.first, r.then} {
		body := append([]kernel.Stmt{&kernel.Let{Name: r.row, Value: add(from, r.index)}}, part...)
		out = append(out, &kernel.For{Var: r.index.Name, Lo: expr.Int(0), Hi: rows, Body: body})
	}
	return out
}
