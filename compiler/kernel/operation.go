package kernel

import (
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
)

// An Operation is what a kernel computes, as data that schedules choose by: a
// tensor op and the elementwise ops around it. The body says how. Of a kernel that
// is written by hand no more than the kind need be known.
//
// Its expressions are over the axes, scalars, elements of buffers as they are
// before the launch, and what the steps before have named.
type Operation struct {
	Kind    string     // a row of the table kinds
	Results []Result   // of the tensor op, by the roles of its kind; unnamed where not asked for
	Args    []Argument // of the tensor op, by the roles of its kind; unnamed where not read
	Axes    []Axis     // over scalars
	Steps   []Step     // elementwise ops, in order: before a sum, after all others

	// Of attention and its biases. Query t of a launch is row i = P + t of its
	// sequence; the expressions are over h, i and j.
	Scale      float64
	Mask, Bias *expr.Expr // nil where there is none
	Window     Window     // zero where there is none
	Drop       Dropout    // zero where there is none
}

// A Result is a value by its name. If that is a buffer's, the value goes there, or
// is added to what is there.
type Result struct {
	Name string
	Add  bool
}

// An Argument is a buffer, or the name of a step. Trans says that a factor's last
// axis is its first.
type Argument struct {
	Name  string
	Trans bool
}

// A Step is an elementwise op at row r and column e.
type Step struct {
	Result
	Op      string     // map, dropout, draw or noise
	Value   *expr.Expr // of a map; what a dropout takes; nil of others
	Dropout            // a draw and a noise have a stream alone
}

// Dropout says how likely a value is dropped, and which random stream decides.
type Dropout struct {
	Rate   float64
	Stream uint32

	Rows, Keys int // of an attention: by which its random words are counted; 0: those of the launch
}

// A Window is the keys from Lo on, so many, that a mask leaves open at most, where
// sums over keys are sums over these, in order.
type Window struct {
	Lo    *expr.Expr
	Width int
}

// A kind is a tensor op as kernels see it. Words that end in ? may be missing, and
// * is any number more.
type kind struct {
	family        string
	axes          string // in order
	args, results string // their roles
}

// axisNames are rows and columns, what products and sums of rows run over, examples,
// heads, queries, keys, head width, relative scores; and the row i that a query is.
var axisNames = strings.Fields("r e k b h t j d n i")

// kinds has a row for each op of the tensor IR that a kernel can begin with, and
// row for other kernels that go row by row.
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
	"sum":                {"row", "r? e", "x *", "y *"}, // several of the same rows
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
	"bias_table_grad":    {"attention", "h t j", "dtable *", "*"}, // a result for each parameter
}

// Family is the kernel family: map, row, matmul, attention, gather or scatter.
func (o *Operation) Family() string { return kinds[o.Kind].family }

// Known reports whether more than the kind is known.
func (o *Operation) Known() bool { return len(o.Axes) > 0 }

// Product reports whether the operation is a matrix product, y[r, e] = the sum over
// k of left[r, k] right[k, e], with steps after it.
func (o *Operation) Product() bool { return o.Family() == "matmul" && o.Known() }

// Size is the size of an axis, nil if there is none of that name.
func (o *Operation) Size(axis string) *expr.Expr {
	for _, a := range o.Axes {
		if a.Var == axis {
			return a.Size
		}
	}
	return nil
}

// Arg returns the argument of a role, without a name if there is none.
func (o *Operation) Arg(role string) Argument {
	if i := roleOf(kinds[o.Kind].args, role); i >= 0 && i < len(o.Args) {
		return o.Args[i]
	}
	return Argument{}
}

// Result returns the result of a role, without a name if there is none.
func (o *Operation) Result(role string) Result {
	if i := roleOf(kinds[o.Kind].results, role); i >= 0 && i < len(o.Results) {
		return o.Results[i]
	}
	return Result{}
}

// SetResult gives the result of a role, the first if there is none of that name.
func (o *Operation) SetResult(role string, r Result) {
	o.SetResultAt(max(0, roleOf(kinds[o.Kind].results, role)), r)
}

// SetResultAt gives result number i.
func (o *Operation) SetResultAt(i int, r Result) {
	o.Results = append(o.Results, make([]Result, max(0, i+1-len(o.Results)))...)
	o.Results[i] = r
}

// roleOf is where a word stands in a list, -1 if it does not.
func roleOf(list, word string) int {
	return slices.IndexFunc(strings.Fields(list), func(w string) bool { return strings.TrimSuffix(w, "?") == word })
}

// attends reports whether it says something that only attention and its biases have.
func (o *Operation) attends() bool {
	return o.Scale != 0 || o.Mask != nil || o.Bias != nil || o.Window != Window{} || o.Drop != Dropout{}
}

// terms are the places of all expressions but sizes, which are nil where there is none.
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

// Rewrite returns the operation with f of all its expressions but sizes.
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
