package check

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl"
)

// learnedOption describes the arguments of learned(…).
func learnedOption() *dsl.Option {
	const bound = 1e9
	return &dsl.Option{Name: "learned", Args: []dsl.Row{
		{Path: "shape", Type: dsl.Any, Default: "[]", Doc: "lengths of the axes: whole numbers, H and definitions"},
		{Path: "init", Type: dsl.Any, Default: "0", Doc: "a number, uniform(low, high), normal(std) or xavier()"},
		{Path: "min", Type: dsl.Real, Default: "none", Words: "none", Min: -bound, Max: bound, Doc: "lower bound, kept after each update"},
		{Path: "decay", Type: dsl.Bool, Default: "false", Doc: "weight decay applies"},
		{Path: "shared", Type: dsl.Bool, Default: "false", Doc: "one for all layers"},
	}, Doc: "a tensor that is trained"}
}

func initOptions() []dsl.Option {
	const bound = 1e9
	num := func(name, def string, least float64) dsl.Row {
		return dsl.Row{Path: name, Type: dsl.Real, Default: def, Min: least, Max: bound}
	}
	return []dsl.Option{
		{Name: "uniform", Args: []dsl.Row{num("low", "0", -bound), num("high", "1", -bound)}},
		{Name: "normal", Args: []dsl.Row{{Path: "std", Type: dsl.Real, Default: "1", Above: true, Max: bound}}},
		{Name: "xavier"},
	}
}

// param returns the learned parameter that an attribute of an instance declares, or nil
// if it declares none. After an error the parameter has no shape, so that its uses cause
// no further errors.
func (c *checker) param(in *instance, name string) *BiasParam {
	if l := in.params[name]; l != nil || !in.learned(name) {
		return l
	}
	path := in.attr(name)
	l := &BiasParam{Name: in.prefix + "." + name, Shape: wrongShape}
	in.params[name] = l
	c.uses.params[l.Name] = l
	written := in.attrs[name].value
	if in.kind == "mask" {
		c.report("E0212", written.Range, "a mask cannot have learned parameters").WithHelp("declare %s in a bias block", name)
		return l
	}
	e := c.fill(in, written)
	v := c.option(c.lang.learned, path, e)
	if v == nil {
		return l
	}
	shape, ok := c.shape(path, v.args["shape"])
	if ok {
		l.Shape = shape
	}
	l.Init, v.args["init"].text = c.init(path, v.args["init"], l.Shape)
	l.Decay, l.Shared = v.args["decay"].is("true"), v.args["shared"].is("true")
	if lo := v.args["min"]; !lo.is("none") {
		l.Min = &lo.num
		if most, known := mostOf(l.Init); known && most < lo.num {
			c.report("E0207", lo.at, "%s begins at %s at most, below min = %s", path, short(most), lo.text).WithHelp("give it an init from %s on, or another min", lo.text)
		}
	}
	in.texts[name] = paramText(v)
	if e != written {
		in.texts[name] = dsl.Format(written)
	}
	return l
}

// mostOf returns the largest initial value of a parameter, if it is known.
func mostOf(i Init) (x float64, known bool) {
	switch i.Kind {
	case "const":
		return i.A, true
	case "uniform":
		return i.B, true
	}
	return 0, false
}

// wrongShape marks a parameter whose declaration is wrong.
var wrongShape = []int{-1}

func paramText(v *value) string {
	text := "learned(" + v.args["shape"].text + ", init = " + v.args["init"].text
	if lo := v.args["min"]; !lo.is("none") {
		text += ", min = " + lo.text
	}
	for _, name := range []string{"decay", "shared"} {
		if v.args[name].is("true") {
			text += ", " + name + " = true"
		}
	}
	return text + ")"
}

// fill replaces names of constant definitions by their values.
func (c *checker) fill(in *instance, e *dsl.Expr) *dsl.Expr {
	return dsl.Rewrite(e, func(e *dsl.Expr) *dsl.Expr {
		if e.Kind != dsl.Name || in.attrs[e.Text] == nil || in.learned(e.Text) {
			return e
		}
		x := c.define(in, e.Text)
		if x == nil {
			return e
		}
		return number(c.constantOf(x), e)
	})
}

// constantOf returns the value of an expression that is equal for all queries and keys,
// or nil.
func (c *checker) constantOf(x *expr.Expr) *expr.Expr {
	k, ok := c.constants[x]
	if !ok {
		k = c.reduce(x)
		c.constants[x] = k
	}
	return k
}

// reduce computes constantOf the first time.
func (c *checker) reduce(x *expr.Expr) *expr.Expr {
	x = expr.Simplify(expr.Subst(x, map[string]*expr.Expr{"H": expr.Int(int64(c.heads()))}))
	if !x.IsConst() || x.Type == expr.Bool || math.IsInf(x.F, 0) || math.IsNaN(x.F) {
		return nil
	}
	return x
}

// number writes a constant at the place of e, or returns e if x is nil.
func number(x *expr.Expr, e *dsl.Expr) *dsl.Expr {
	if x == nil {
		return e
	}
	if x.Type == expr.F32 {
		return digitsAt(strconv.FormatFloat(x.F, 'g', -1, 32), e)
	}
	return digitsAt(strconv.FormatInt(x.I, 10), e)
}

