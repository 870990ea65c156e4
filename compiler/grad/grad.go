// Package grad differentiates tensor IR. Backward turns one function into a form that
// saves values, and a function that computes the gradient from them. It runs after
// package model and before package opt. rules.go has a table with one rule per op.
package grad

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// Backward splits the differentiation of f in two.
//
// fwd is f with further results save.N for values N of f.
//
// bwd takes the parameters of f that it needs under their own names and roles, the saved
// values as Saved parameters, and the gradient of each real result as Grad parameter
// d.RESULT. It returns d.PARAM for each real parameter of f with role Weight
// (accumulated) or Input, unless that gradient is identically zero. It recomputes a value
// instead of saving it if that takes only cheap elementwise work on values that bwd has
// anyway. Values rounded to BF16 take less memory than their source, so they are saved,
// unless the source is a parameter.
//
// An error means that a gradient flows through an op that has none.
func Backward(f *ir.Func) (fwd, bwd *ir.Func, err error) {
	t := newTape(f)
	t.sweep()
	for i, p := range f.Params {
		if g := t.grads[p]; g != nil && t.active[p] {
			t.b.Result("d."+p.Attr.Name, g, f.Roles[i] == ir.Weight)
		}
	}
	if t.err != nil {
		return nil, nil, t.err
	}
	all, err := t.b.Func()
	if err != nil {
		return nil, nil, err
	}
	return t.split(all)
}

// A tape writes the backward function as if every value of f were kept.
type tape struct {
	f      *ir.Func
	b      *ir.Builder
	kept   map[*ir.Value]*ir.Value   // value of f -> parameter of b
	orig   map[*ir.Value]*ir.Value   // parameter of b -> value of f
	active map[*ir.Value]bool        // real values that depend on a Weight or an Input
	grads  map[*ir.Value]*ir.Value   // value of f -> its gradient so far, of F32
	left   map[*ir.Value][]*ir.Value // attention of f -> its other results, which f computes for its gradient
	err    error
}

func newTape(f *ir.Func) *tape {
	f, left := withStatistics(f)
	t := &tape{
		f: f, b: ir.NewBuilder(f.Name+"_back", f.Pos),
		kept: map[*ir.Value]*ir.Value{}, orig: map[*ir.Value]*ir.Value{},
		active: map[*ir.Value]bool{}, grads: map[*ir.Value]*ir.Value{}, left: left,
	}
	for i, v := range f.Values {
		t.b.Pos(v.Pos)
		name, role := fmt.Sprintf("save.%d", v.ID), ir.Saved
		if v.Op == ir.Param {
			name, role = v.Attr.Name, f.Roles[i]
			t.active[v] = v.Type.Real() && (role == ir.Weight || role == ir.Input)
		}
		for _, a := range v.Args {
			t.active[v] = t.active[v] || t.active[a] && v.Type.Real()
		}
		p := t.b.Param(name, v.Type, role)
		t.kept[v], t.orig[p] = p, v
	}
	t.b.Pos(f.Pos)
	for _, r := range f.Results {
		if t.active[r.Value] {
			t.add(r.Value, t.b.Param("d."+r.Name, ir.T(r.Value.Type.Shape...), ir.Grad))
		}
	}
	return t
}

// withStatistics is f with the results "largest" and "norm" of each attention, behind all
// other values.
func withStatistics(f *ir.Func) (*ir.Func, map[*ir.Value][]*ir.Value) {
	g, left := *f, map[*ir.Value][]*ir.Value{}
	g.Values = slices.Clone(f.Values)
	for _, v := range f.Values {
		if v.Op != ir.Attention {
			continue
		}
		for _, result := range []string{"largest", "norm"} {
			w := *v
			w.ID = g.Values[len(g.Values)-1].ID + 1
			w.Attr.Result, w.Type = result, ir.T(v.Type.Shape[0], v.Type.Shape[1], ir.N(v.Attr.Attn.Heads))
			if w.Attr.Name != "" {
				w.Attr.Name += "." + result
			}
			g.Values, left[v] = append(g.Values, &w), append(left[v], &w)
		}
	}
	return &g, left
}

// sweep applies the rules from the last value to the first.
func (t *tape) sweep() {
	for i := len(t.f.Values) - 1; i >= 0; i-- {
		v := t.f.Values[i]
		dy := t.grads[v]
		if dy == nil || v.Op == ir.Param {
			continue
		}
		r, ok := rules[v.Op]
		if !ok {
			t.err = fmt.Errorf("%s: v%d: %s has no gradient", t.f.Name, v.ID, v.Op)
			return
		}
		t.b.Pos(v.Pos)
		for k, g := range r.apply(t, v, dy, t.args(v)) {
			if g == nil || !t.active[v.Args[k]] {
				continue
			}
			if g != dy && g.Attr.Name == "" && v.Attr.Name != "" {
				t.b.Label(g, v.Attr.Name+".d"+r.arg(v, k))
			}
			t.add(v.Args[k], g)
		}
	}
}

