package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
)

// A view computes what rows know, as numbers that are equal only if the knowledge is. A
// row knows its token and position, and from each layer the earlier knowledge of the rows
// that it sees, each as a share of all, because a softmax sees only shares. If scores
// depend on places, each row is known together with its place, which is more than any
// score can use.
type view struct {
	encoder, self, cross sights // encoder and cross are nil in a loop
	encoders, layers     int    // layers to run …
	recurring            int    // … or, if more, this many for each recurrence of a loop by length
	position             Position
}

// newView returns the view of a model. It returns nil if the model has no windows, or if
// masks and positions alone do not determine what rows see.
func newView(s *Spec) *view {
	m := &s.Model
	v := &view{position: m.Position}
	if m.Position.Inner == "none" { // positions reach only scores
		v.position = Position{Kind: "none"}
	}
	if l := m.Loop; l != nil {
		times := s.Eval.Settle
		if v.recurring = l.Layers; !s.Task.Recurrences.ByLength() {
			v.recurring, times = 0, max(l.Times, times)
		}
		for _, n := range s.Eval.Times {
			times = max(times, n)
		}
		v.self, v.layers = newSights(s, l.Self, l.Layers), l.Layers*times
		noise := l.State != "embed" && l.Std > 0
		shared := mentions(l.Self.Mask, "I", "J") // the mask depends on the launch's other problems
		if noise || shared || causal(l.Self.Mask) {
			return nil
		}
		return v
	}
	d, e := m.Decoder, m.Encoder
	v.layers, v.encoders = d.Layers*max(d.Times, 1), e.Layers*max(e.Times, 1)
	windows := d.Cross != nil && (d.Cross.Mask != nil || !causal(d.Self.Mask) || e.Self != nil && e.Self.Mask != nil)
	if !windows || v.encoders > 0 && e.Self == nil {
		return nil
	}
	v.self, v.cross, v.encoder = newSights(s, d.Self, d.Layers), newSights(s, d.Cross, d.Layers), newSights(s, e.Self, e.Layers)
	return v
}

// causal reports whether a mask is only causality.
func causal(mask *expr.Expr) bool {
	once := expr.New(expr.Le, expr.NewVar("j", expr.I32), expr.NewVar("i", expr.I32))
	twice := expr.New(expr.And, once, once) // a spec may repeat it
	return expr.Key(mask) == expr.Key(once) || expr.Key(mask) == expr.Key(twice)
}

// key identifies the view and its problems.
func (v *view) key(s *Spec) string {
	t := s.Task.Task
	t.Problems, t.Tests, t.Split = "", "", nil
	return fmt.Sprintf("%+v %p %s %s %s %d %d %d %+v %d", t, s.Task.File, v.self.key(), v.cross.key(), v.encoder.key(), v.layers, v.recurring, v.encoders, v.position, s.Model.Heads)
}

// look selects the problem for masks that depend on places in numbers.
func (v *view) look(p *exercise) {
	for _, a := range v.self {
		a.place(p, p.target, p.target)
	}
	for _, a := range v.cross {
		a.place(p, p.target, p.source)
	}
	for _, a := range v.encoder {
		a.place(p, p.source, p.source)
	}
}

// rows returns what each row of a problem knows at the end.
func (v *view) rows(p *exercise) []uint64 {
	v.look(p)
	know, source := v.tokens(p, p.target), v.tokens(p, p.source)
	for n := range v.encoders {
		source = v.encoder.in(n).layer(source, nil)
	}
	var read [][]uint64 // by layer
	for _, a := range v.cross {
		read = append(read, a.shares(len(know), source))
	}
	for n := range max(v.layers, v.recurring*p.recurrences) {
		if a := v.self.in(n); len(read) > 0 {
			know = a.layer(know, read[n%len(read)])
		} else {
			know = a.layer(know, nil)
		}
	}
	return know
}

// tokens returns the knowledge in embeddings.
func (v *view) tokens(p *exercise, ids []int32) []uint64 {
	out := make([]uint64, len(ids))
	var places []int32
	if v.position.Kind == "abacus" { // without the offset of training
		places = p.of.Runs(ids)
	}
	for i, id := range ids {
		place := i
		switch v.position.Kind {
		case "none":
			place = 0
		case "cyclic":
			place = i % v.position.Period
		case "abacus":
			place = int(places[i])
		}
		out[i] = mixed(uint64(id), uint64(place))
	}
	return out
}

// cost returns how many cells of attention rows evaluates, or a bound.
func (v *view) cost(p *exercise) int {
	rows, keys := len(p.target), len(p.source)
	n := 0
	for l := range v.layers {
		n += v.self.in(l).cost(rows, rows)
	}
	for _, a := range v.cross {
		n += a.cost(rows, keys)
	}
	for l := range v.encoders {
		n += v.encoder.in(l).cost(keys, keys)
	}
	return n
}

// sights are the sights of a site, one for all layers or one for each.
type sights []*sight

// newSights returns the sights of a site, or nil without one.
func newSights(s *Spec, site *Site, layers int) (all sights) {
	switch {
	case site == nil:
		return nil
	case !site.layered():
		return sights{newSight(s, site)}
	}
	for n := range layers {
		all = append(all, newSight(s, site.inLayer(n)))
	}
	return all
}

// in returns the sight of layer n of all runs, from 0.
func (all sights) in(n int) *sight { return all[n%len(all)] }

