package check

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
)

// Bounds on the evaluation of one bias, so that vetting takes no noticeable time:
// operations, cells of a small shape, and rows, columns and heads of a large one.
const (
	biasWork  = 1 << 20
	biasCells = 1 << 10
	biasLines = 48
)

// A strayCell is a cell of a bias that is not finite.
type strayCell struct {
	query
	j       int
	value   float64
	params  string // the values of learned parameters that cause it
	certain bool   // it happens for all initial values
}

// String returns the place of the cell.
func (s *strayCell) String() string {
	return fmt.Sprintf("h = %d, i = %d, j = %d, where I = %d and J = %d", s.h, s.i, s.j, s.rows, s.keys)
}

// checkBiases reports biases that are not finite in a cell that the mask leaves open, at
// the lengths of training and tests.
func (c *checker) checkBiases(s *Spec) {
	for _, x := range s.attention() {
		c.checkBias(s, x)
	}
	for _, x := range s.tables() {
		if at := c.strayCell(s, x); at != nil && at.certain {
			c.report("E0329", c.at(x.path), "the table of %s is %v for %s", x.path, at.value, at.ofTable()).
				WithHelp("keep divisors and arguments of logarithms away from 0, as in log(max(n, 1))")
		}
	}
}

// checkBias reports a bias of an attention that is not finite in an open cell.
func (c *checker) checkBias(s *Spec, x attention) {
	for _, x := range x.inLayers() {
		if at := c.strayCell(s, x); at != nil && at.certain {
			c.report("E0329", c.at(x.path+".bias"), "%s.bias is %v for %s%v", x.path, at.value, x.where, at).
				WithHelp("close such cells by the mask, or keep divisors and arguments of logarithms away from 0, as in log(max(…, 1))")
			return
		}
	}
}

// tables returns the tables of expressions as biases of one head that read n as i and c
// as j.
func (s *Spec) tables() (all []attention) {
	m := &s.Model
	add := func(path string, t *Table, rows int) {
		if t == nil {
			return
		}
		bias := expr.Subst(t.Value, map[string]*expr.Expr{"n": expr.NewVar("i", expr.I32), "c": expr.NewVar("j", expr.I32)})
		all = append(all, attention{path: path, Site: &Site{Bias: bias, Params: t.Params}, size: func(lengths) (int, int) { return rows, m.Width }})
	}
	add("model.embed.token", m.Token, s.Task.Vocab())
	add("model.embed.position", m.Position.Value, m.Position.Rows())
	add("model.output", m.Output, s.Task.Said())
	return all
}

// ofTable returns the place of the cell in a table.
func (s *strayCell) ofTable() string { return fmt.Sprintf("n = %d, c = %d", s.i, s.j) }

// vetBiases warns of biases that are finite only while learned parameters stay near their
// initial values.
func (c *checker) vetBiases(s *Spec) {
	for _, x := range s.attention() {
		c.vetBias(s, x)
	}
	for _, x := range s.tables() {
		if at := c.strayCell(s, x); at != nil && !at.certain {
			c.report("V023", c.at(x.path), "the table of %s is %v for %s, if training makes %s", x.path, at.value, at.ofTable(), at.params).
				WithHelp("bound the parameter, as in learned([], min = 0), or take its square or abs")
		}
	}
}

// vetBias warns of a bias of an attention that training may make infinite.
func (c *checker) vetBias(s *Spec, x attention) {
	for _, x := range x.inLayers() {
		if at := c.strayCell(s, x); at != nil && !at.certain {
			c.report("V023", c.at(x.path+".bias"), "%s.bias is %v for %s%v, if training makes %s", x.path, at.value, x.where, at, at.params).
				WithHelp("bound the parameter, as in learned([H], min = 0), or take its square or abs")
			return
		}
	}
}

// strayCell returns an open cell whose bias is not finite, or nil. It remembers results
// for other trainings of the sweep.
func (c *checker) strayCell(s *Spec, x attention) *strayCell {
	shapes := s.shapesToVet()
	if x.Bias == nil || len(shapes) == 0 {
		return nil
	}
	if f := c.fact(x.Bias); !f.nan && !f.over() && !f.under() {
		return nil
	}
	var key strings.Builder
	fmt.Fprint(&key, expr.Key(x.Bias), s.Model.Heads, s.Model.Position, shapes, x.path)
	if x.Mask != nil {
		key.WriteString(expr.Key(x.Mask))
	}
	for _, l := range x.Params {
		fmt.Fprint(&key, l.Init, l.From, l.Tensor)
		if l.Min != nil {
			fmt.Fprint(&key, *l.Min)
		}
	}
	at, known := c.stray[key.String()]
	if !known {
		at = newBiasRun(s, x, biasWork/c.fact(x.Bias).size).find(shapes, x.size)
		c.stray[key.String()] = at
	}
	return at
}

// A biasRun evaluates a bias cell by cell, as the model does, with initial and later
// values of its parameters.
type biasRun struct {
	cells  *maskRun // the current cell, and which cells are open
	masked bool
	bias   *expr.Code
	heads  []int
	shifts []int // of positions
	params []BiasParam
	begin  int // number of initial values, which come first in values
	values [][]float64
	turn   int // index of the current value
	left   int // evaluations left
}

