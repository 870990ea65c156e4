package lower_test

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
	"github.com/arithlang/mlc/internal/full"
)

// unit is half the distance from 1 to the next float32.
const unit = 0x1p-24

// TestOperations compares the kernels of all specs with the operations that they state. If the
// operation's kind has an oracle, it evaluates the operation in float64. Otherwise it checks
// only which buffers matter.
func TestOperations(t *testing.T) {
	evaluated := map[string]int{}
	for _, k := range operations(t) {
		for i, inputs := range full.Some([]kerneltest.Kind{kerneltest.Signed, kerneltest.Positive}, 1) {
			o := newOracle(t, k, 1+i, inputs)
			if evaluate := oracles[k.Op.Kind]; evaluate != nil && !o.drawn() {
				evaluate(o)
				evaluated[k.Op.Kind]++
			} else if i == 0 {
				o.dependences()
			}
			if t.Failed() {
				t.Fatalf("at %v:\n%s", o.s, k)
			}
		}
	}
	for kind := range oracles {
		if evaluated[kind] == 0 {
			t.Errorf("no spec has a kernel of kind %s", kind)
		}
	}
}

// oracles evaluate the kinds whose operations say all that they compute.
var oracles = map[string]func(*oracle){
	"map":               (*oracle).rows,
	"gather":            (*oracle).rows,
	"matmul":            (*oracle).rows,
	"head_product":      (*oracle).rows,
	"outer":             (*oracle).rows,
	"head_outer":        (*oracle).rows,
	"scatter":           (*oracle).rows,
	"sum":               (*oracle).sum,
	"segment_sum":       (*oracle).sum,
	"attention":         (*oracle).attention,
	"attention_grad":    (*oracle).attentionGrad,
	"attention_weights": (*oracle).attentionWeights,
	"bias_table":        (*oracle).biasTable,
	"bias_table_grad":   (*oracle).biasTableGrad,
}

// shipped are the specs.
var shipped = sync.OnceValues(func() ([]ptxtest.Spec, error) { return ptxtest.Shipped("../../specs") })

// operations returns the smallest kernel of all specs for each form of an operation.
func operations(t *testing.T) []*kernel.Kernel {
	t.Helper()
	specs, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	return forms(t, specs)
}

// forms returns the smallest kernel for each form of an operation.
func forms(t *testing.T, specs []ptxtest.Spec) []*kernel.Kernel {
	t.Helper()
	said := regexp.MustCompile(`(?m)^  (op|scale|mask|bias|window|drop|with|in +(row|example)_\w+) .*`)
	numbers := regexp.MustCompile(`\d+`)
	smallest := map[string]*kernel.Kernel{}
	for _, s := range specs {
		for _, k := range s.Kernels {
			if !k.Op.Known() {
				t.Fatalf("nothing is known of\n%s", k)
			}
			form := k.Op.Kind + numbers.ReplaceAllString(strings.Join(said.FindAllString(k.String(), -1), ""), "#")
			if old := smallest[form]; old == nil || work(k) < work(old) {
				smallest[form] = k
			}
		}
	}
	var ks []*kernel.Kernel
	for _, k := range smallest {
		ks = append(ks, k)
	}
	return ks
}

// work returns the product of an operation's sizes in a small launch.
func work(k *kernel.Kernel) int {
	o := &oracle{s: kerneltest.Launches()[1], k: k, vars: map[string]*expr.Value{}, code: map[*expr.Expr]*compiled{}}
	n := 1
	for _, a := range k.Op.Axes {
		n *= o.size(a.Var)
	}
	return n
}

// An oracle has a launch of a kernel, and the values of its operation's names.
type oracle struct {
	*testing.T
	k       *kernel.Kernel
	s       kernel.Scalars
	tensors map[string]*tensor
	vars    map[string]*expr.Value
	code    map[*expr.Expr]*compiled
	largest float64 // the largest magnitude read so far

	heads, width int // heads of attention, and their width
}

// A tensor is a buffer before and after the launch. A kernel's missing buffer has no shape and
// no elements.
type tensor struct {
	shape      []int
	start, end kernel.Buffer
}

// An interpreted is a launch of a kernel that the interpreter has run.
type interpreted struct {
	k      *kernel.Kernel
	launch int
	inputs kerneltest.Kind
}

// launched are the oracles of launches. No test changes their buffers.
var launched = map[interpreted]*oracle{}

// newOracle interprets one of kerneltest.Launches, once for all tests.
func newOracle(t *testing.T, k *kernel.Kernel, launch int, inputs kerneltest.Kind) *oracle {
	t.Helper()
	what := interpreted{k, launch, inputs}
	o := launched[what]
	if o == nil {
		o = runOracle(t, k, kerneltest.Launches()[launch], inputs)
		launched[what] = o
	}
	o.T = t
	return o
}

