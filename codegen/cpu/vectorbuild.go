package cpu

import (
	"errors"
	"fmt"

	"github.com/arithlang/mlc/codegen/cpu/vector"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A vectorBuilder rewrites nodes as the body of a vector kernel and finds its parameters.
type vectorBuilder struct {
	*cutter
	call    *call
	bound   map[string]bool       // variables that the nodes bind
	written map[string]bool       // slices that the nodes write
	extents map[string]*expr.Expr // sizes of the axes and loops from 0 around the current node
	params  map[string]string     // the names of slices in the body
	values  map[string]bool
	guarded int // bodies around the current node that may not run
	err     error
}

// fail notes why the nodes cannot be a vector kernel.
func (b *vectorBuilder) fail(why string) {
	if b.err == nil {
		b.err = errors.New(why)
	}
}

func (b *vectorBuilder) nodes(ns []kernel.Stmt) []kernel.Stmt {
	out := make([]kernel.Stmt, len(ns))
	for i, n := range ns {
		out[i] = b.node(n)
	}
	return out
}

func (b *vectorBuilder) node(n kernel.Stmt) kernel.Stmt {
	switch n := n.(type) {
	case *kernel.Let:
		delete(b.extents, n.Name) // an earlier axis may have had the name
	case *kernel.Set:
		if n.Dst.Op == expr.Var && !b.bound[n.Dst.Name] {
			b.fail("it sets a variable of the code around it")
		}
	case *kernel.Random:
		for _, v := range randomScalars {
			b.value(v)
		}
		b.slice(n.Dst)
	}
	for _, a := range kernel.Axes(n) {
		if b.loaded(a.Size) {
			b.fail("a size depends on loaded data")
		}
		b.extents[a.Var] = a.Size
	}
	out := kernel.Rewrite(kernel.WithBody(n, nil), b.expr)
	b.guarded++
	body := b.nodes(kernel.Within(n))
	b.guarded--
	return kernel.WithBody(out, body)
}

// randomScalars are the scalars that random words depend on.
var randomScalars = []*expr.Expr{
	expr.NewVar("seed0", expr.U32), expr.NewVar("seed1", expr.U32), expr.NewVar("step", expr.U32), expr.NewVar("layer", expr.I32),
}

// expr rewrites the elements of an expression. Values from outside the vector kernel become
// its parameters.
func (b *vectorBuilder) expr(e *expr.Expr) *expr.Expr {
	memo := map[*expr.Expr]*expr.Expr{}
	var visit func(e *expr.Expr) *expr.Expr
	visit = func(e *expr.Expr) *expr.Expr {
		if x, ok := memo[e]; ok {
			return x
		}
		x := e
		switch {
		case e.Op == expr.Const:
		case e.Op == expr.Var:
			b.value(e)
		case e.Op == expr.Elem && b.loaded(e.Args[0]):
			x = b.elemAt(e)
		case e.Op == expr.Elem:
			x = expr.NewElem(b.slice(e.Name), e.Type, visit(e.Args[0]))
		default:
			args := make([]*expr.Expr, len(e.Args))
			for i, a := range e.Args {
				args[i] = visit(a)
			}
			x = expr.New(e.Op, args...)
		}
		memo[e] = x
		return x
	}
	return visit(e)
}

// value makes a parameter of a variable that the vector kernel does not bind.
func (b *vectorBuilder) value(v *expr.Expr) {
	if b.bound[v.Name] || b.values[v.Name] {
		return
	}
	if v.Type == expr.Bool {
		b.fail("it takes a truth value from the code around it")
	}
	b.values[v.Name] = true
	b.call.code.Values = append(b.call.code.Values, vector.Value{Name: v.Name, Type: v.Type})
}

// slice makes a parameter of a whole buffer or tile.
func (b *vectorBuilder) slice(name string) string {
	if b.cutter.sizes[name] == nil {
		b.fail("it uses a tile that is made in a loop")
	}
	return b.param(name, name, arg{slice: name})
}

func (b *vectorBuilder) param(key, name string, a arg) string {
	if got, ok := b.params[key]; ok {
		return got
	}
	b.params[key] = name
	b.call.code.Slices = append(b.call.code.Slices, vector.Slice{Name: name, Type: b.types[a.slice]})
	b.call.args = append(b.call.args, a)
	return name
}

// elemAt rewrites an element whose index depends on loaded data. The vector kernel gets the
// slice from the loaded offset on. Go computes and checks the offset.
func (b *vectorBuilder) elemAt(e *expr.Expr) *expr.Expr {
	off, index, length := e.Args[0], expr.Int(0), int64(1)
	for _, v := range expr.Vars(off) {
		if !b.bound[v.Name] {
			continue
		}
		size, ok := b.extents[v.Name]
		coef, rest, affine := expr.Affine(off, v.Name)
		if !ok || !affine || size.Op != expr.Const || coef.Op != expr.Const || coef.I < 0 || size.I < 1 {
			b.fail("an index depends on loaded data, and not on axes of known sizes alone")
			return e
		}
		index = expr.Simplify(expr.New(expr.Add, index, expr.New(expr.Mul, v, coef)))
		off, length = rest, length+coef.I*(size.I-1)
	}
	for _, x := range expr.Elems(off) {
		if b.written[x.Name] {
			b.fail("an index depends on what it writes")
		}
	}
	if b.guarded > 0 {
		b.fail("an index depends on loaded data, which may be anything where the code does not run")
	}
	key := fmt.Sprintf("%s\n%s\n%d", e.Name, expr.Key(off), length)
	name := b.param(key, fmt.Sprintf("%s.at%d", e.Name, len(b.params)), arg{e.Name, off, length})
	return expr.NewElem(name, e.Type, index)
}

// aliases fails if the vector kernel writes a slice that has two names: it would take them for
// different memory.
func (b *vectorBuilder) aliases() {
	seen := map[string]bool{}
	for _, a := range b.call.args {
		if seen[a.slice] && b.written[a.slice] {
			b.fail("what it writes has two names in it")
		}
		seen[a.slice] = true
	}
}
