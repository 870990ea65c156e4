package flat

import (
	"fmt"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// widen replaces F16 factors of products by F32. A tile that only products read becomes F32;
// any other factor is copied to an F32 tile.
func widen(k *kernel.Kernel) *kernel.Kernel {
	w := &widener{k.Names(), factorTiles(k.Body)}
	return withBody(k, w.body(k.Body))
}

// factorTiles returns the F16 tiles that only products read.
func factorTiles(body []kernel.Stmt) map[string]bool {
	tiles := map[string]bool{}
	for s := range kernel.All(body) {
		if t, ok := s.(*kernel.Tile); ok && t.Type == expr.F16 {
			tiles[t.Name] = true
		}
	}
	for s := range kernel.All(body) {
		d, _ := s.(*kernel.Dot)
		for _, e := range kernel.Reads(s) {
			read := []*expr.Expr{e}
			if d != nil && (e == d.A || e == d.B) {
				read = e.Args
			}
			for _, x := range expr.Elems(read...) {
				delete(tiles, x.Name)
			}
		}
	}
	return tiles
}

type widener struct {
	taken kernel.Taken
	wide  map[string]bool // tiles that become F32
}

func (w *widener) body(body []kernel.Stmt) []kernel.Stmt {
	var out []kernel.Stmt
	for _, s := range body {
		switch s := s.(type) {
		case *kernel.Tile:
			t := *s
			if w.wide[t.Name] {
				t.Type = expr.F32
			}
			out = append(out, &t)
		case *kernel.Set:
			set := *s
			if w.wide[set.Dst.Name] {
				set.Dst, set.Value = wideElem(set.Dst), expr.New(expr.ToF32, set.Value)
			}
			out = append(out, &set)
		case *kernel.Dot:
			out = append(out, w.dot(s)...)
		default:
			out = append(out, within(s, w.body))
		}
	}
	return out
}

// dot returns the statements that widen the factors, and the product of them.
func (w *widener) dot(d *kernel.Dot) []kernel.Stmt {
	wide, n := *d, len(d.Axes)
	left, right := d.Axes[n-1:], d.Axes[n-1:]
	if n > 2 {
		left = []kernel.Axis{d.Axes[0], d.Axes[2]}
	}
	if n > 1 {
		right = []kernel.Axis{d.Axes[n-1], d.Axes[n-2]}
	}
	out := append(w.factor(&wide.A, left), w.factor(&wide.B, right)...)
	return append(out, &wide)
}

// wideElem returns an element of a tile that has become F32.
func wideElem(e *expr.Expr) *expr.Expr { return expr.NewElem(e.Name, expr.F32, e.Args...) }

// factor widens a factor over axes, and returns the statements that must come before.
func (w *widener) factor(e **expr.Expr, axes []kernel.Axis) []kernel.Stmt {
	switch {
	case (*e).Type != expr.F16:
		return nil
	case w.wide[(*e).Name]:
		*e = wideElem(*e)
		return nil
	}
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

// asItLies returns the axes of a factor in memory order, so that a copy reads rows.
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

// name returns a new name for a tile, derived from another.
func (w *widener) name(like string) string {
	for n := 1; ; n++ {
		if name := fmt.Sprintf("%s_wide%d", like, n); !w.taken[name] {
			w.taken[name] = true
			return name
		}
	}
}
