package flat

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// fuseFills makes the Fill of a Dot's whole output with 0 part of the Dot.
func fuseFills(nodes []Node) []Node {
	var out []Node
	for i, n := range nodes {
		switch n := n.(type) {
		case *Fill:
			if d := cleared(n, nodes[i+1:]); d != nil {
				d.Zero = true
				continue
			}
		case *Loop:
			n.Body = fuseFills(n.Body)
		case *Branch:
			n.Body = fuseFills(n.Body)
		}
		out = append(out, n)
	}
	return out
}

// cleared returns the Dot whose whole output a Fill sets to 0, if it is the next
// to use the tile.
func cleared(f *Fill, rest []Node) *Dot {
	if f.Size == nil || f.Value.Op != expr.Const || !expr.Equal(f.Value, expr.F(0)) {
		return nil
	}
	i := slices.IndexFunc(rest, func(n Node) bool { return Uses(n, f.Dst) })
	if i < 0 {
		return nil
	}
	d, ok := rest[i].(*Dot)
	if !ok || d.M == nil || d.A.Slice == f.Dst || d.B.Slice == f.Dst || !d.wholeTile() || !expr.Equal(mul(d.M, d.N), f.Size) {
		return nil
	}
	return d
}

// wholeTile says whether the output of a Dot begins where its tile does and has
// no gaps.
func (d *Dot) wholeTile() bool {
	return IsInt(d.C.Off, 0) && (IsInt(d.M, 1) || expr.Equal(d.C.RS, d.N))
}

// writeThrough lets Dots compute in a buffer where a tile is only between: it is
// 0 or a part of the buffer before, and goes there after.
func writeThrough(r Kernel) Kernel {
	r.Body = through(r.Body, func(tile string) int { return count(r.Body, tile) })
	return r
}

func through(nodes []Node, users func(tile string) int) []Node {
	for i, n := range nodes {
		if body := Within(n); body != nil {
			body = through(body, users)
			switch n := n.(type) {
			case *Loop:
				n.Body = body
			case *Branch:
				n.Body = body
			}
		}
		d, ok := n.(*Dot)
		if !ok || d.M == nil || !d.wholeTile() {
			continue
		}
		if out := direct(nodes, i, d, users(d.C.Slice)); out != nil {
			return through(out, users)
		}
	}
	return nodes
}

// direct returns the nodes without the copies around Dot i, or nil if they are not
// of the form. users is the number of nodes that use its tile.
func direct(nodes []Node, i int, d *Dot, users int) []Node {
	uses := func(n Node) bool { return Uses(n, d.C.Slice) }
	after := slices.IndexFunc(nodes[i+1:], uses)
	if after < 0 {
		return nil
	}
	after += i + 1
	to := copyOf(nodes[after], d)
	if to == nil || to.Slice == d.C.Slice || to.Slice == d.A.Slice || to.Slice == d.B.Slice {
		return nil
	}
	before, others := i, 1
	if !d.Zero {
		before = slices.IndexFunc(nodes[:i], uses)
		if before < 0 || !loads(nodes[before], d, to) {
			return nil
		}
		others = 2
	}
	if users != others+1 {
		return nil
	}
	for k := before + 1; k < after; k++ {
		let, ok := nodes[k].(*Let)
		if ok && k > i && (Depends(to.Off, let.Name) || Depends(to.RS, let.Name)) || k != i && Uses(nodes[k], to.Slice) {
			return nil
		}
	}
	d.C = *to
	out := slices.Clone(nodes[:before])
	if before < i {
		out = append(out, nodes[before+1:i]...)
	}
	return append(append(out, nodes[i:after]...), nodes[after+1:]...)
}

// copyOf returns where a node copies the whole output of a Dot, as the operand
// that can take the output's place; nil if it does something else.
func copyOf(n Node, d *Dot) *Operand {
	a := asAssign(n)
	if a == nil || a.Value.Op != expr.Elem || a.Dst.Op != expr.Elem {
		return nil
	}
	return matrix(a, a.Value, a.Dst, d)
}

// loads says whether a node sets the whole output of a Dot from an operand.
func loads(n Node, d *Dot, from *Operand) bool {
	a := asAssign(n)
	if a == nil || a.Value.Op != expr.Elem || a.Dst.Op != expr.Elem {
		return false
	}
	m := matrix(a, a.Dst, a.Value, d)
	return m != nil && m.Slice == from.Slice && expr.Equal(m.Off, from.Off) && expr.Equal(m.RS, from.RS)
}

// matrix returns other, element by element, as the operand that corresponds to
// the tile of a Dot's output.
func matrix(a *Assign, tile, other *expr.Expr, d *Dot) *Operand {
	if tile.Name != d.C.Slice || len(a.Axes) != 2 || !expr.Equal(a.Axes[0].Size, d.M) || !expr.Equal(a.Axes[1].Size, d.N) {
		return nil
	}
	i, j := a.Axes[0].Var, a.Axes[1].Var
	row, col, off, ok := strides(tile.Args[0], i, j)
	if !ok || !expr.Equal(row, d.N) || !IsInt(col, 1) || !IsInt(off, 0) {
		return nil
	}
	row, col, off, ok = strides(other.Args[0], i, j)
	if !ok || !IsInt(col, 1) || !isStride(row) || len(expr.Elems(off, row)) > 0 {
		return nil
	}
	return &Operand{Slice: other.Name, Off: off, RS: row, CS: col}
}

// strides splits an index into row*i + col*j + off.
func strides(e *expr.Expr, i, j string) (row, col, off *expr.Expr, ok bool) {
	row, rest, ok1 := Affine(e, i)
	if !ok1 {
		return nil, nil, nil, false
	}
	col, off, ok = Affine(rest, j)
	return row, col, off, ok
}

// asAssign returns a node that is an assignment, or a loop over the rows of one,
// as an assignment over all axes; nil if it is something else.
func asAssign(n Node) *Assign {
	switch n := n.(type) {
	case *Assign:
		return n
	case *Loop:
		if !IsInt(n.Lo, 0) || len(n.Body) == 0 {
			return nil
		}
		at := map[string]*expr.Expr{}
		for _, s := range n.Body[:len(n.Body)-1] {
			let, ok := s.(*Let)
			if !ok {
				return nil
			}
			at[let.Name] = expr.Subst(let.Value, at)
		}
		a, ok := n.Body[len(n.Body)-1].(*Assign)
		if !ok {
			return nil
		}
		axes := append([]kernel.Axis{{Var: n.Name, Size: n.Hi}}, a.Axes...)
		subst := func(e *expr.Expr) *expr.Expr { return expr.Simplify(expr.Subst(e, at)) }
		return &Assign{Axes: axes, Dst: subst(a.Dst), Value: subst(a.Value)}
	}
	return nil
}

// count returns how many nodes, loops and branches left out, use a slice.
func count(nodes []Node, slice string) int {
	n := 0
	for _, x := range nodes {
		switch {
		case Within(x) != nil:
			n += count(Within(x), slice)
		case Uses(x, slice):
			n++
		}
	}
	return n
}