func runOracle(t *testing.T, k *kernel.Kernel, s kernel.Scalars, inputs kerneltest.Kind) *oracle {
	t.Helper()
	s = k.Suited(s)
	run, err := kernel.NewRunner(k, nil)
	if err != nil {
		t.Fatal(err)
	}
	start, end, err := kerneltest.InterpretBy(run, k, s, inputs, 1)
	if errors.Is(err, kerneltest.ErrNotFor) {
		s["P"] = 0
		start, end, err = kerneltest.InterpretBy(run, k, s, inputs, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	shapes, err := run.Extents(s)
	if err != nil {
		t.Fatal(err)
	}
	o := &oracle{T: t, k: k, s: s, tensors: map[string]*tensor{}, vars: map[string]*expr.Value{}, code: map[*expr.Expr]*compiled{}}
	for i := range shapes {
		o.tensors[k.Params[i].Name] = &tensor{shapes[i], start[i], end[i]}
	}
	o.heads, o.width = o.size("h"), o.size("d")
	return o
}

// has reports whether a buffer has the name.
func (o *oracle) has(name string) bool { return o.tensors[name] != nil }

// tensor returns the buffer with a name.
func (o *oracle) tensor(name string) *tensor {
	if b := o.tensors[name]; b != nil {
		return b
	}
	return &tensor{}
}

// arg returns the buffer that has a role among the arguments.
func (o *oracle) arg(role string) *tensor { return o.tensor(o.k.Op.Arg(role).Name) }

// Var returns the variable for an axis, a step or a scalar.
func (o *oracle) Var(name string, _ expr.Type) *expr.Value {
	if o.vars[name] == nil {
		v, err := o.s.Value(name)
		if err != nil && !slices.Contains([]string{"r", "e", "b", "h", "i", "j"}, name) && !o.names(name) {
			o.Error(err)
		}
		o.vars[name] = &v
	}
	return o.vars[name]
}

// names reports whether the operation gives a value that name.
func (o *oracle) names(name string) bool {
	return slices.ContainsFunc(o.results(), func(r kernel.Result) bool { return r.Name == name })
}

// results returns the results of the tensor op and then of its steps.
func (o *oracle) results() []kernel.Result {
	results := slices.Clone(o.k.Op.Results)
	for _, s := range o.k.Op.Steps {
		results = append(results, s.Result)
	}
	return results
}

// Elem loads elements of a buffer.
func (o *oracle) Elem(name string, _ expr.Type) func([]int) expr.Value {
	b := o.tensor(name)
	return func(idx []int) expr.Value { return o.at(b, idx...) }
}

// eval evaluates an expression, and records the largest value in it.
func (o *oracle) eval(e *expr.Expr) expr.Value {
	c := o.code[e]
	if c == nil {
		c = &compiled{code: expr.Compile64(o, e)}
		for _, v := range expr.Vars(e) {
			c.vars = append(c.vars, o.Var(v.Name, v.Type))
		}
		o.code[e] = c
	}
	for _, x := range c.vars {
		o.meet(max(x.F, float64(x.I)))
	}
	return c.code.Run()
}

// A compiled is an expression's code, and its variables' values.
type compiled struct {
	code *expr.Code
	vars []*expr.Value
}

// at returns an element of a buffer before the launch. An index out of range gives 0: a where
// evaluates both branches.
func (o *oracle) at(b *tensor, idx ...int) expr.Value {
	n := b.place(idx)
	switch {
	case n < 0:
		return expr.Value{}
	case b.start.I != nil:
		return expr.Value{I: int64(b.start.I[n])}
	}
	x := float64(b.start.F[n])
	o.meet(x)
	return expr.Value{F: x}
}

// meet records the largest magnitude.
func (o *oracle) meet(x float64) {
	if x = math.Abs(x); x > o.largest {
		o.largest = x
	}
}

// place returns the number of an element, or -1 if it is out of range.
func (b *tensor) place(idx []int) int {
	n := 0
	for i, at := range idx {
		if at < 0 || at >= b.shape[i] {
			return -1
		}
		n = n*b.shape[i] + at
	}
	return n
}

func (o *oracle) f(b *tensor, idx ...int) float64 { return o.at(b, idx...).F }

func (o *oracle) set(name string, v expr.Value) { *o.Var(name, expr.I32) = v }

func (o *oracle) axis(name string, n int) { o.set(name, expr.Value{I: int64(n)}) }

// size returns the size of an axis, or 1 without that axis.
func (o *oracle) size(axis string) int {
	if e := o.k.Op.Size(axis); e != nil {
		return int(o.eval(e).I)
	}
	return 1
}

// drawn reports whether a step draws random values, which the operation does not determine.
func (o *oracle) drawn() bool {
	for _, s := range o.k.Op.Steps {
		if s.Op == "draw" || s.Op == "noise" {
			return true
		}
	}
	return false
}

// word returns a random word of an example.
func (o *oracle) word(stream uint32, example, n int) uint32 {
	w := make([]int32, 1)
	if err := o.s.Words(w, stream, uint32(o.s["example"])+uint32(example), int64(n)); err != nil {
		o.Error(err)
	}
	return uint32(w[0])
}

// kept returns the dropout factor for a random word.
func kept(d kernel.Dropout, word uint32) float64 {
	if float64(word) < math.Round(d.Rate*(1<<32)) {
		return 0
	}
	return 1 / (1 - d.Rate)
}

// steps evaluates all steps at row r and column e.
func (o *oracle) steps(r, e int) {
	o.axis("r", r)
	o.axis("e", e)
	for _, s := range o.k.Op.Steps {
		v := o.eval(s.Value)
		if s.Op == "dropout" {
			example, row := o.example(r)
			v.F *= kept(s.Dropout, o.word(s.Stream, example, row*o.size("e")+e))
		}
		o.set(s.Name, v)
		o.meet(v.F)
	}
}

// example returns the example of row r, and the row's number in it.
func (o *oracle) example(r int) (example, row int) {
	if !o.k.Packed() {
		rows := o.size("r") / int(o.s["B"])
		return r / rows, r % rows
	}
	for b := 0; ; b++ {
		if first, n := o.rowsOf(b, 0); r < first+n {
			return b, r - first
		}
	}
}

// rowsOf returns the first row of example b and its number of rows, which is rows unless rows
// are packed.
func (o *oracle) rowsOf(b, rows int) (first, n int) {
	if !o.k.Packed() {
		return b * rows, rows
	}
	for _, n := range kernel.Lengths(o.s)[:b] {
		first += int(n)
	}
	return first, int(kernel.Lengths(o.s)[b])
}

// rows evaluates an operation's results at each row and column: a sum of products, or one
// element, with steps after it. K fused multiply-adds have an error of at most K units of the
// sum of the products' magnitudes. Evaluating the steps at both ends shows how they change this
// error. The steps' own error is some units of their largest value.
func (o *oracle) rows() {
	op := &o.k.Op
	results := o.results()
	cells, tensors := make([]*expr.Value, len(results)), make([]*tensor, len(results))
	for n, res := range results {
		cells[n], tensors[n] = o.Var(res.Name, expr.F32), o.tensor(res.Name)
	}
	var values [3][]expr.Value
	term, depth := o.terms(), o.size("k")
	width := o.size("e")
	examples := o.k.Packed() && expr.Equal(op.Size("r"), expr.NewVar("B", expr.I32))
	for r := range o.size("r") {
		start, columns := 0, width
		if examples {
			start, columns = o.rowsOf(r, 0)
		}
		for e := range columns {
			o.largest = 0
			c, off := o.sum1(r, e, depth, term)
			for i, x := range []float64{c, c - off, c + off} {
				for n := range op.Results {
					*cells[n] = expr.Value{F: x}
				}
				o.steps(r, e)
				values[i] = values[i][:0]
				for _, cell := range cells {
					values[i] = append(values[i], *cell)
				}
			}
			for n, res := range results {
				at := []int{r, e}
				if at = at[2-len(tensors[n].shape):]; examples {
					at[0] += start
				}
				v := values[0][n]
				tolerance := off
				if n >= len(op.Results) {
					spread := max(math.Abs(values[1][n].F-v.F), math.Abs(values[2][n].F-v.F))
					tolerance = 2*spread + 32*unit*o.largest
				}
				o.result(res, at, v, tolerance)
			}
		}
	}
}

// terms returns the summands of the tensor op: term k at row r and column e.
func (o *oracle) terms() func(r, e, k int) float64 {
	op := &o.k.Op
	switch op.Kind {
	case "map":
		return nil
	case "gather":
		table, ids := o.arg("table"), o.arg("ids")
		return func(r, e, _ int) float64 { return o.f(table, int(o.at(ids, r).I), e) }
	case "scatter":
		ids, dy := o.arg("ids"), o.arg("dy")
		return func(r, e, k int) float64 {
			if o.at(ids, k).I != int64(r) {
				return 0
			}
			return o.f(dy, k, e)
		}
	}
	left, right := o.arg("left"), o.arg("right")
	leftTrans, rightTrans := op.Arg("left").Trans, op.Arg("right").Trans
	factor := func(b *tensor, trans bool, i, j int) float64 {
		if trans {
			i, j = j, i
		}
		return o.f(b, i, j)
	}
	return func(r, e, k int) float64 { return factor(left, leftTrans, r, k) * factor(right, rightTrans, k, e) }
}

// sum1 returns the result of the tensor op at row r and column e, which is the sum of depth
// terms. off bounds the kernel's error.
func (o *oracle) sum1(r, e, depth int, term func(r, e, k int) float64) (c, off float64) {
	op := &o.k.Op
	switch op.Kind {
	case "map":
		return 0, 0
	case "gather":
		return term(r, e, 0), 0
	}
	total := 0.0
	for k := range depth {
		x := term(r, e, k)
		c += x
		total += math.Abs(x)
	}
	if res := op.Results[0]; res.Add {
		total += math.Abs(o.f(o.tensor(res.Name), r, e))
	}
	return c, float64(depth+2) * unit * total
}

// result compares an element of a buffer with its expected value. If the operation adds, the
// buffer's earlier value is added. A name without a buffer is skipped.
func (o *oracle) result(res kernel.Result, at []int, want expr.Value, tolerance float64) {
	tensor := o.tensors[res.Name]
	if tensor == nil {
		return
	}
	n, b := tensor.place(at), tensor.end
	if b.I != nil {
		if int64(b.I[n]) != want.I {
			o.Errorf("%s%v is %d, not %d", res.Name, at, b.I[n], want.I)
		}
		return
	}
	if res.Add {
		want.F += float64(tensor.start.F[n])
	}
	tolerance += 4*unit*math.Abs(want.F) + 0x1p-120
	got := float64(b.F[n])
	if bothNaN := math.IsNaN(got) && math.IsNaN(want.F); !bothNaN && !(math.Abs(got-want.F) <= tolerance) {
		o.Errorf("%s%v is %g, not %g with an error of %g at most", res.Name, at, got, want.F, tolerance)
	}
}

// sum evaluates the sum of a buffer's rows, or of the values of steps. It keeps the result's
// axes, which are the last ones.
func (o *oracle) sum() {
	op := &o.k.Op
	arg, res := op.Arg("x").Name, op.Results[0]
	read, cell := o.arg("x"), new(expr.Value)
	if !o.has(arg) {
		cell = o.Var(arg, expr.F32)
	}
	out, cells := o.tensor(res.Name), 1
	for _, n := range out.shape {
		cells *= n
	}
	width := o.size("e")
	sums, totals := make([]float64, cells), make([]float64, cells)
	for r := range o.size("r") {
		for e := range width {
			o.steps(r, e)
			x := cell.F
			if o.has(arg) {
				x = float64(read.start.F[r*width+e])
			}
			at := (r*width + e) % cells
			if op.Kind == "segment_sum" {
				at = e / ir.Segment
			}
			sums[at] += x
			totals[at] += math.Abs(x)
		}
	}
	n := float64(o.size("r") * width / cells)
	for i := range sums {
		old := 0.0
		if res.Add {
			old = math.Abs(float64(out.start.F[i]))
		}
		o.flat(res, i, sums[i], (n+16)*unit*(totals[i]+old))
	}
}

// dependences changes one buffer at a time. A result must depend on every buffer that the
// operation reads or adds to.
func (o *oracle) dependences() {
	adds := map[string]bool{}
	for _, r := range o.results() {
		adds[r.Name] = r.Add
	}
	for i, p := range o.k.Params {
		if p.Mode == kernel.Scalar || p.Mode == kernel.Out || kernel.Packing(p.Name) {
			continue
		}
		if p.Mode == kernel.InOut && !adds[p.Name] && !o.reads(p.Name) {
			o.Errorf("%s is neither read nor added to", p.Name)
		}
		var bufs []kernel.Buffer
		for j, q := range o.k.Params {
			if q.Mode == kernel.Scalar {
				break
			}
			b := o.tensor(q.Name).start
			b = kernel.Buffer{F: append([]float32(nil), b.F...), I: append([]int32(nil), b.I...)}
			for n := range b.F {
				if i == j {
					b.F[n] = 0.5 - 3*b.F[n]
				}
			}
			if i == j && b.I != nil {
				b.I = append(b.I[1:], b.I[0])
			}
			bufs = append(bufs, b)
		}
		if err := kernel.Run(o.k, o.s, bufs); err != nil {
			o.Error(err)
			return
		}
		if !o.differs(bufs) {
			o.Errorf("nothing depends on %s", p.Name)
		}
	}
}

// reads reports whether the operation names a buffer that it reads.
func (o *oracle) reads(name string) bool {
	for _, a := range o.k.Op.Args {
		if a.Name == name {
			return true
		}
	}
	for _, x := range expr.Elems(o.k.Op.Exprs()...) {
		if x.Name == name {
			return true
		}
	}
	return false
}

// differs reports whether a result has changed.
func (o *oracle) differs(bufs []kernel.Buffer) bool {
	for i, b := range bufs {
		p := o.k.Params[i]
		if p.Mode != kernel.In && fmt.Sprint(b) != fmt.Sprint(o.tensor(p.Name).end) {
			return true
		}
	}
	return false
}
