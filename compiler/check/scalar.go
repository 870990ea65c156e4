package check

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/dsl/diag"
)

// Bounds on expressions.
const (
	maxNodes = 200_000   // nodes of one training, with sums unrolled
	maxTotal = 2_000_000 // nodes of a sweep
	maxTree  = 100_000   // size of one expression as a tree, in which definitions repeat
	maxTerms = 4096      // terms of one sum
)

// indices are the variables in every mask and bias.
var indices = []string{"h", "i", "j", "pi", "pj", "di", "dj", "ni", "nj", "layer", "H", "I", "J"}

// aloneIndices are the variables in every mask and bias of attention alone. The others
// are of a model and its problems.
var aloneIndices = []string{"h", "i", "j", "H", "I", "J"}

// indexOf has the token index for each position of a token.
var indexOf = map[string]string{"pi": "i", "pj": "j"}

// tableIndices are the variables in every table: its row, its column and the number of
// columns.
var tableIndices = []string{"n", "c", "C"}

const tableHelp = "n (the row: a digit's value, a position), c (the column) and C (the number of columns)"

const indexHelp = "h (head), i (query), j (key), pi and pj (their positions), di and dj (their places in numbers), ni and nj (which numbers those are), layer (from 1) and the lengths H, I, J"

const aloneHelp = "h (head), i (query), j (key) and the lengths H, I, J"

// A scope is the context of an expression, which gives meaning to its names.
type scope struct {
	*checker
	path string                // of the attribute, for messages
	mask bool                  // a mask: no learned parameters or biases
	rows bool                  // a table, which has its own variables
	in   *instance             // the definition that contains the expression, or nil
	lets map[string]*expr.Expr // variables of enclosing sums
	vars []string              // real variables instead of the indices, or nil
}

// condition translates the mask of a site. nil means that all keys are open or, if ok is
// false, an error.
func (s *scope) condition(e *dsl.Expr) (m *expr.Expr, ok bool) {
	m, ok = s.boolean(e)
	if ok && m.IsConst() && m.I == 1 {
		return nil, true
	}
	return m, ok
}

// boolean translates a condition.
func (s *scope) boolean(e *dsl.Expr) (m *expr.Expr, ok bool) {
	m = s.expr(e)
	if m == nil {
		return nil, false
	}
	if m.Type != expr.Bool {
		s.report("E0212", e.Range, "%s is a condition, not a number", s.path).WithHelp("compare, as in j <= i")
		return nil, false
	}
	return m, s.small(m, e)
}

// number translates a bias, or returns nil after an error.
func (s *scope) number(e *dsl.Expr) *expr.Expr {
	x := s.expr(e)
	if x == nil {
		return nil
	}
	if x.Type == expr.Bool {
		s.report("E0212", e.Range, "%s is a number, not a condition", s.path).WithHelp("write where(condition, a, b)")
		return nil
	}
	if !s.small(x, e) {
		return nil
	}
	return real32(x)
}

// small reports whether an expression has an acceptable size as a tree.
func (s *scope) small(x *expr.Expr, e *dsl.Expr) bool {
	if s.fact(x).size > maxTree {
		s.report("E0309", e.Range, "%s has more than %d operations", s.path, maxTree).WithHelp("use shorter sums or fewer definitions in definitions")
		return false
	}
	return true
}

// charge counts the nodes of expressions. It reports once if there are too many, in one
// training or in all.
func (s *scope) charge(nodes int, e *dsl.Expr) bool {
	before := s.nodes <= maxNodes && s.total <= maxTotal
	s.nodes += nodes
	s.total += nodes
	if s.nodes <= maxNodes && s.total <= maxTotal {
		return true
	}
	if before {
		s.report("E0309", e.Range, "%s has more than %d operations", s.path, maxNodes).WithHelp("use shorter sums")
	}
	return false
}

