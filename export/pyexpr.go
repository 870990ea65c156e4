package export

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// A text is a Python expression with the precedence of its outermost operator.
type text struct {
	code  string
	binds int
}

// inside returns the text as an operand of an operator with the given precedence.
func (t text) inside(binds int) string {
	if t.binds < binds {
		return "(" + t.code + ")"
	}
	return t.code
}

func atom(code string) text { return text{code, bindsAtom} }

// A pyExpr prints one expression. args are the arguments of its Map, and index the names of
// its indices.
type pyExpr struct {
	p     *python
	args  []text
	index []string
	uses  map[*expr.Expr]int
	names map[*expr.Expr]text // subexpressions that have a name
}

// expr prints an expression.
func (p *python) expr(e *expr.Expr, args []text, index []string) text {
	if bad := printable(e); bad != nil && p.err == nil {
		p.err = errNoRow(bad.Op.String())
	}
	x := &pyExpr{p, args, index, expr.Uses(e), map[*expr.Expr]text{}}
	for k, a := range args { // an argument that is read several times gets a name
		name := ir.X(k, expr.F32).Name
		reads := 0
		for leaf, n := range x.uses {
			if leaf.Name == name {
				reads += n
			}
		}
		if reads > 1 && a.binds < bindsAtom {
			args[k] = p.assign(p.temp(), a)
		}
	}
	return x.node(e)
}

// worthName is the smallest number of nodes for which a repeated subexpression gets a name.
const worthName = 4

func (x *pyExpr) node(e *expr.Expr) text {
	if t, ok := x.names[e]; ok {
		return t
	}
	t := x.plain(e)
	if x.uses[e] > 1 && len(e.Args) > 0 && nodes(e) >= worthName && e.Op != expr.Elem {
		t = x.p.assign(x.p.temp(), t)
		x.names[e] = t
	}
	return t
}

func nodes(e *expr.Expr) int {
	n := 1
	for _, a := range e.Args {
		n += nodes(a)
	}
	return n
}

func (x *pyExpr) plain(e *expr.Expr) text {
	switch e.Op {
	case expr.Const:
		return constant(e)
	case expr.Var:
		return x.variable(e.Name)
	case expr.Elem:
		return x.element(e)
	case expr.Div, expr.Mod:
		if e.Type == expr.I32 {
			return x.whole(e)
		}
	case expr.Add:
		if t, ok := x.rolled(e); ok {
			return t
		}
	}
	row := scalars[e.Op]
	args := make([]text, len(e.Args))
	for i, a := range e.Args {
		args[i] = x.node(a)
	}
	switch {
	case row.binds == 0:
		return call_(row.python, args...)
	case len(args) == 1:
		return text{row.python + args[0].inside(row.binds), row.binds}
	}
	return infix(row.python, row.binds, args[0], args[1])
}

// infix prints a binary operation. Operators of equal precedence are grouped from the left.
// Comparisons are never chained.
func infix(op string, binds int, a, b text) text {
	left := binds
	if binds == bindsCompare {
		left++
	}
	return text{a.inside(left) + " " + op + " " + b.inside(binds+1), binds}
}

// call_ prints a call of a function of the prelude.
func call_(name string, args ...text) text {
	all := make([]string, len(args))
	for i, a := range args {
		all[i] = a.code
	}
	return atom(name + "(" + strings.Join(all, ", ") + ")")
}

// whole prints a quotient or remainder of integers, truncated towards zero.
func (x *pyExpr) whole(e *expr.Expr) text {
	a, b := x.node(e.Args[0]), x.node(e.Args[1])
	op, name := "//", "div"
	if e.Op == expr.Mod {
		op, name = "%", "mod"
	}
	if natural(e.Args[0]) && natural(e.Args[1]) {
		return infix(op, bindsMul, a, b)
	}
	return call_(name, a, b)
}

func constant(e *expr.Expr) text {
	var code string
	switch {
	case e.Type == expr.Bool:
		code = map[int64]string{0: "False", 1: "True"}[e.I]
	case e.Type != expr.F32:
		code = strconv.FormatInt(e.I, 10)
	case math.IsInf(e.F, 0) || math.IsNaN(e.F):
		return atom("float(\"" + strconv.FormatFloat(e.F, 'g', -1, 32) + "\")")
	default:
		if code = strconv.FormatFloat(e.F, 'g', -1, 32); !strings.ContainsAny(code, ".e") {
			code += ".0"
		}
	}
	if code[0] == '-' {
		return text{code, bindsUnary}
	}
	return atom(code)
}

