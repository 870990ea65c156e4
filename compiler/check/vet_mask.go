package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// Bounds on the work, so that vetting takes no noticeable time: cells of one mask, and
// shapes of problems.
const (
	vetCells  = 1 << 16
	vetShapes = 48
)

// vetMasks warns of queries that see no key.
func (c *checker) vetMasks(s *Spec) {
	shapes := s.shapesToVet()
	if len(shapes) == 0 {
		return
	}
	for _, x := range s.attention() {
		if !x.coupled() { // else the open keys depend on the problem
			c.vetMask(s, x, shapes)
		}
	}
}

// vetMask warns of queries of an attention that see no key.
func (c *checker) vetMask(s *Spec, x attention, shapes []lengths) {
	if x.Mask == nil {
		return
	}
	for _, x := range x.inLayers() {
		if at := c.closedQuery(s, x.Mask, shapes, x.size); at != nil {
			c.report("V002", c.at(x.path+".mask"), "%s.mask leaves a query without a key", x.path).
				WithHelp("no key is open for %sh = %d, i = %d where I = %d, J = %d: that query reads zeros", x.where, at.h, at.i, at.rows, at.keys)
			return
		}
	}
}

// An attention is a site with its path, the shape of its matrix and the layers of its stack.
type attention struct {
	path string
	*Site
	size   func(l lengths) (rows, keys int)
	layers int
	where  string // the layer, for messages, if it is of one
}

// inLayers returns the attention of each layer, or x if all layers have the same.
func (x attention) inLayers() []attention {
	if !x.layered() {
		return []attention{x}
	}
	out := make([]attention, x.layers)
	for n := range out {
		out[n] = attention{x.path, x.inLayer(n), x.size, x.layers, fmt.Sprintf("layer = %d, ", n+1)}
	}
	return out
}

// layered reports whether the mask or bias depends on the layer.
func (s *Site) layered() bool { return mentions(s.Mask, "layer") || mentions(s.Bias, "layer") }

// inLayer returns the site of layer n, from 0.
func (s *Site) inLayer(n int) *Site {
	one := *s
	for _, x := range []**expr.Expr{&one.Mask, &one.Bias} {
		if *x != nil {
			*x = expr.Simplify(expr.Subst(*x, map[string]*expr.Expr{"layer": expr.Int(int64(n + 1))}))
		}
	}
	return &one
}

// attention lists the sites of the model.
func (s *Spec) attention() []attention {
	same := func(n func(l lengths) int) func(l lengths) (int, int) {
		return func(l lengths) (int, int) { return n(l), n(l) }
	}
	source, target := func(l lengths) int { return l.Source }, func(l lengths) int { return l.Target }
	m := &s.Model
	sites := []attention{
		{"model.encoder.self", m.Encoder.Self, same(source), m.Encoder.Layers, ""},
		{"model.decoder.self", m.Decoder.Self, same(target), m.Decoder.Layers, ""},
		{"model.decoder.cross", m.Decoder.Cross, func(l lengths) (int, int) { return l.Target, l.Source }, m.Decoder.Layers, ""},
	}
	if l := m.Loop; l != nil {
		sites = []attention{{"model.decoder_only.self", l.Self, same(target), l.Layers, ""}}
	}
	return slices.DeleteFunc(sites, func(x attention) bool { return x.Site == nil })
}

// shapesToVet lists shapes of training and tests, extremes first.
func (s *Spec) shapesToVet() []lengths {
	all := slices.Concat(s.trained(), s.evaluated())
	slices.SortFunc(all, func(a, b lengths) int {
		return cmp.Or(a.Source*a.Target-b.Source*b.Target, a.Source-b.Source)
	})
	all = slices.Compact(all)
	if len(all) < 3 {
		return all
	}
	out := []lengths{all[0], all[len(all)-1]}
	step := max(1, len(all)/vetShapes)
	for n := 1; n < len(all)-1; n += step {
		out = append(out, all[n])
	}
	return out
}

// A query is a row of a head's matrix of the given shape.
type query struct{ h, i, rows, keys int }