// expr translates an expression, or returns nil after an error.
func (s *scope) expr(e *dsl.Expr) *expr.Expr {
	if !s.charge(1, e) {
		return nil
	}
	switch e.Kind {
	case dsl.Number:
		return s.constant(e)
	case dsl.Name:
		return s.name(e)
	case dsl.Call:
		return s.call(e)
	case dsl.Unary:
		return s.unary(e)
	case dsl.Binary:
		return s.binary(e)
	case dsl.Index:
		return s.index(e)
	}
	s.report("E0212", e.Range, "%s does not belong in %s", text(e), s.path).WithHelp("expressions are made of numbers, names, operators and functions")
	return nil
}

// constant turns whole numbers into integers, so that comparisons of indices stay exact,
// and others into reals.
func (s *scope) constant(e *dsl.Expr) *expr.Expr {
	if e.Unit != "" {
		s.report("E0205", e.Head, "numbers in %s have no unit", s.path).WithHelp("write %s without %q", e.Text, e.Unit)
		return nil
	}
	digits := strings.ReplaceAll(e.Text, "_", "")
	if n, err := strconv.ParseInt(digits, 10, 32); err == nil {
		return expr.Int(n)
	}
	x, err := strconv.ParseFloat(digits, 32)
	if err != nil {
		s.report("E0207", e.Range, "%s is too large", text(e)).WithHelp("numbers are below 3.4e38")
		return nil
	}
	return expr.F(x)
}

func (s *scope) unary(e *dsl.Expr) *expr.Expr {
	x := s.expr(e.Arg(0))
	switch {
	case x == nil:
		return nil
	case e.Text == "!" && x.Type != expr.Bool:
		return s.mismatch(e.Arg(0), x, "! takes a condition")
	case e.Text == "!":
		return expr.New(expr.Not, x)
	case x.Type == expr.Bool:
		return s.mismatch(e.Arg(0), x, "- takes a number")
	case x.IsConst() && x.Type == expr.I32:
		return expr.Int(-x.I)
	case x.IsConst():
		return expr.F(-x.F)
	}
	return expr.New(expr.Neg, x)
}

// mismatch reports a condition in place of a number, or the reverse.
func (s *scope) mismatch(e *dsl.Expr, got *expr.Expr, what string) *expr.Expr {
	is, help := "a number", "compare, as in j <= i"
	if got.Type == expr.Bool {
		is, help = "a condition", "write where(condition, a, b)"
	}
	s.report("E0212", e.Range, "%s, and %s is %s", what, text(e), is).WithHelp("%s", help)
	return nil
}

// real32 converts whole numbers to real ones.
func real32(x *expr.Expr) *expr.Expr {
	switch {
	case x.Type == expr.F32:
		return x
	case x.IsConst():
		return expr.F(float64(x.I))
	}
	return expr.New(expr.ToF32, x)
}

// match converts two numbers to one type: whole if both are.
func match(a, b *expr.Expr) (x, y *expr.Expr) {
	if a.Type == b.Type {
		return a, b
	}
	return real32(a), real32(b)
}

// operators are the binary operators on numbers or, if logical, on conditions.
var operators = map[string]struct {
	op      expr.Op
	swapped bool
	logical bool
	real    bool
}{
	"||": {op: expr.Or, logical: true},
	"&&": {op: expr.And, logical: true},
	"==": {op: expr.Eq},
	"!=": {op: expr.Ne},
	"<":  {op: expr.Lt},
	"<=": {op: expr.Le},
	">":  {op: expr.Lt, swapped: true},
	">=": {op: expr.Le, swapped: true},
	"+":  {op: expr.Add},
	"-":  {op: expr.Sub},
	"*":  {op: expr.Mul},
	"/":  {op: expr.Div, real: true},
}

func (s *scope) binary(e *dsl.Expr) *expr.Expr {
	o, ok := operators[e.Text]
	if !ok {
		s.report("E0212", e.Range, "a range belongs in sum(m = lo..hi, …) only").WithHelp("compare twice: lo <= m && m <= hi")
		return nil
	}
	a, b := s.expr(e.Arg(0)), s.expr(e.Arg(1))
	if a == nil || b == nil {
		return nil
	}
	for n, x := range []*expr.Expr{a, b} {
		switch {
		case o.logical && x.Type != expr.Bool:
			return s.mismatch(e.Arg(n), x, e.Text+" joins conditions")
		case !o.logical && x.Type == expr.Bool:
			return s.mismatch(e.Arg(n), x, e.Text+" takes numbers")
		}
	}
	if o.real {
		a, b = real32(a), real32(b)
	}
	a, b = match(a, b)
	if o.swapped {
		a, b = b, a
	}
	if o.logical {
		return expr.New(o.op, a, b)
	}
	return s.arith(o.op, a, b)
}