func newBiasRun(s *Spec, x attention, work int) *biasRun {
	mask := x.Mask
	if mask == nil {
		mask = expr.B(true)
	}
	r := &biasRun{cells: newMaskRun(s, mask), masked: x.Mask != nil, params: x.Params, left: max(work, biasCells), heads: []int{0}, shifts: []int{0}}
	if usesHead(mask) || usesHead(x.Bias) {
		r.heads = spread(s.Model.Heads)
	}
	if p := s.Model.Position; p.Kind == "random" {
		r.shifts = append(r.shifts, p.Max-1)
	}
	r.values = make([][]float64, len(x.Params))
	r.begin = 1
	for n := range x.Params {
		var begin int
		r.values[n], begin = x.Params[n].likely()
		r.begin = max(r.begin, begin)
	}
	r.bias = expr.Compile32(r, x.Bias)
	return r
}

// likely lists values of a parameter: initial ones, whose number is begin, then a smaller
// and a larger one that it may reach. A fixed parameter has none.
func (l *BiasParam) likely() (values []float64, begin int) {
	lo, hi := l.Init.A, l.Init.A
	switch l.Init.Kind {
	case "uniform":
		hi = l.Init.B
	case "normal":
		lo, hi = -2*l.Init.A, 2*l.Init.A
	case "xavier":
		hi = math.Sqrt(6 / (l.Init.A + l.Init.B))
		lo = -hi
	case "file", "stage":
		return nil, 1
	}
	values = []float64{lo + (hi-lo)/3, lo, hi, lo - math.Abs(lo) - 1, hi + math.Abs(hi) + 1}
	for n := range values {
		if l.Min != nil {
			values[n] = max(values[n], *l.Min)
		}
	}
	return values, 3
}

// Var implements expr.Binder.
func (r *biasRun) Var(name string, t expr.Type) *expr.Value { return r.cells.Var(name, t) }

// Elem implements expr.Binder. Results of a stage are taken as 0.
func (r *biasRun) Elem(name string, _ expr.Type) func([]int) expr.Value {
	n := slices.IndexFunc(r.params, func(l BiasParam) bool { return l.Name == name })
	l := &r.params[n]
	return func(idx []int) expr.Value {
		if r.values[n] != nil {
			return expr.Value{F: float64(float32(r.values[n][r.turn]))}
		}
		at := 0
		for axis, i := range idx {
			at = at*l.Shape[axis] + i
		}
		if at < len(l.Values) {
			return expr.Value{F: float64(l.Values[at])}
		}
		return expr.Value{}
	}
}

// find returns a cell that is certainly not finite, or else one that may become so.
func (r *biasRun) find(shapes []lengths, size func(lengths) (rows, keys int)) (found *strayCell) {
	for _, shift := range r.shifts {
		r.cells.shift = shift
		for _, l := range shapes {
			rows, keys := size(l)
			if at := r.inShape(rows, keys); at != nil && (found == nil || at.certain) {
				found = at
			}
			if r.left <= 0 || found != nil && found.certain {
				return found
			}
		}
	}
	return found
}

func (r *biasRun) inShape(rows, keys int) (found *strayCell) {
	m := r.cells
	m.vars["I"].I, m.vars["J"].I = int64(rows), int64(keys)
	for _, h := range r.heads {
		m.vars["h"].I = int64(h)
		for i, j := range someCells(rows, keys) {
			m.query(i)
			m.key(j)
			if r.left--; r.left <= 0 {
				return found
			}
			if r.masked && m.code.Run().I == 0 {
				continue
			}
			at := r.atCell()
			if at == nil || found != nil && !at.certain {
				continue
			}
			at.query, at.j = query{h, i, rows, keys}, j
			if found = at; at.certain {
				return found
			}
		}
	}
	return found
}

// someCells iterates over all cells of a small shape. In a large shape it visits a grid
// with the corners, the first column, the last row and the diagonal.
func someCells(rows, keys int) iter.Seq2[int, int] {
	down, across := spread(rows), spread(keys)
	if rows*keys <= biasCells {
		down, across = upTo(rows), upTo(keys)
	}
	return func(yield func(i, j int) bool) {
		for _, i := range down {
			for _, j := range across {
				if !yield(i, j) {
					return
				}
			}
		}
		if rows*keys <= biasCells {
			return
		}
		for n := range max(rows, keys) {
			i, j := min(n, rows-1), min(n, keys-1)
			if !yield(i, 0) || !yield(rows-1, j) || !yield(i, j) {
				return
			}
		}
	}
}

// atCell evaluates a cell with each of the parameters' values. It returns nil if all
// results are finite.
func (r *biasRun) atCell() (found *strayCell) {
	turns := 1
	for _, v := range r.values {
		turns = max(turns, len(v))
	}
	finite := false // for an initial value
	for r.turn = range turns {
		r.left--
		x := r.bias.Run().F
		stray := math.IsNaN(x) || math.Abs(x) > math.MaxFloat32
		if r.turn < r.begin && !stray {
			finite = true
		}
		if stray && found == nil {
			found = &strayCell{value: x, params: r.setting()}
		}
	}
	if found != nil {
		found.certain = !finite
	}
	return found
}

// setting returns the parameters with their values.
func (r *biasRun) setting() string {
	var parts []string
	for n, l := range r.params {
		if v := r.values[n]; v != nil && len(parts) < 3 {
			parts = append(parts, fmt.Sprintf("%s %s", l.Name, short(v[r.turn])))
		}
	}
	return strings.Join(parts, ", ")
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// spread returns some of the numbers below n: the first, the last, and some between.
func spread(n int) []int {
	if n <= biasLines {
		return upTo(n)
	}
	const part = biasLines / 3
	out := upTo(part)
	for k := range part {
		out = append(out, part+(n-2*part)*k/part, n-part+k)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
