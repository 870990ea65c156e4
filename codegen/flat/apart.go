package flat

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// markApart marks the loops whose iterations can be done in any order, or at the same
// time: none touches an element that another writes, but in tiles and variables that
// each fills before it reads them. Those are its own.
func markApart(k *kernel.Kernel) *kernel.Kernel {
	m := &marker{map[string][]*expr.Expr{}, countUses(k.Body)}
	for s := range kernel.All(k.Body) {
		switch s := s.(type) {
		case *kernel.Tile:
			m.local[s.Name] = s.Shape
		case *kernel.Var:
			m.local[s.Name] = nil
		}
	}
	return withBody(k, m.body(k.Body))
}

type marker struct {
	local map[string][]*expr.Expr // tiles and variables, with their extents
	all   *usage                  // of the kernel
}

func (m *marker) body(body []kernel.Stmt) []kernel.Stmt {
	out := slices.Clone(body)
	for i, s := range out {
		if inner := kernel.Within(s); inner != nil {
			out[i] = kernel.WithBody(s, m.body(inner))
		}
		if l, ok := out[i].(*kernel.For); ok {
			l.Own, l.Apart = m.apart(l)
		}
	}
	return out
}

func (m *marker) apart(loop *kernel.For) (own map[string]bool, ok bool) {
	a := &apartness{loop: loop, lets: map[string]*expr.Expr{}, sites: map[string][]spot{}, written: map[string]bool{}}
	if !a.collect(loop.Body, nil) {
		return nil, false
	}
	inside := countUses(loop.Body)
	own = map[string]bool{}
	for name := range a.written {
		shape, local := m.local[name]
		switch {
		case a.separated(name):
		case local && inside.same(m.all, name) && filledFirst(loop.Body, name, shape):
			own[name] = true
		default:
			return nil, false
		}
	}
	return own, true
}

// A spot is where a statement touches an array or variable: its indices, with the
// axes that they run over.
type spot struct {
	index []*expr.Expr
	axes  []kernel.Axis
}

// apartness is what is known of the body of a loop.
type apartness struct {
	loop    *kernel.For
	lets    map[string]*expr.Expr // over the loop's variable and what is set outside
	sites   map[string][]spot     // of arrays and variables
	written map[string]bool
}

// collect notes all accesses of a body. It fails at a product, which is one for
// all threads of a block.
func (a *apartness) collect(body []kernel.Stmt, axes []kernel.Axis) bool {
	for _, s := range body {
		inner := append(slices.Clip(axes), kernel.Axes(s)...)
		switch s := s.(type) {
		case *kernel.Dot:
			return false
		case *kernel.Let:
			a.lets[s.Name] = a.over(s.Value)
		case *kernel.Var:
			if s.Value != nil {
				a.written[s.Name] = true
				a.sites[s.Name] = append(a.sites[s.Name], spot{})
			}
		case *kernel.Set:
			a.touch(s.Dst, inner, true)
		case *kernel.Random:
			a.written[s.Dst] = true
			a.sites[s.Dst] = append(a.sites[s.Dst], spot{})
		case *kernel.For:
			inner = append(inner, kernel.Axis{Var: s.Var, Size: a.over(s.Hi)})
			if !expr.IsInt(s.Lo, 0) {
				return false
			}
		}
		if !a.collect(kernel.Within(s), inner) {
			return false
		}
		for _, e := range kernel.Reads(s) {
			expr.Walk(e, func(x *expr.Expr) {
				if x.Op == expr.Elem || x.Op == expr.Var {
					a.touch(x, inner, false)
				}
			})
		}
	}
	return true
}

func (a *apartness) touch(x *expr.Expr, axes []kernel.Axis, write bool) {
	a.sites[x.Name] = append(a.sites[x.Name], spot{a.all(x.Args), axes})
	if write {
		a.written[x.Name] = true
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

// separated says whether each iteration has elements of its own: in one dimension all
// indices advance alike with the loop's variable, by no less than the width of
// what an iteration touches there.
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
		coef, rest, ok := expr.Affine(s.index[d], a.loop.Var)
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
		if !expr.Depends(e, x.Var) {
			continue
		}
		coef, r, ok := expr.Affine(e, x.Var)
		if !ok || !coef.IsConst() || coef.I < 0 || !x.Size.IsConst() {
			return nil, 0, false
		}
		width += coef.I * max(x.Size.I-1, 0)
		e = r
	}
	return e, width, true
}

// fixed says whether an expression is the same in all iterations.
func (a *apartness) fixed(e *expr.Expr) bool {
	if len(expr.Elems(e)) > 0 {
		return false
	}
	return !slices.ContainsFunc(expr.Vars(e), func(v *expr.Expr) bool { return a.written[v.Name] || binds(a.loop.Body, v.Name) })
}

// filledFirst says whether the first statement of a body that touches a tile or
// variable sets all of it.
func filledFirst(body []kernel.Stmt, name string, shape []*expr.Expr) bool {
	for _, s := range body {
		if !kernel.Uses(s, name) && kernel.Bound(s) != name {
			continue
		}
		switch s := s.(type) {
		case *kernel.Tile:
			continue
		case *kernel.Var:
			if s.Value == nil {
				continue
			}
			return true
		case *kernel.Random:
			return expr.Equal(s.Size, shape[0])
		case *kernel.Set:
			return s.Dst.Name == name && !reads(s, name) && (s.Dst.Op == expr.Var || covers(s, shape))
		}
		return false
	}
	return false
}

// reads says whether a statement, its body left out, reads a variable or an array.
func reads(s kernel.Stmt, name string) bool {
	return slices.ContainsFunc(kernel.Reads(s), func(e *expr.Expr) bool { return expr.Mentions(e, name) })
}