// args returns the kept arguments of v.
func (t *tape) args(v *ir.Value) []*ir.Value {
	args := make([]*ir.Value, len(v.Args))
	for i, a := range v.Args {
		args[i] = t.kept[a]
	}
	return args
}

// add adds g to the gradient of v.
func (t *tape) add(v, g *ir.Value) {
	t.grads[v] = t.sum(t.grads[v], g)
}

// split decides which kept values to save and which to recompute.
func (t *tape) split(all *ir.Func) (fwd, bwd *ir.Func, err error) {
	live := ir.Live(all)
	needed := map[*ir.Value]bool{}
	for _, p := range all.Params {
		if v := t.orig[p]; v != nil && live[p] {
			needed[v] = true
		}
	}
	again := t.again(needed)

	c := &copier{t: t, b: ir.NewBuilder(all.Name, all.Pos), again: again, now: map[*ir.Value]*ir.Value{}}
	fwd = &ir.Func{Name: t.f.Name, Params: t.f.Params, Roles: t.f.Roles, Values: t.f.Values, Pos: t.f.Pos}
	fwd.Results = append(fwd.Results, t.f.Results...)
	for i, p := range all.Params {
		v := t.orig[p]
		if v == nil && !live[p] || v != nil && (!needed[v] || again[v]) {
			continue
		}
		c.b.Pos(p.Pos)
		c.now[p] = c.b.Param(p.Attr.Name, p.Type, all.Roles[i])
		if all.Roles[i] == ir.Saved && v.Op != ir.Param {
			fwd.Results = append(fwd.Results, ir.Result{Name: p.Attr.Name, Value: v})
		}
	}
	for _, v := range all.Values[len(all.Params):] {
		if live[v] {
			c.now[v] = c.b.Clone(v, c.args(v)...)
		}
	}
	for _, r := range all.Results {
		c.b.Result(r.Name, c.get(r.Value), r.Accumulate)
	}
	bwd, err = c.b.Func()
	return fwd, bwd, err
}

// again returns the needed values that are cheap to compute from parameters and other
// needed values. It marks the parameters they take as needed.
func (t *tape) again(needed map[*ir.Value]bool) map[*ir.Value]bool {
	out := map[*ir.Value]bool{}
	for _, v := range t.f.Values {
		if !needed[v] || !t.cheap(v) {
			continue
		}
		have := true
		for _, a := range v.Args {
			have = have && (needed[a] || a.Op == ir.Param)
		}
		if !have {
			continue
		}
		out[v] = true
		for _, a := range v.Args {
			needed[a] = true
		}
	}
	return out
}

// cheap reports whether v costs little more to compute than to read.
func (t *tape) cheap(v *ir.Value) bool {
	switch v.Op {
	case ir.Dropout, ir.Reshape, ir.Subset:
		return true
	case ir.Map:
		ok := !v.Type.Elem.Narrow() || t.weights(v.Args)
		expr.Walk(v.Attr.Expr, func(e *expr.Expr) { ok = ok && !e.Op.Transcendental() })
		return ok
	}
	return false
}

// weights reports whether all values are learned parameters.
func (t *tape) weights(vs []*ir.Value) bool {
	return !slices.ContainsFunc(vs, func(v *ir.Value) bool {
		i := slices.Index(t.f.Params, v)
		return i < 0 || t.f.Roles[i] != ir.Weight
	})
}

// A copier writes the final backward function.
type copier struct {
	t     *tape
	b     *ir.Builder
	again map[*ir.Value]bool
	now   map[*ir.Value]*ir.Value // value of the tape's function -> final value
}

// get returns the final value of v, and recomputes a kept value that was not saved.
func (c *copier) get(v *ir.Value) *ir.Value {
	if c.now[v] == nil {
		src := c.t.orig[v]
		args := make([]*ir.Value, len(src.Args))
		for i, a := range src.Args {
			args[i] = c.get(c.t.kept[a])
		}
		c.now[v] = c.b.Clone(src, args...)
	}
	return c.now[v]
}

func (c *copier) args(v *ir.Value) []*ir.Value {
	args := make([]*ir.Value, len(v.Args))
	for i, a := range v.Args {
		args[i] = c.get(a)
	}
	return args
}