// digitsAt writes a number, which may be negative, at the place of e.
func digitsAt(text string, e *dsl.Expr) *dsl.Expr {
	digits, negative := strings.CutPrefix(text, "-")
	n := &dsl.Expr{Kind: dsl.Number, Text: digits, Range: e.Range, Head: e.Head}
	if negative {
		n = &dsl.Expr{Kind: dsl.Unary, Text: "-", Range: e.Range, Head: e.Head, Args: []dsl.Arg{{Value: n}}}
	}
	return n
}

// maxElements bounds the elements of a learned tensor.
const maxElements = 1 << 24

// shape evaluates the shape of a parameter, a list of whole numbers in which H may
// appear.
func (c *checker) shape(path string, v *value) ([]int, bool) {
	if v.expr.Kind != dsl.List {
		c.report("E0206", v.at, "the shape of %s is a list, not %s", path, text(v.expr)).WithHelp("write learned([H])")
		return nil, false
	}
	dims := []int{}
	total := 1.0
	row := &dsl.Row{Type: dsl.Int, Min: 1, Max: maxElements}
	for _, a := range v.expr.Args {
		x := c.numeric(row, "the shape of "+path, dsl.Rewrite(a.Value, func(e *dsl.Expr) *dsl.Expr {
			if e.Kind == dsl.Name && e.Text == "H" {
				return number(expr.Int(int64(c.heads())), e)
			}
			return e
		}))
		if x == nil {
			return nil, false
		}
		dims = append(dims, int(x.num))
		total *= x.num
	}
	if total > maxElements {
		c.report("E0207", v.at, "%s has %.0f elements", path, total).WithHelp("at most %d", maxElements)
		return nil, false
	}
	return dims, true
}

// init reads a parameter's initial value: a number, uniform(a, b), normal(std) or
// xavier().
func (c *checker) init(path string, v *value, shape []int) (Init, string) {
	e := v.expr
	if e.Kind != dsl.Call {
		row := &dsl.Row{Type: dsl.Real, Min: -1e9, Max: 1e9}
		x := c.numeric(row, path+".init", e)
		if x == nil {
			return Init{Kind: "const"}, v.text
		}
		return Init{Kind: "const", A: x.num}, x.text
	}
	x := c.choice(c.lang.inits, path+".init", e)
	switch {
	case x == nil:
	case x.word == "uniform" && x.args["low"].num >= x.args["high"].num:
		c.report("E0207", e.Range, "%s is empty", x.text).WithHelp("write uniform(low, high) with low < high, or a number")
	case x.word == "uniform":
		return Init{Kind: "uniform", A: x.args["low"].num, B: x.args["high"].num}, x.text
	case x.word == "normal":
		return Init{Kind: "normal", A: x.args["std"].num}, x.text
	case x.word == "xavier":
		in, out := fans(shape)
		return Init{Kind: "xavier", A: float64(in), B: float64(out)}, "xavier()"
	}
	return Init{Kind: "const"}, v.text
}

// fans returns the inputs and outputs of a tensor that is summed over its last axis. A
// vector is the weights from one unit.
func fans(shape []int) (in, out int) {
	in, out = 1, 1
	if n := len(shape); n > 0 {
		out = shape[0]
		if n > 1 {
			in = shape[n-1]
		}
	}
	return in, out
}

// index translates parameter[…].
func (s *scope) index(e *dsl.Expr) *expr.Expr {
	base := e.Arg(0)
	var param *BiasParam
	if s.in != nil && base.Kind == dsl.Name {
		param = s.param(s.in, base.Text)
	}
	if param == nil {
		s.report("E0212", base.Range, "%s has no elements", text(base)).WithHelp("only a learned tensor of the same block is indexed")
		return nil
	}
	return s.element(param, e, e.Args[1:])
}

// element returns one element of a parameter. Its indices must be whole numbers and
// within the parameter's shape at every length.
func (s *scope) element(param *BiasParam, e *dsl.Expr, args []dsl.Arg) *expr.Expr {
	if len(param.Shape) == 1 && param.Shape[0] < 0 {
		return nil // its declaration is wrong
	}
	if len(args) != len(param.Shape) {
		s.report("E0210", e.Range, "%s has %d axes and %d indices", param.Name, len(param.Shape), len(args)).
			WithHelp("its shape is %s", shapeText(param.Shape))
		return nil
	}
	idx := make([]*expr.Expr, len(args))
	for n, a := range args {
		x := s.expr(a.Value)
		if x == nil {
			return nil
		}
		whole := s.asWhole(x)
		if whole == nil {
			s.report("E0212", a.Value.Range, "an index is a whole number, but %s is not", text(a.Value)).
				WithHelp("indices are made of h, i, j and whole numbers, or write floor(%s)", text(a.Value))
			return nil
		}
		switch f := s.fact(whole); {
		case f.nan:
			s.report("E0303", a.Value.Range, "the index %s of %s may be NaN", text(a.Value), param.Name).
				WithHelp("write clip(…, 0, %d), which also handles NaN", param.Shape[n]-1)
			return nil
		case !(f.lo >= 0 && f.hi <= float64(param.Shape[n]-1)):
			s.report("E0303", a.Value.Range, "the index %s of %s is not always between 0 and %d", text(a.Value), param.Name, param.Shape[n]-1).
				WithHelp("write clip(%s, 0, %d)", text(a.Value), param.Shape[n]-1)
			return nil
		}
		idx[n] = whole
	}
	return expr.NewElem(param.Name, expr.F32, idx...)
}

func shapeText(shape []int) string {
	return strings.ReplaceAll(fmt.Sprint(shape), " ", ", ")
}
