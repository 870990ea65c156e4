package lower_test

import (
	"cmp"
	"math"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// An attended is the attention of one query, for one head and one example.
type attended struct {
	*oracle
	q, keysOf, relative, table *tensor // inputs of the scores; a missing input has no shape
	b, h, t                    int

	first, keyed int // the first row of the example, and of its keys
	keys         int // the number of keys
	open         []bool
	scores       []float64
	p, keep      []float64 // probabilities and dropout factors
	largest      float64   // the largest score, 0 where no key is open
	norm         float64   // 1 / sum of exp(score - largest), 0 where no key is open
	terms        float64   // error bound of the scores
	off          float64   // relative error bound of p
}

// vector returns an element of one head's part of a row.
func (o *oracle) vector(b *tensor, row, h, d int) float64 {
	return o.f(b, o.head(row, h)*o.width+d)
}

// head returns the number of a row's part for one head.
func (o *oracle) head(row, h int) int { return row*o.heads + h }

// far returns the index of the relative score for key j and query i.
func (o *oracle) far(i, j int) int {
	most := o.size("n") / 2
	return min(max(j-i, -most), most) + most
}

// queries evaluates scores and probabilities of all queries. The error of a score is d+4 units
// of the sum of its terms' magnitudes. The relative error of its exponential is as large, plus
// the errors of the exponential itself and of the sum.
func (o *oracle) queries(f func(a *attended)) {
	op := &o.k.Op
	q, k, relative, table := o.arg("q"), o.arg("k"), o.arg("relative"), o.arg("table")
	for b := range o.size("b") {
		first, rows := o.rowsOf(b, o.size("t"))
		keyed, keys := o.rowsOf(b, o.size("j"))
		o.axis("b", b)
		for h := range o.heads {
			for t := range rows {
				o.largest = 0
				a := &attended{oracle: o, q: q, keysOf: k, relative: relative, table: table, b: b, h: h, t: t, first: first, keyed: keyed, keys: keys}
				o.axis("h", h)
				o.axis("i", t+int(o.s["P"]))
				terms := 0.0
				largest := math.Inf(-1)
				for j := range keys {
					s, total := a.score(j)
					a.scores = append(a.scores, s)
					if a.open[j] {
						largest, terms = max(largest, s), max(terms, total)
					}
				}
				sum := 0.0
				for j := range keys {
					p, keep := 0.0, 1.0
					if a.open[j] {
						p = math.Exp(a.scores[j] - largest)
					}
					if op.Drop.Rate > 0 {
						keep = kept(op.Drop, o.word(op.Drop.Stream, b, a.number(j)))
					}
					a.p, a.keep, sum = append(a.p, p), append(a.keep, keep), sum+p
				}
				for j := range keys {
					if sum > 0 {
						a.p[j] /= sum
					}
				}
				if sum > 0 {
					a.largest, a.norm = largest, 1/sum
				}
				a.terms = 2 * float64(o.width+8) * unit * (terms + o.largest)
				a.off = math.Expm1(a.terms) + float64(keys+32)*unit
				f(a)
			}
		}
	}
}

// score returns the score of key j, and the sum of its terms' magnitudes. The key of an open
// cell must be in the window.
func (a *attended) score(j int) (s, total float64) {
	o, op := a.oracle, &a.k.Op
	i := int(o.Var("i", expr.I32).I)
	o.axis("j", j)
	for d := range o.width {
		x := o.vector(a.q, a.first+a.t, a.h, d) * o.vector(a.keysOf, a.keyed+j, a.h, d)
		s, total = s+x, total+math.Abs(x)
	}
	if op.Arg("relative").Name != "" {
		x := o.f(a.relative, o.head(a.first+a.t, a.h)*o.size("n")+o.far(i, j))
		s, total = s+x, total+math.Abs(x)
	}
	s, total = s*op.Scale, total*op.Scale
	bias := 0.0
	if op.Bias != nil {
		bias = o.eval(op.Bias).F
	}
	if op.Arg("table").Name != "" {
		bias = o.f(a.table, a.h, a.t, j)
	}
	open := op.Mask == nil || o.eval(op.Mask).I != 0
	if w := op.Window; open && w.Lo != nil {
		if n := j - int(o.eval(w.Lo).I); n < 0 || n >= w.Width {
			o.Errorf("key %d is open to query %d and not in the window", j, i)
		}
	}
	a.open = append(a.open, open)
	return s + bias, total + math.Abs(bias)
}

// number returns the index of key j's random word within the example.
func (a *attended) number(j int) int {
	blocks := func(n int) int { return (n + 3) / 4 * 4 }
	w, d := a.k.Op.Window, a.k.Op.Drop
	rows, keys := cmp.Or(d.Rows, a.size("t")), cmp.Or(d.Keys, a.size("j"))
	if w.Lo == nil {
		return (a.h*rows+a.t)*blocks(keys) + j
	}
	n := j - int(a.eval(w.Lo).I)
	return max(0, (a.h*w.Width+n)*blocks(rows)+a.t)
}

// given computes probabilities of the scores from a largest score and a norm, which are inputs
// of the kernel and may have any value.
func (a *attended) given(largest, norm float64) {
	for j := range a.p {
		a.p[j] = 0
		if a.open[j] {
			a.p[j] = math.Exp(a.scores[j]-largest) * norm
		}
	}
	a.off = math.Expm1(a.terms+8*unit*math.Abs(largest)) + 32*unit
}

// attention checks the result, which is the sum of the values by their probabilities, and the
// statistics for the gradient: largest score and norm.
func (o *oracle) attention() {
	op, v := &o.k.Op, o.arg("v")
	o.queries(func(a *attended) {
		for d := range o.width {
			y, total := 0.0, 0.0
			for j, p := range a.p {
				x := p * a.keep[j] * o.vector(v, a.keyed+j, a.h, d)
				y, total = y+x, total+math.Abs(x)
			}
			at := []int{o.head(a.first+a.t, a.h)*o.width + d}
			o.result(op.Result("y"), at, expr.Value{F: y}, a.off*total)
		}
		if row := []int{o.head(a.first+a.t, a.h)}; op.Result("norm").Name != "" {
			o.result(op.Result("largest"), row, expr.Value{F: a.largest}, a.terms)
			o.result(op.Result("norm"), row, expr.Value{F: a.norm}, a.off*a.norm)
		}
	})
}

// attentionWeights checks probabilities, 0 at closed cells, or scores, -Inf at closed cells.
func (o *oracle) attentionWeights() {
	op := &o.k.Op
	logits, all := op.Result("logits"), o.tensor(op.Result("logits").Name)
	o.queries(func(a *attended) {
		for j, p := range a.p {
			at := []int{a.b, a.h, a.t, j}
			o.result(op.Result("weights"), at, expr.Value{F: p}, a.off*p)
			if a.open[j] {
				o.result(logits, at, expr.Value{F: a.scores[j]}, math.Log1p(a.off))
			} else if o.has(logits.Name) && !math.IsInf(float64(all.end.F[all.place(at)]), -1) {
				o.Errorf("%s%v is a closed cell's", logits.Name, at)
			}
		}
	})
}

// cells visits all queries and keys of all heads.
func (o *oracle) cells(f func(h, t, j int, open bool)) {
	for h := range o.heads {
		for t := range o.size("t") {
			for j := range o.size("j") {
				o.axis("h", h)
				o.axis("i", t+int(o.s["P"]))
				o.axis("j", j)
				o.largest = 0
				f(h, t, j, o.k.Op.Mask == nil || o.eval(o.k.Op.Mask).I != 0)
			}
		}
	}
}

// cell returns the index of a cell in a table, which may lack an axis of queries.
func (o *oracle) cell(table *tensor, h, t, j int) []int {
	if len(table.shape) == 2 {
		return []int{h, j}
	}
	return []int{h, t, j}
}

// biasTable checks the bias at open cells, and 0 at others.
func (o *oracle) biasTable() {
	res := o.k.Op.Result("table")
	table := o.tensor(res.Name)
	o.cells(func(h, t, j int, open bool) {
		var want expr.Value
		if open {
			want = o.eval(o.k.Op.Bias)
		}
		o.result(res, o.cell(table, h, t, j), want, 32*unit*o.largest)
	})
}

// biasTableGrad sums the cells' gradients times the bias's derivatives by each element of each
// parameter, head by head. The error of a derivative shows in its float32 value.
func (o *oracle) biasTableGrad() {
	op, dtable := &o.k.Op, o.arg("dtable")
	for n, res := range op.Results {
		size := len(o.tensor(res.Name).end.F)
		if size == 0 {
			continue
		}
		g := &sumOf{make([]float64, size), make([]float64, size)}
		name := op.Args[1+n].Name
		param := o.tensor(name)
		slopes, rounded := map[*expr.Expr]*expr.Expr{}, map[*expr.Expr]*expr.Code{}
		for _, x := range expr.Elems(op.Bias) {
			if x.Name == name {
				slopes[x] = expr.Diff(op.Bias, x)
				rounded[slopes[x]] = expr.Compile32(o, slopes[x])
			}
		}
		o.cells(func(h, t, j int, open bool) {
			for x, slope := range slopes {
				if !open {
					continue
				}
				at := []int{}
				for _, e := range x.Args {
					at = append(at, int(o.eval(e).I))
				}
				ds, d := o.f(dtable, o.cell(dtable, h, t, j)...), o.eval(slope).F
				off := 8*math.Abs(d-rounded[slope].Run().F) + 64*unit*math.Abs(d)
				g.add(h*(size/o.heads)+param.place(at), ds*d, math.Abs(ds)*off)
			}
		})
		for i := range g.x {
			o.flat(res, i, g.x[i], g.total[i])
		}
	}
}

// A sumOf is a gradient and a sum of magnitudes that bounds its error.
type sumOf struct{ x, total []float64 }

// add adds to element n, or does nothing if there are no elements.
func (s *sumOf) add(n int, x, total float64) {
	if len(s.x) > 0 {
		s.x[n], s.total[n] = s.x[n]+x, s.total[n]+total
	}
}

// attentionGrad evaluates the gradients. p are the probabilities, r the dropout factors, y a
// query's result and g its gradient.
//
//	dp = r g·v   ds = p (dp - sum of p dp)   dq = scale ds k   dk = scale ds q   dv = r p g
//
// The error of each is the probabilities' relative error, times the terms' sum of magnitudes.
func (o *oracle) attentionGrad() {
	op := &o.k.Op
	grads := map[string]*sumOf{}
	none := &sumOf{}
	for _, role := range []string{"q", "k", "v", "relative", "table"} {
		grads[role] = none
		n := len(o.tensor(op.Result(role).Name).end.F)
		if n > 0 {
			grads[role] = &sumOf{make([]float64, n), make([]float64, n)}
		}
	}
	dq, dk, dv, drelative, dtable := grads["q"], grads["k"], grads["v"], grads["relative"], grads["table"]
	dout, q, k, v, table := o.arg("dout"), o.arg("q"), o.arg("k"), o.arg("v"), o.tensor(op.Result("table").Name)
	result, largest, norm := o.arg("y"), o.arg("largest"), o.arg("norm")
	queries, width, distances := o.size("t"), o.width, o.size("n")
	off := 0.0
	o.queries(func(a *attended) {
		at := o.head(a.first+a.t, a.h)
		a.given(o.f(largest, at), o.f(norm, at))
		off = max(off, a.off)
		dp, dpTotal := make([]float64, a.keys), make([]float64, a.keys)
		delta, deltaTotal := 0.0, 0.0
		row := o.head(a.first+a.t, a.h)
		for j, p := range a.p {
			for d := range width {
				g := o.f(dout, row*width+d)
				x := a.keep[j] * g * o.vector(v, a.keyed+j, a.h, d)
				dp[j], dpTotal[j] = dp[j]+x, dpTotal[j]+math.Abs(x)
				dv.add(o.head(a.keyed+j, a.h)*width+d, a.keep[j]*p*g, math.Abs(a.keep[j]*p*g))
			}
			if op.Arg("y").Name == "" {
				delta, deltaTotal = delta+p*dp[j], deltaTotal+math.Abs(p)*dpTotal[j]
			}
		}
		for d := range width {
			if op.Arg("y").Name != "" {
				x := o.f(dout, row*width+d) * o.f(result, row*width+d)
				delta, deltaTotal = delta+x, deltaTotal+math.Abs(x)
			}
		}
		for j, p := range a.p {
			ds, total := p*(dp[j]-delta), math.Abs(p)*(dpTotal[j]+deltaTotal)
			if dtable != none {
				dtable.add(table.place([]int{a.h, a.t, j}), ds, total)
			}
			ds, total = ds*op.Scale, total*op.Scale
			drelative.add(row*distances+o.far(int(o.Var("i", expr.I32).I), j), ds, total)
			for d := range width {
				x, y := o.f(q, row*width+d), o.vector(k, a.keyed+j, a.h, d)
				dq.add(row*width+d, ds*y, total*math.Abs(y))
				dk.add(o.head(a.keyed+j, a.h)*width+d, ds*x, total*math.Abs(x))
			}
		}
	})
	off = 3*off + float64(width+queries*o.size("b"))*unit
	for role, g := range grads {
		res := op.Result(role)
		for n := range g.x {
			o.flat(res, n, g.x[n], off*g.total[n])
		}
	}
}

// flat compares element n of a buffer of any shape.
func (o *oracle) flat(res kernel.Result, n int, want, tolerance float64) {
	shape := o.tensor(res.Name).shape
	at := make([]int, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		at[i], n = n%shape[i], n/shape[i]
	}
	o.result(res, at, expr.Value{F: want}, tolerance)
}