// closedQuery returns a query that sees no key, or nil. It remembers results for other
// trainings of the sweep.
func (c *checker) closedQuery(s *Spec, mask *expr.Expr, shapes []lengths, size func(lengths) (rows, keys int)) *query {
	rows, keys := size(shapes[0])
	key := fmt.Sprint(expr.Key(mask), s.Model.Heads, s.Model.Position.Period, rows == keys, shapes)
	if at, ok := c.closed[key]; ok {
		return at
	}
	m := newMaskRun(s, mask)
	var at *query
	for _, l := range shapes {
		rows, keys := size(l)
		if h, i, closed := m.closedRow(rows, keys); closed {
			at = &query{h, i, rows, keys}
			break
		}
	}
	c.closed[key] = at
	return at
}

// A maskRun evaluates a mask cell by cell.
type maskRun struct {
	vars   map[string]*expr.Value
	at     struct{ i, pi, di, ni, j, pj, dj, nj *expr.Value } // the variables of a cell
	code   *expr.Code
	heads  int // heads that differ
	period int // of positions; 0: none
	shift  int // of random positions
	cells  int // evaluated so far

	digits     int     // of the longest number
	rows, keys []int32 // places in numbers; nil: all numbers have digits digits
}

func newMaskRun(s *Spec, mask *expr.Expr) *maskRun {
	m := &maskRun{vars: make(map[string]*expr.Value), heads: 1, period: s.Model.Position.Period, digits: max(s.trainedDigits(), s.evaluatedDigits())}
	for _, n := range indices {
		m.vars[n] = new(expr.Value)
	}
	m.at.i, m.at.pi, m.at.di, m.at.ni = m.vars["i"], m.vars["pi"], m.vars["di"], m.vars["ni"]
	m.at.j, m.at.pj, m.at.dj, m.at.nj = m.vars["j"], m.vars["pj"], m.vars["dj"], m.vars["nj"]
	m.vars["H"].I = int64(s.Model.Heads)
	if usesHead(mask) {
		m.heads = s.Model.Heads
	}
	m.code = expr.Compile64(m, mask)
	return m
}

// Var implements expr.Binder.
func (m *maskRun) Var(name string, _ expr.Type) *expr.Value { return m.vars[name] }

// Elem implements expr.Binder. Masks have no elements.
func (m *maskRun) Elem(name string, _ expr.Type) func([]int) expr.Value {
	panic("BUG: a mask with the element " + name)
}

// query selects row i for the next cells, and key selects column j.
func (m *maskRun) query(i int) {
	m.at.i.I, m.at.pi.I = int64(i), m.position(i)
	m.at.di.I, m.at.ni.I = m.counts(m.rows, i)
}

func (m *maskRun) key(j int) {
	m.at.j.I, m.at.pj.I = int64(j), m.position(j)
	m.at.dj.I, m.at.nj.I = m.counts(m.keys, j)
}

// counts returns the place of token i in its number, and the number's index.
func (m *maskRun) counts(places []int32, i int) (place, number int64) {
	if places == nil {
		i++
		return int64(i % (m.digits + 1)), int64(i / (m.digits + 1))
	}
	for _, p := range places[:i+1] {
		if p == 0 {
			number++
		}
	}
	return int64(places[i]), number
}

func (m *maskRun) position(i int) int64 {
	if m.period > 0 {
		return int64(i % m.period)
	}
	return int64(i + m.shift)
}

// closedRow returns a row of a mask in which no cell is open.
func (m *maskRun) closedRow(rows, keys int) (h, i int, closed bool) {
	m.vars["I"].I, m.vars["J"].I = int64(rows), int64(keys)
	for h := range m.heads {
		m.vars["h"].I = int64(h)
		for i := range rows {
			m.query(i)
			if m.cells > vetCells {
				return 0, 0, false
			}
			if !m.open(keys) {
				return h, i, true
			}
		}
	}
	return 0, 0, false
}

func (m *maskRun) open(keys int) bool {
	for j := range keys {
		m.cells++
		m.key(j)
		if m.code.Run().I != 0 {
			return true
		}
	}
	return false
}

// usesHead reports whether a mask depends on the head.
func usesHead(mask *expr.Expr) bool {
	return slices.ContainsFunc(expr.Vars(mask), func(v *expr.Expr) bool { return v.Name == "h" })
}
