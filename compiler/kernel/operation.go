package kernel

import (
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
)

// An Operation describes what a kernel computes, so that schedules can choose by it: a tensor
// op and the elementwise ops around it. A handwritten kernel needs only the kind.
//
// Its expressions are over the axes, scalars, elements of buffers before the launch, and
// results of earlier steps.
type Operation struct {
	Kind    string     // a row of the table kinds
	Results []Result   // the tensor op's, by the roles of its kind; unnamed if not wanted
	Args    []Argument // the tensor op's, by the roles of its kind; unnamed if not read
	Axes    []Axis     // over scalars
	Steps   []Step     // elementwise ops, in order: before a sum, after all others

	// For attention and its biases. Query t of a launch is row i = P + t of its
	// sequence; the expressions are over h, i and j.
	Scale      float64
	Mask, Bias *expr.Expr // nil: none
	Window     Window     // zero: none
	Drop       Dropout    // zero: none
}

// A Result is a named value. If a buffer has this name, the value is stored there, or added
// with Add.
type Result struct {
	Name string
	Add  bool
}

// An Argument is a buffer, or the name of a step. Trans transposes a factor.
type Argument struct {
	Name  string
	Trans bool
}

// A Step is an elementwise op at row r and column e.
type Step struct {
	Result
	Op      string     // map, dropout, draw or noise
	Value   *expr.Expr // a map's value or a dropout's input; else nil
	Dropout            // a draw and a noise have only a stream
}

// Dropout is the probability that a value is dropped, and the random stream that decides.
type Dropout struct {
	Rate   float64
	Stream uint32

	Rows, Keys int // strides that number an attention's random words; 0: the launch's
}

// A Window holds Width keys from Lo on, the only ones that a mask may leave open. Sums over
// keys are sums over these, in order.
type Window struct {
	Lo    *expr.Expr
	Width int
}

// A kind describes a tensor op. Words that end in ? may be missing; * stands for any number
// more.
type kind struct {
	family        string
	axes          string // in order
	args, results string // roles
}

// axisNames stand for rows, columns, the summed axis, examples, heads, queries, keys, the head
// width, relative scores, and the row of a query.
var axisNames = strings.Fields("r e k b h t j d n i")

// kinds has an entry for each tensor op that can anchor a kernel, and "row" for other kernels
// that go row by row.
var kinds = map[string]kind{
	"map":                {"map", "r? e", "", ""},
	"append":             {"map", "r e", "x", "cache"},
	"rotate":             {"map", "r e h", "x cos sin", "y"},
	"repeat_heads":       {"map", "r e h", "x", "y"},
	"sum_heads":          {"map", "r e h", "x", "y"},
	"row":                {"row", "r? e", "", ""},
	"layernorm":          {"row", "r e", "x gamma beta", "y"},
	"layernorm_grad":     {"row", "r e", "x gamma? dy?", "x? mean? rstd?"},
	"rmsnorm":            {"row", "r e", "x gamma", "y"},
	"rmsnorm_grad":       {"row", "r e", "x gamma? dy?", "x? rstd?"},
	"cross_entropy":      {"row", "r e", "logits labels", "loss"},
	"cross_entropy_grad": {"row", "r e", "logits labels dloss", "logits"},
	"argmax":             {"row", "r e", "x", "y"},
	"sum":                {"row", "r? e", "x *", "y *"}, // several over the same rows
	"segment_sum":        {"row", "e", "x", "y"},
	"runs":               {"row", "r e", "tokens", "y"},
	"subset":             {"row", "r? e", "", "y"},
	"matmul":             {"matmul", "r e k", "left right", "y"},
	"head_product":       {"matmul", "r e k", "left right", "y"},
	"outer":              {"matmul", "r e k", "left right", "y"},
	"head_outer":         {"matmul", "r e k", "left right", "y"},
	"gather":             {"gather", "r e", "table ids", "y"},
	"scatter":            {"scatter", "r e k", "ids dy", "table"},
	"attention":          {"attention", "b h t j d n?", "q k v relative? table?", "y largest? norm?"},
	"attention_grad":     {"attention", "b h t j d n?", "q k v dout largest norm y? relative? table?", "q? k? v? relative? table?"},
	"attention_weights":  {"attention", "b h t j d n?", "q k relative? table?", "weights? logits?"},
	"bias_table":         {"attention", "h t j", "", "table"},
	"bias_table_grad":    {"attention", "h t j", "dtable *", "*"}, // one result per parameter
}

// Family returns the kernel family: map, row, matmul, attention, gather or scatter.
func (o *Operation) Family() string { return kinds[o.Kind].family }

// Known reports whether the operation has more than a kind.
func (o *Operation) Known() bool { return len(o.Axes) > 0 }

// Product reports whether the operation is a matrix product, y[r, e] = sum over k of
// left[r, k] right[k, e], and the steps after it.
func (o *Operation) Product() bool { return o.Family() == "matmul" && o.Known() }

// Size returns the size of an axis, nil if it is missing.
func (o *Operation) Size(axis string) *expr.Expr {
	for _, a := range o.Axes {
		if a.Var == axis {
			return a.Size
		}
	}
	return nil
}

// Arg returns the argument of a role, unnamed if it is missing.
func (o *Operation) Arg(role string) Argument {
	if i := roleOf(kinds[o.Kind].args, role); i >= 0 && i < len(o.Args) {
		return o.Args[i]
	}
	return Argument{}
}

// Result returns the result of a role, unnamed if it is missing.
func (o *Operation) Result(role string) Result {
	if i := roleOf(kinds[o.Kind].results, role); i >= 0 && i < len(o.Results) {
		return o.Results[i]
	}
	return Result{}
}

// SetResult sets the result of a role, the first result if the kind has no such role.
func (o *Operation) SetResult(role string, r Result) {
	o.SetResultAt(max(0, roleOf(kinds[o.Kind].results, role)), r)
}

// SetResultAt sets result i.
func (o *Operation) SetResultAt(i int, r Result) {
	o.Results = append(o.Results, make([]Result, max(0, i+1-len(o.Results)))...)
	o.Results[i] = r
}

// roleOf returns the index of a word in a list, or -1.
func roleOf(list, word string) int {
	return slices.IndexFunc(strings.Fields(list), func(w string) bool { return strings.TrimSuffix(w, "?") == word })
}

// attends reports whether a field is set that only attention and its biases use.
func (o *Operation) attends() bool {
	return o.Scale != 0 || o.Mask != nil || o.Bias != nil || o.Window != Window{} || o.Drop != Dropout{}
}

// terms returns pointers to all expressions except sizes. An expression may be nil.
func (o *Operation) terms() []**expr.Expr {
	all := []**expr.Expr{&o.Mask, &o.Bias, &o.Window.Lo}
	for i := range o.Steps {
		all = append(all, &o.Steps[i].Value)
	}
	return all
}

// Exprs lists all expressions.
func (o *Operation) Exprs() []*expr.Expr {
	es := Sizes(o.Axes)
	for _, t := range o.terms() {
		if *t != nil {
			es = append(es, *t)
		}
	}
	return es
}

// Rewrite returns the operation with f applied to all its expressions except sizes.
func (o *Operation) Rewrite(f func(*expr.Expr) *expr.Expr) Operation {
	out := *o
	out.Steps = slices.Clone(o.Steps)
	for _, t := range out.terms() {
		if *t != nil {
			*t = f(*t)
		}
	}
	return out
}