// variable prints an argument, an index, or a variable of the launch.
func (x *pyExpr) variable(name string) text {
	if k, err := strconv.Atoi(name[1:]); err == nil && name[0] == 'x' {
		return x.args[k]
	} else if err == nil && name[0] == 'd' {
		return atom(x.index[k])
	}
	return atom(x.p.launch(name))
}

// element prints an element of an argument at its indices.
func (x *pyExpr) element(e *expr.Expr) text {
	k, _ := strconv.Atoi(e.Name[1:])
	if len(e.Args) == 0 {
		return x.args[k]
	}
	at := make([]string, len(e.Args))
	for i, a := range e.Args {
		at[i] = x.node(a).code
	}
	return atom(x.args[k].inside(bindsAtom) + "[" + strings.Join(at, ", ") + "]")
}

// fewTerms is the smallest number of terms printed as sum(… for m in …). The terms differ
// in one number.
const fewTerms = 4

// rolled prints such a sum, for example a small network's sum over its units, with the
// terms before it.
func (x *pyExpr) rolled(e *expr.Expr) (text, bool) {
	if e.Type != expr.F32 {
		return text{}, false
	}
	var terms []*expr.Expr
	for ; e.Op == expr.Add && (len(terms) == 0 || x.uses[e] == 1); e = e.Args[0] {
		terms = append(terms, e.Args[1])
	}
	terms = append(terms, e)
	slices.Reverse(terms)
	for first := range terms[:max(len(terms)-fewTerms+1, 0)] {
		pattern, low := alike(terms[first:])
		if pattern == nil {
			continue
		}
		m := x.p.free("m")
		named := expr.Subst(pattern, map[string]*expr.Expr{rollVar: expr.NewVar(m, expr.I32)})
		inner := &pyExpr{x.p, x.args, x.index, map[*expr.Expr]int{}, x.names}
		x.p.local[m] = true
		body := inner.node(named)
		delete(x.p.local, m)
		span := "range(" + strconv.Itoa(len(terms)-first) + ")"
		if low != 0 {
			span = "range(" + strconv.Itoa(low) + ", " + strconv.Itoa(low+len(terms)-first) + ")"
		}
		sum := atom("sum(" + body.code + " for " + m + " in " + span + ")")
		if first == 0 {
			return sum, true
		}
		before := x.node(terms[0])
		for _, t := range terms[1:first] {
			before = infix("+", bindsAdd, before, x.node(t))
		}
		return infix("+", bindsAdd, before, sum), true
	}
	return text{}, false
}

// rollVar is the variable for the number in which terms differ.
const rollVar = "_number"

// alike finds an expression that gives all terms in order, as a variable counts up from
// low. It returns a nil pattern if there is none.
func alike(terms []*expr.Expr) (pattern *expr.Expr, low int) {
	low, pattern = -1, differ(terms[0], terms[1], &low)
	if pattern == nil || low < 0 {
		return nil, 0
	}
	for k, t := range terms {
		number := map[string]*expr.Expr{rollVar: expr.Int(int64(low + k))}
		if expr.Subst(pattern, number).String() != t.String() {
			return nil, 0
		}
	}
	return pattern, low
}

// differ returns a with a variable at the place where b has the next number. It returns nil
// if they differ in any other way.
func differ(a, b *expr.Expr, low *int) *expr.Expr {
	switch {
	case a == b:
		return a
	case a.Op != b.Op || a.Type != b.Type || a.Name != b.Name || len(a.Args) != len(b.Args):
		return nil
	case a.Op == expr.Const && a.Type == expr.I32 && b.I == a.I+1 && (*low < 0 || int64(*low) == a.I):
		*low = int(a.I)
		return expr.NewVar(rollVar, expr.I32)
	case a.Op == expr.Const && (a.I != b.I || a.F != b.F):
		return nil
	case len(a.Args) == 0:
		return a
	}
	args := make([]*expr.Expr, len(a.Args))
	for i := range args {
		if args[i] = differ(a.Args[i], b.Args[i], low); args[i] == nil {
			return nil
		}
	}
	if a.Op == expr.Elem {
		return expr.NewElem(a.Name, a.Type, args...)
	}
	return expr.New(a.Op, args...)
}
