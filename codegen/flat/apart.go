package flat

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// apart says whether the turns of a loop can be done in any order, or at the same
// time: no turn touches an element that another writes, but in tiles that each
// turn fills before it reads them. Those are own.
func apart(k *kernel.Kernel, loop *kernel.For) (own map[string]bool, ok bool) {
	a := &apartness{loop: loop, lets: map[string]*expr.Expr{}, sites: map[string][]spot{}, written: map[string]bool{}}
	if !a.collect(loop.Body, nil) {
		return nil, false
	}
	inside := countUses(loop.Body)
	whole := countUses(k.Body)
	own = map[string]bool{}
	for name := range a.written {
		switch {
		case a.separated(name):
		case isTile(k, name) && inside.reads[name] == whole.reads[name] && inside.writes[name] == whole.writes[name] && filledFirst(k, loop.Body, name):
			own[name] = true
		default:
			return nil, false
		}
	}
	return own, true
}

// A spot is where a statement touches a tile or buffer: its indices, with the
// axes that they run over.
type spot struct {
	index []*expr.Expr
	axes  []kernel.Axis
}

// apartness is what is known of the body of a loop.
type apartness struct {
	loop    *kernel.For
	lets    map[string]*expr.Expr // over the loop's variable and what is set outside
	sites   map[string][]spot     // of tiles and buffers
	written map[string]bool
}

// collect notes all accesses of a body. It fails at a product, which is one for
// all threads of a block.
func (a *apartness) collect(body []kernel.Stmt, axes []kernel.Axis) bool {
	for _, s := range body {
		inner := axes
		switch s := s.(type) {
		case *kernel.Dot:
			return false
		case *kernel.Let:
			a.lets[s.Name] = a.over(s.Value)
		case *kernel.Load:
			inner = append(slices.Clip(axes), s.Axes...)
			a.touch(s.Dst, spot{axisVars(s.Axes), inner}, true)
			a.touch(s.Buf, spot{a.all(s.Index), inner}, false)
		case *kernel.Store:
			inner = append(slices.Clip(axes), s.Axes...)
			a.touch(s.Buf, spot{a.all(s.Index), inner}, true)
		case *kernel.Map:
			inner = append(slices.Clip(axes), s.Axes...)
			a.touch(s.Dst, spot{a.all(s.At), inner}, true)
		case *kernel.Fill:
			a.touch(s.Dst, spot{}, true)
		case *kernel.Reduce:
			inner = append(slices.Clip(axes), s.Axis)
		case *kernel.For:
			inner = append(slices.Clip(axes), kernel.Axis{Var: s.Var, Size: a.over(s.Hi)})
			if !IsInt(s.Lo, 0) || !a.collect(s.Body, inner) {
				return false
			}
		case *kernel.If:
			if !a.collect(s.Then, inner) {
				return false
			}
		}
		for _, e := range expr.Elems(operands(s)...) {
			a.touch(e.Name, spot{a.all(e.Args), inner}, false)
		}
	}
	return true
}

func (a *apartness) touch(name string, s spot, write bool) {
	a.sites[name] = append(a.sites[name], s)
	a.written[name] = a.written[name] || write
	if !a.written[name] {
		delete(a.written, name)
	}
}

// over writes an expression without the lets of the body.
func (a *apartness) over(e *expr.Expr) *expr.Expr {
	return expr.Simplify(expr.Subst(e, a.lets))
}

func (a *apartness) all(es []*expr.Expr) []*expr.Expr {
	out := make([]*expr.Expr, len(es))
	for i, e := range es {
		out[i] = a.over(e)
	}
	return out
}

// separated says whether each turn has elements of its own: in one dimension all
// indices advance alike with the loop's variable, by no less than the width of
// what a turn touches there.
func (a *apartness) separated(name string) bool {
	sites := a.sites[name]
	for d := range sites[0].index {
		if a.advances(sites, d) {
			return true
		}
	}
	return false
}

func (a *apartness) advances(sites []spot, d int) bool {
	var step, base *expr.Expr
	for _, s := range sites {
		if d >= len(s.index) {
			return false
		}
		coef, rest, ok := Affine(s.index[d], a.loop.Var)
		if !ok || !coef.IsConst() || coef.I <= 0 {
			return false
		}
		rest, width, ok := spread(rest, s.axes)
		if !ok || width >= coef.I || step != nil && (!expr.Equal(coef, step) || !expr.Equal(rest, base)) || !a.fixed(rest) {
			return false
		}
		step, base = coef, rest
	}
	return true
}

// spread takes the axes out of an index, and returns how far they move it.
func spread(e *expr.Expr, axes []kernel.Axis) (rest *expr.Expr, width int64, ok bool) {
	for _, x := range axes {
		if !Depends(e, x.Var) {
			continue
		}
		coef, r, ok := Affine(e, x.Var)
		if !ok || !coef.IsConst() || coef.I < 0 || !x.Size.IsConst() {
			return nil, 0, false
		}
		width += coef.I * max(x.Size.I-1, 0)
		e = r
	}
	return e, width, true
}

// fixed says whether an expression is the same in all turns.
func (a *apartness) fixed(e *expr.Expr) bool {
	if len(expr.Elems(e)) > 0 {
		return false
	}
	for _, v := range expr.Vars(e) {
		if boundIn(a.loop.Body, v.Name) {
			return false
		}
	}
	return true
}

// boundIn says whether a body gives a name a value.
func boundIn(body []kernel.Stmt, name string) bool {
	return slices.ContainsFunc(body, func(s kernel.Stmt) bool {
		switch s := s.(type) {
		case *kernel.Let:
			return s.Name == name
		case *kernel.Reduce:
			return s.Name == name
		case *kernel.For:
			return s.Var == name || boundIn(s.Body, name)
		}
		return boundIn(inner(s), name)
	})
}

// filledFirst says whether the first statement of a body that touches a tile
// writes all of it.
func filledFirst(k *kernel.Kernel, body []kernel.Stmt, tile string) bool {
	for _, s := range body {
		u := countUses([]kernel.Stmt{s})
		if u.reads[tile]+u.writes[tile] == 0 {
			continue
		}
		switch s := s.(type) {
		case *kernel.Load:
			return s.Dst == tile
		case *kernel.Fill:
			return s.Dst == tile
		case *kernel.Map:
			return u.reads[tile] == 0 && covers(s, k.Tiles[tileIndex(k, tile)].Shape)
		}
		return false
	}
	return false
}

// covers says whether a Map writes all elements of a tile, its axes in order.
func covers(m *kernel.Map, shape []*expr.Expr) bool {
	for i, at := range m.At {
		if i >= len(m.Axes) || at.Op != expr.Var || at.Name != m.Axes[i].Var || !expr.Equal(m.Axes[i].Size, shape[i]) {
			return false
		}
	}
	return true
}

func isTile(k *kernel.Kernel, name string) bool { return tileIndex(k, name) >= 0 }

func tileIndex(k *kernel.Kernel, name string) int {
	return slices.IndexFunc(k.Tiles, func(t kernel.Tile) bool { return t.Name == name })
}

func axisVars(axes []kernel.Axis) []*expr.Expr {
	out := make([]*expr.Expr, len(axes))
	for i, a := range axes {
		out[i] = expr.NewVar(a.Var, expr.I32)
	}
	return out
}