// name translates a name without arguments.
func (s *scope) name(e *dsl.Expr) *expr.Expr {
	if x, ok := s.lets[e.Text]; ok {
		return x
	}
	if s.in != nil {
		if x, ok := s.local(e); ok {
			return x
		}
	}
	switch {
	case slices.Contains(s.vars, e.Text):
		return expr.NewVar(e.Text, expr.F32)
	case s.rows && e.Text == "C":
		return expr.Int(int64(s.num("model.width")))
	case s.rows && slices.Contains(tableIndices, e.Text):
		return expr.NewVar(e.Text, expr.I32)
	case !s.rows && s.vars == nil && slices.Contains(s.indices(), e.Text):
		return expr.NewVar(e.Text, expr.I32)
	}
	if e.Text == "true" || e.Text == "false" {
		return expr.B(e.Text == "true")
	}
	if d := s.definition(e.Text); d != nil {
		return s.use(d, e)
	}
	if stage, site, ok := strings.Cut(e.Text, "."); ok && !s.rows && s.places[s.stageBlock(stage)].Start.IsValid() {
		return s.result(e, stage, site)
	}
	if functionNamed(e.Text) != nil || e.Text == "sum" || e.Text == "table" {
		s.report("E0209", e.Range, "%s is a function", e.Text).WithHelp("write %s(…)", e.Text)
		return nil
	}
	return s.undefined(e)
}

// undefined reports a name that nothing defines. The help is the nearest name, or all
// variables. For a call it also lists the functions.
func (s *scope) undefined(e *dsl.Expr) *expr.Expr {
	all, names := s.sees(), s.known()
	if e.Kind == dsl.Call {
		all = "functions are " + strings.Join(callable, ", ")
		names = append(names, callable...)
	}
	help := all
	if index, ok := indexOf[e.Text]; ok && s.alone() {
		help = "attention alone has no position scheme: write " + index
	} else if e.Text == "given" && s.alone() && !s.mask {
		help = "given stands alone: write attention.bias = given, and add other biases to the tensor that you give"
	} else if slices.Contains(indices, e.Text) && s.alone() {
		help = "attention alone has no digits and no layers: " + all
	} else if n := diag.Nearest(e.Text, names); n != "" {
		help = "did you mean \"" + n + "\"?"
		if slices.Contains(callable, n) {
			help += " (" + all + ")"
		}
	}
	help = cmp.Or(s.wordingFor(e.Text), help)
	s.report("E0209", e.Head, "%q is not defined in %s", e.Text, s.path).WithHelp("%s", help)
	return nil
}

// known lists the names that an expression may use: variables and definitions.
func (s *scope) known() []string {
	if s.vars != nil {
		return slices.Clone(s.vars)
	}
	names := slices.Clone(s.indices())
	if s.rows {
		names = slices.Clone(tableIndices)
	}
	for _, d := range slices.Concat(s.defined, s.lang.prelude) {
		if s.rows == (d.kind == "table") && (!s.mask || d.kind == "mask") {
			names = append(names, d.name)
		}
	}
	if s.in != nil {
		names = append(names, s.in.names...)
	}
	return names
}

// sees returns help that lists the variables.
func (s *scope) sees() string {
	switch {
	case s.vars != nil:
		return "it sees " + strings.Join(s.vars, ", ")
	case s.rows:
		return "a table sees " + tableHelp
	case s.mask:
		return "a mask sees " + s.indexHelp()
	}
	return "a bias sees " + s.indexHelp()
}

// indices returns the variables in masks and biases of this spec, and indexHelp describes
// them.
func (c *checker) indices() []string {
	if c.alone() {
		return aloneIndices
	}
	return indices
}

func (c *checker) indexHelp() string {
	if c.alone() {
		return aloneHelp
	}
	return indexHelp
}