// key identifies what the sights depend on.
func (all sights) key() string {
	var parts []string
	for _, a := range all {
		parts = append(parts, fmt.Sprint(a.text, a.near))
	}
	return strings.Join(parts, ";")
}

// reach lists the rows that the given rows see through several layers, the last one first,
// including themselves.
func (all sights) reach(rows []int, size, layers int) []int {
	for n := range layers {
		rows = slices.Concat(rows, all.in(layers-1-n).read(rows, size, size))
		slices.Sort(rows)
		rows = slices.Compact(rows)
	}
	return rows
}

// A sight is an attention site in a layer.
type sight struct {
	mask  *maskRun // nil: all is open
	text  string   // identifies the mask
	near  bool     // scores depend on places of tokens
	apart bool     // the mask depends on places in numbers
	shape lengths  // of cells
	cells [][][]int
	count int // of cells

	chosen []uint64 // reused by shares
}

func newSight(s *Spec, site *Site) *sight {
	a := &sight{near: site.Bias != nil || site.Rotary != nil || site.Shaw > 0}
	if site.Mask != nil {
		a.mask, a.text = newMaskRun(s, site.Mask), expr.Key(site.Mask)
		a.apart = mentions(site.Mask, counted...)
	}
	return a
}

// place selects the tokens of a problem's rows and keys, if the mask depends on them.
func (a *sight) place(p *exercise, rows, keys []int32) {
	if a.apart {
		a.mask.rows, a.mask.keys, a.cells = p.of.Runs(rows), p.of.Runs(keys), nil
	}
}

func (a *sight) cost(rows, keys int) int {
	switch {
	case a.cells != nil && a.shape == lengths{Source: keys, Target: rows}:
		return a.count
	case a.mask == nil:
		return rows * keys
	}
	return a.mask.heads * rows * keys
}

// open lists the open columns, by head and row.
func (a *sight) open(rows, keys int) [][][]int {
	if l := (lengths{Source: keys, Target: rows}); a.cells == nil || a.shape != l {
		a.shape, a.cells, a.count = l, a.columns(rows, keys), 0
		for _, open := range a.cells {
			for _, columns := range open {
				a.count += 1 + len(columns)
			}
		}
	}
	return a.cells
}

func (a *sight) columns(rows, keys int) [][][]int {
	if a.mask != nil {
		return a.mask.columns(rows, keys)
	}
	all := make([]int, keys)
	for j := range all {
		all[j] = j
	}
	return [][][]int{slices.Repeat([][]int{all}, rows)}
}

// layer returns what rows know after they have read each other, and also read.
func (a *sight) layer(know, read []uint64) []uint64 {
	next := a.shares(len(know), know)
	for i := range next {
		next[i] = mixed(know[i], next[i])
		if read != nil {
			next[i] = mixed(next[i], read[i])
		}
	}
	return next
}

// shares returns what each row reads.
func (a *sight) shares(rows int, of []uint64) []uint64 {
	out := make([]uint64, rows)
	for _, open := range a.open(rows, len(of)) {
		for i, columns := range open {
			a.chosen = a.chosen[:0]
			for _, j := range columns {
				a.chosen = append(a.chosen, of[j])
			}
			if a.near {
				out[i] = mixed(out[i], placed(i, rows, len(of), columns, a.chosen))
			} else {
				out[i] = mixed(out[i], shares(a.chosen))
			}
		}
	}
	return out
}

// read lists the columns that some rows see, in ascending order.
func (a *sight) read(rows []int, all, keys int) []int {
	var out []int
	for _, open := range a.open(all, keys) {
		for _, i := range rows {
			out = append(out, open[i]...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// columns lists the open columns of a mask, by head and row.
func (m *maskRun) columns(rows, keys int) [][][]int {
	m.vars["I"].I, m.vars["J"].I = int64(rows), int64(keys)
	out := make([][][]int, m.heads)
	for h := range out {
		m.vars["h"].I = int64(h)
		out[h] = make([][]int, rows)
		for i := range rows {
			m.query(i)
			for j := range keys {
				m.key(j)
				if m.code.Run().I != 0 {
					out[h][i] = append(out[h][i], j)
				}
			}
		}
	}
	return out
}

// shares returns what a softmax over the elements can distinguish: each element with its
// share. It sorts the elements.
func shares(of []uint64) (sum uint64) {
	slices.Sort(of)
	common := 0
	for i := 0; i < len(of); {
		n := equal(of[i:])
		common = divisor(n, common)
		i += n
	}
	for i := 0; i < len(of); {
		n := equal(of[i:])
		sum = mixed(mixed(sum, of[i]), uint64(n/common))
		i += n
	}
	return sum
}

// equal returns how many elements at the front are equal.
func equal(of []uint64) int {
	n := 1
	for n < len(of) && of[n] == of[0] {
		n++
	}
	return n
}

// placed returns what row i of rows can distinguish of elements with their places among
// all.
func placed(i, rows, all int, places []int, of []uint64) uint64 {
	sum := mixed(mixed(uint64(i), uint64(rows)), uint64(all))
	for k, j := range places {
		sum = mixed(mixed(sum, of[k]), uint64(j))
	}
	return sum
}

// divisor returns the greatest common divisor.
func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// mixed returns a hash of two numbers (the finalizer of splitmix64, Steele et al. 2014).
func mixed(a, b uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 ^ b + 0x632be59bd9b4e019
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
