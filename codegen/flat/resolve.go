package flat

import (
	"maps"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

type resolver struct {
	kernel *kernel.Kernel
	params map[string]kernel.Param
	tiles  map[string]kernel.Tile
	views  map[string]view
	late   map[string][]*Alloc // tiles that wait for a variable
}

// resolve brings a kernel into resolved form.
func resolve(k *kernel.Kernel) Kernel {
	r := &resolver{
		kernel: k,
		params: map[string]kernel.Param{},
		tiles:  map[string]kernel.Tile{},
		late:   map[string][]*Alloc{},
	}
	for _, p := range k.Params {
		r.params[p.Name] = p
	}
	for _, t := range k.Tiles {
		r.tiles[t.Name] = t
	}
	r.findViews(k)
	pre, top := r.allocs(k)
	head := &kernel.Kernel{Name: k.Name, Op: k.Op, Pos: k.Pos, Params: k.Params, Grid: k.Grid}
	return Kernel{head, pre, append(top, r.body(k.Body)...)}
}

// allocs says where tiles are made: before all cells, at the start of a cell, or
// (in r.late) where the last variable that a tile's size needs gets its value.
func (r *resolver) allocs(k *kernel.Kernel) (pre, top []Node) {
	grid := map[string]bool{}
	for _, a := range k.Grid {
		grid[a.Var] = true
	}
	depth := map[string]int{}
	depths(k.Body, depth)
	for _, t := range k.Tiles {
		if _, ok := r.views[t.Name]; ok {
			continue
		}
		a := &Alloc{Name: t.Name, Type: t.Type}
		if len(t.Shape) == 0 {
			top = append(top, a)
			continue
		}
		a.Size = Elements(t.Shape)
		last, perCell := "", false
		for _, v := range expr.Vars(a.Size) {
			perCell = perCell || grid[v.Name]
			if depth[v.Name] > depth[last] {
				last = v.Name
			}
		}
		switch {
		case last != "":
			r.late[last] = append(r.late[last], a)
		case perCell:
			top = append(top, a)
		default:
			pre = append(pre, a)
		}
	}
	return pre, top
}

// depths numbers the variables that a body binds, and the bodies in it, from 1 in
// order.
func depths(body []kernel.Stmt, depth map[string]int) {
	for _, s := range body {
		switch s := s.(type) {
		case *kernel.Let:
			depth[s.Name] = len(depth) + 1
		case *kernel.Reduce:
			depth[s.Name] = len(depth) + 1
		case *kernel.For:
			depth[s.Var] = len(depth) + 1
		}
		depths(inner(s), depth)
	}
}

// inner returns the body of a statement that has one.
func inner(s kernel.Stmt) []kernel.Stmt {
	switch s := s.(type) {
	case *kernel.For:
		return s.Body
	case *kernel.If:
		return s.Then
	}
	return nil
}

func (r *resolver) body(stmts []kernel.Stmt) []Node {
	var out []Node
	for _, s := range stmts {
		out = append(out, r.stmt(s)...)
	}
	return out
}

// stmt resolves one statement to zero or more.
func (r *resolver) stmt(s kernel.Stmt) []Node {
	switch s := s.(type) {
	case *kernel.Let:
		return append([]Node{&Let{s.Name, r.expr(s.Value)}}, r.waiting(s.Name)...)
	case *kernel.Load:
		if _, ok := r.views[s.Dst]; ok {
			return nil
		}
		vars := make([]*expr.Expr, len(s.Axes))
		for i, a := range s.Axes {
			vars[i] = expr.NewVar(a.Var, expr.I32)
		}
		src := expr.NewElem(s.Buf, r.params[s.Buf].Type, r.flat(r.params[s.Buf].Shape, s.Index))
		return []Node{&Assign{r.axes(s.Axes), r.tileElem(s.Dst, vars), src}}
	case *kernel.Store:
		p := r.params[s.Buf]
		dst := expr.NewElem(s.Buf, p.Type, r.flat(p.Shape, s.Index))
		return []Node{&Assign{r.axes(s.Axes), dst, r.expr(s.Value)}}
	case *kernel.Fill:
		var size *expr.Expr
		if shape := r.tiles[s.Dst].Shape; len(shape) > 0 {
			size = Elements(shape)
		}
		if s.Rand != nil {
			return []Node{&Random{s.Dst, size, r.expr(s.Rand.Base), r.expr(s.Rand.Example), s.Rand.Stream}}
		}
		return []Node{&Fill{s.Dst, size, r.expr(s.Value)}}
	case *kernel.Map:
		return []Node{&Assign{r.axes(s.Axes), r.tileElem(s.Dst, r.exprs(s.At)), r.expr(s.Value)}}
	case *kernel.Dot:
		return []Node{r.dot(s)}
	case *kernel.Reduce:
		return append([]Node{&Reduce{s.Name, s.Op, r.axis(s.Axis), r.expr(s.Value)}}, r.waiting(s.Name)...)
	case *kernel.For:
		own, ok := apart(r.kernel, s)
		maps.DeleteFunc(own, func(tile string, _ bool) bool { _, inPlace := r.views[tile]; return inPlace })
		return []Node{&Loop{s.Var, r.expr(s.Lo), r.expr(s.Hi), append(r.waiting(s.Var), r.body(s.Body)...), ok, own}}
	case *kernel.If:
		return []Node{&Branch{r.expr(s.Cond), r.body(s.Then)}}
	}
	panic("BUG: unknown kernel statement")
}

// waiting returns the tiles whose size waited for a variable.
func (r *resolver) waiting(name string) []Node {
	var out []Node
	for _, a := range r.late[name] {
		out = append(out, a)
	}
	return out
}

func (r *resolver) dot(s *kernel.Dot) Node {
	a, c := r.tiles[s.A].Shape, r.tiles[s.Dst].Shape
	d := &Dot{K: a[len(a)-1], A: r.operand(s.A), B: r.operand(s.B), C: r.operand(s.Dst)}
	if s.TransA {
		d.K = a[0]
		d.A.RS, d.A.CS = d.A.CS, d.A.RS
	}
	one := expr.Int(1)
	switch len(c) {
	case 2:
		d.M, d.N = c[0], c[1]
	case 1:
		d.M, d.N = one, c[0]
	default:
		d.B.RS, d.B.CS = d.B.CS, one // a rank-1 B is a column
	}
	return d
}

// operand describes a tile as a matrix; a rank-1 tile is one row.
func (r *resolver) operand(name string) Operand {
	t := r.tiles[name]
	i, j := expr.NewVar("dot.i", expr.I32), expr.NewVar("dot.j", expr.I32)
	idx := []*expr.Expr{i, j}[2-len(t.Shape):]
	e := r.tileElem(name, idx)
	if len(e.Args) == 0 {
		return Operand{Slice: e.Name, Off: expr.Int(0), RS: expr.Int(0), CS: expr.Int(0)}
	}
	rs, rest, ok := Affine(e.Args[0], i.Name)
	cs, off, ok2 := Affine(rest, j.Name)
	if !ok || !ok2 {
		panic("BUG: a tile read in place by a Dot has no strides")
	}
	return Operand{e.Name, off, rs, cs}
}

func (r *resolver) axis(a kernel.Axis) kernel.Axis {
	return kernel.Axis{Var: a.Var, Size: r.expr(a.Size)}
}

func (r *resolver) axes(as []kernel.Axis) []kernel.Axis {
	out := make([]kernel.Axis, len(as))
	for i, a := range as {
		out[i] = r.axis(a)
	}
	return out
}

func (r *resolver) exprs(es []*expr.Expr) []*expr.Expr {
	out := make([]*expr.Expr, len(es))
	for i, e := range es {
		out[i] = r.expr(e)
	}
	return out
}

// expr resolves the elements of an expression.
func (r *resolver) expr(e *expr.Expr) *expr.Expr {
	return expr.Simplify(expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
		if e.Op != expr.Elem {
			return e
		}
		return r.tileElem(e.Name, e.Args)
	}))
}

// tileElem is the element of a tile at resolved indices.
func (r *resolver) tileElem(name string, idx []*expr.Expr) *expr.Expr {
	t := r.tiles[name]
	if v, ok := r.views[name]; ok {
		return v.elem(idx)
	}
	if len(idx) == 0 {
		return expr.NewVar(name, t.Type)
	}
	return expr.NewElem(name, t.Type, flatten(t.Shape, idx))
}

// flat is the flat index of unresolved indices into a shape.
func (r *resolver) flat(shape, idx []*expr.Expr) *expr.Expr {
	return flatten(shape, r.exprs(idx))
}
