package flat

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// flatten gives every array one row-major index. It allocates tiles once for all cells where
// possible, in their largest size.
func flatten(k *kernel.Kernel) *kernel.Kernel {
	f := &flattener{map[string][]*expr.Expr{}, NewBounds(k.Grid), nil}
	out := *k
	out.Params = make([]kernel.Param, len(k.Params))
	for i, p := range k.Params {
		if p.Mode != kernel.Scalar {
			f.shapes[p.Name] = p.Shape
			p.Shape = []*expr.Expr{kernel.Elements(p.Shape)}
		}
		out.Params[i] = p
	}
	out.Body = f.body(k.Body)
	out.Once = f.once
	return &out
}

type flattener struct {
	shapes map[string][]*expr.Expr // of arrays
	bounds *Bounds
	once   []kernel.Stmt // tiles for all cells
}

func (f *flattener) body(body []kernel.Stmt) []kernel.Stmt {
	var out []kernel.Stmt
	for _, s := range body {
		f.bounds.Enter(s)
		switch s := s.(type) {
		case *kernel.Tile:
			f.shapes[s.Name] = s.Shape
			if size := f.bounds.size(s.Shape); size != nil {
				f.once = append(f.once, &kernel.Tile{Name: s.Name, Type: s.Type, Shape: []*expr.Expr{size}})
			} else {
				out = append(out, &kernel.Tile{Name: s.Name, Type: s.Type, Shape: []*expr.Expr{kernel.Elements(s.Shape)}})
			}
			continue
		case *kernel.Set:
			out = append(out, kernel.Rewrite(f.filling(s), f.expr))
			continue
		}
		if inner := kernel.Within(s); inner != nil {
			head := kernel.Rewrite(kernel.WithBody(s, nil), f.expr)
			out = append(out, kernel.WithBody(head, f.body(inner)))
			continue
		}
		out = append(out, kernel.Rewrite(s, f.expr))
	}
	return out
}

// filling returns a statement over one axis that sets all elements of a tile to one value.
func (f *flattener) filling(s *kernel.Set) *kernel.Set {
	shape := f.shapes[s.Dst.Name]
	if len(s.Axes) < 2 || !covers(s, shape) {
		return s
	}
	for _, a := range s.Axes {
		if expr.Depends(s.Value, a.Var) {
			return s
		}
	}
	axis := kernel.Axis{Var: s.Axes[0].Var, Size: kernel.Elements(shape)}
	return &kernel.Set{Axes: []kernel.Axis{axis}, Dst: expr.NewElem(s.Dst.Name, s.Dst.Type, expr.NewVar(axis.Var, expr.I32)), Value: s.Value}
}

// expr flattens the indices of an expression.
func (f *flattener) expr(e *expr.Expr) *expr.Expr {
	return expr.Simplify(expr.Rewrite(e, func(x *expr.Expr) *expr.Expr {
		if x.Op != expr.Elem || len(x.Args) == 1 && len(f.shapes[x.Name]) == 1 {
			return x
		}
		return expr.NewElem(x.Name, x.Type, flatIndex(f.shapes[x.Name], x.Args))
	}))
}

// flatIndex returns the row-major index of idx in an array of the shape, the
// extents nested from the left: (i*M + j)*N + k.
func flatIndex(shape, idx []*expr.Expr) *expr.Expr {
	flat := expr.Int(0)
	for d, i := range idx {
		flat = add(mul(flat, shape[d]), i)
	}
	return flat
}

func add(a, b *expr.Expr) *expr.Expr { return expr.Simplify(expr.New(expr.Add, a, b)) }

func sub(a, b *expr.Expr) *expr.Expr { return expr.Simplify(expr.New(expr.Sub, a, b)) }

func mul(a, b *expr.Expr) *expr.Expr { return expr.Simplify(expr.New(expr.Mul, a, b)) }
