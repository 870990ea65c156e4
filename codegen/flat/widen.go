package flat

import (
	"fmt"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// widen lets products have factors of F32 alone: one of 16 bits is copied to a tile.
func widen(k *kernel.Kernel) *kernel.Kernel {
	w := &widener{map[string]bool{}}
	for _, p := range k.Params {
		w.taken[p.Name] = true
	}
	for _, a := range k.Grid {
		w.taken[a.Var] = true
	}
	for s := range kernel.All(k.Body) {
		for name := range kernel.Names(s) {
			w.taken[name] = true
		}
	}
	return withBody(k, w.body(k.Body))
}

type widener struct{ taken map[string]bool }

func (w *widener) body(body []kernel.Stmt) []kernel.Stmt {
	var out []kernel.Stmt
	for _, s := range body {
		s = within(s, w.body)
		if d, ok := s.(*kernel.Dot); ok && d.A.Type.Narrow() {
			wide, n := *d, len(d.Axes)
			left, right := d.Axes[n-1:], d.Axes[n-1:]
			if n > 2 {
				left = []kernel.Axis{d.Axes[0], d.Axes[2]}
			}
			if n > 1 {
				right = []kernel.Axis{d.Axes[n-1], d.Axes[n-2]}
			}
			out = append(out, w.factor(&wide.A, left)...)
			out = append(out, w.factor(&wide.B, right)...)
			s = &wide
		}
		out = append(out, s)
	}
	return out
}

// factor puts a tile in the place of a factor over some axes, and returns what makes it.
func (w *widener) factor(e **expr.Expr, axes []kernel.Axis) []kernel.Stmt {
	axes = asItLies(*e, axes)
	t := &kernel.Tile{Name: w.name((*e).Name), Type: expr.F32, Shape: kernel.Sizes(axes)}
	var index []*expr.Expr
	for _, a := range axes {
		index = append(index, expr.NewVar(a.Var, expr.I32))
	}
	elem := expr.NewElem(t.Name, expr.F32, index...)
	copied := &kernel.Set{Axes: axes, Dst: elem, Value: expr.New(expr.ToF32, *e)}
	*e = elem
	return []kernel.Stmt{t, copied}
}

// asItLies are the axes of a factor in the order of memory: a copy reads rows.
func asItLies(e *expr.Expr, axes []kernel.Axis) []kernel.Axis {
	inRow := func(a kernel.Axis) bool {
		coef, _, affine := expr.Affine(e.Args[len(e.Args)-1], a.Var)
		return affine && expr.IsInt(coef, 1)
	}
	if len(axes) == 2 && inRow(axes[0]) && !inRow(axes[1]) {
		return []kernel.Axis{axes[1], axes[0]}
	}
	return axes
}

// name is a new name for a tile that resembles another.
func (w *widener) name(like string) string {
	for n := 1; ; n++ {
		if name := fmt.Sprintf("%s_wide%d", like, n); !w.taken[name] {
			w.taken[name] = true
			return name
		}
	}
}
