package kernel

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// shapes are the extents of the arrays of a kernel by name.
type shapes map[string][]*expr.Expr

// shapes finds the extents of all tiles and buffers.
func (k *Kernel) shapes() shapes {
	all := shapes(k.TileShapes())
	for _, p := range k.Params {
		if p.Mode != Scalar {
			all[p.Name] = p.Shape
		}
	}
	return all
}

// Tiles returns the tiles that a kernel makes, in the order of its text.
func (k *Kernel) Tiles() []*Tile {
	var tiles []*Tile
	for _, body := range [][]Stmt{k.Once, k.Body} {
		for s := range All(body) {
			if t, ok := s.(*Tile); ok {
				tiles = append(tiles, t)
			}
		}
	}
	return tiles
}

// TileShapes returns the extents of tiles by name.
func (k *Kernel) TileShapes() map[string][]*expr.Expr {
	shapes := map[string][]*expr.Expr{}
	for _, t := range k.Tiles() {
		shapes[t.Name] = t.Shape
	}
	return shapes
}

// Vars returns the names of a kernel's variables.
func (k *Kernel) Vars() map[string]bool {
	vars := map[string]bool{}
	for s := range All(k.Body) {
		if v, ok := s.(*Var); ok {
			vars[v.Name] = true
		}
	}
	return vars
}

// impliedAxes returns the axes that the text of a statement may leave out: its axis variables in
// order of appearance. The size of each is the first extent that the variable alone subscripts,
// such as r and k in a[r, k]. Tiles come before buffers, since their extents fit the cell
// exactly. Size is nil if there is no such subscript. isAxis says which variables are axes.
func (k *Kernel) impliedAxes(of shapes, s Stmt, isAxis func(string) bool) []Axis {
	each := overAxes(s)
	var tiles, buffers []*expr.Expr
	for _, e := range expr.Elems(each...) {
		if k.buffer(e.Name) == nil {
			tiles = append(tiles, e)
		} else {
			buffers = append(buffers, e)
		}
	}
	var axes []Axis
	for _, v := range expr.Vars(each...) {
		if isAxis(v.Name) {
			axes = append(axes, Axis{Var: v.Name, Size: of.plainExtent(v.Name, append(tiles, buffers...))})
		}
	}
	return axes
}

// overAxes returns the expressions that a statement evaluates for each value of its axes, in the
// order of its text.
func overAxes(s Stmt) []*expr.Expr {
	var es []*expr.Expr
	switch s := s.(type) {
	case *Set:
		es = []*expr.Expr{s.Dst, s.Value}
	case *Dot:
		es = []*expr.Expr{s.Dst, s.A, s.B}
	case *Reduce:
		es = []*expr.Expr{s.Value}
	}
	return slices.DeleteFunc(es, func(e *expr.Expr) bool { return e == nil })
}

// plainExtent finds the first extent that the variable alone subscripts.
func (of shapes) plainExtent(name string, elems []*expr.Expr) *expr.Expr {
	for _, x := range elems {
		shape := of[x.Name]
		for i, e := range x.Args {
			if e.Op == expr.Var && e.Name == name && i < len(shape) {
				return shape[i]
			}
		}
	}
	return nil
}

// buffer returns the parameter of that name unless it is a scalar.
func (k *Kernel) buffer(name string) *Param {
	for i := range k.Params {
		if p := &k.Params[i]; p.Name == name && p.Mode != Scalar {
			return p
		}
	}
	return nil
}
