package check

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
)

// Bounds on what is evaluated of one bias, so that vetting takes no time that anyone
// notices: operations, cells of a shape that are all looked at, and of larger ones
// rows, columns and heads.
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
	params  string // what learned parameters are then
	certain bool   // with all values that they begin with
}

// String is the place of the cell.
func (s *strayCell) String() string {
	return fmt.Sprintf("h = %d, i = %d, j = %d, where I = %d and J = %d", s.h, s.i, s.j, s.rows, s.keys)
}

// checkBiases wants attention biases to be finite numbers in the cells that masks
// leave open, at the lengths of training and evaluation.
func (c *checker) checkBiases(s *Spec) {
	for _, x := range s.attention() {
		if at := c.strayCell(s, x); at != nil && at.certain {
			c.report("E0329", c.at(x.path+".bias"), "%s.bias is %v for %v", x.path, at.value, at).
				WithHelp("close such cells by the mask, or keep what is divided by, or under a logarithm, away from 0, as in log(max(…, 1))")
		}
	}
	for _, x := range s.tables() {
		if at := c.strayCell(s, x); at != nil && at.certain {
			c.report("E0329", c.at(x.path), "the table of %s is %v for %s", x.path, at.value, at.ofTable()).
				WithHelp("keep what is divided by, or under a logarithm, away from 0, as in log(max(n, 1))")
		}
	}
}

// tables are the tables that expressions give, as biases of one head that read n as i and
// c as j.
func (s *Spec) tables() (all []attention) {
	m := &s.Model
	add := func(path string, t *Table, rows int) {
		if t == nil {
			return
		}
		bias := expr.Subst(t.Value, map[string]*expr.Expr{"n": expr.NewVar("i", expr.I32), "c": expr.NewVar("j", expr.I32)})
		all = append(all, attention{path, &Site{Bias: bias, Params: t.Params}, func(lengths) (int, int) { return rows, m.Width }})
	}
	add("model.embed.token", m.Token, s.Task.Vocab())
	add("model.embed.position", m.Position.Value, m.Position.Rows())
	add("model.output", m.Output, s.Task.Said())
	return all
}

// ofTable is the place of the cell in a table.
func (s *strayCell) ofTable() string { return fmt.Sprintf("n = %d, c = %d", s.i, s.j) }

// vetBiases finds those that are finite only while their learned parameters stay near
// what they begin with.
func (c *checker) vetBiases(s *Spec) {
	for _, x := range s.attention() {
		if at := c.strayCell(s, x); at != nil && !at.certain {
			c.report("V023", c.at(x.path+".bias"), "%s.bias is %v for %v, if training makes %s", x.path, at.value, at, at.params).
				WithHelp("bound the parameter, as in learned([H], min = 0), or take its square or abs")
		}
	}
	for _, x := range s.tables() {
		if at := c.strayCell(s, x); at != nil && !at.certain {
			c.report("V023", c.at(x.path), "the table of %s is %v for %s, if training makes %s", x.path, at.value, at.ofTable(), at.params).
				WithHelp("bound the parameter, as in learned([], min = 0), or take its square or abs")
		}
	}
}

// strayCell finds an open cell of a site whose bias is not finite; nil if there is
// none. Trainings of a sweep ask the same, so answers are kept.
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

// A biasRun evaluates a bias cell by cell, as the model does, with values that its
// parameters begin with and such as they may reach.
type biasRun struct {
	cells  *maskRun // the place, and which cells are open
	masked bool
	bias   *expr.Code
	heads  []int
	shifts []int // of positions
	params []BiasParam
	begin  int // how many of the values are those that parameters begin with
	values [][]float64
	turn   int // which of the values parameters have
	left   int // evaluations that there is time for
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

// likely lists values of a parameter: those that it may begin with, of which it says how
// many there are, and a smaller and a larger one that it may reach; none of a fixed
// parameter.
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

// Var is for expr.Binder.
func (r *biasRun) Var(name string, t expr.Type) *expr.Value { return r.cells.Var(name, t) }

// Elem is for expr.Binder. What a stage will leave is taken as 0.
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

// find looks for a cell that is certainly not finite, or else for one that may become so.
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

// someCells are all cells of a small shape. Of a large one they are a grid, which has
// its corners, and all of the first column, the last row and the diagonal.
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

// atCell evaluates a cell with each of the values of parameters; nil if it is finite with
// all of them.
func (r *biasRun) atCell() (found *strayCell) {
	turns := 1
	for _, v := range r.values {
		turns = max(turns, len(v))
	}
	finite := false // with a value that parameters begin with
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

// setting names the parameters with their values.
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

// spread is some of the numbers below n: the first, the last, and some between.
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
