package opt

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// A Group is a set of values that one kernel computes. Its anchors decide the kernel
// family; an elementwise group has none. A group with anchors may also compute
// elementwise Members: inputs of a sum, or an epilogue of one of the other ops.
type Group struct {
	Anchors []*ir.Value // one op, or several results of it
	Members []*ir.Value // elementwise values, in order
	Shape   []ir.Dim    // of the members
	Inputs  []*ir.Value // computed by earlier groups, or parameters
	Outputs []*ir.Value // used by later groups, or results
}

// Elementwise reports whether each element of v depends only on the same element of its
// arguments.
func Elementwise(v *ir.Value) bool { return elementwise[v.Op] }

var elementwise = map[ir.Op]bool{ir.Map: true, ir.Dropout: true, ir.Draw: true, ir.Noise: true}

// epilogues are the anchors that elementwise values of the same shape may join.
var epilogues = map[ir.Op]bool{ir.MatMul: true, ir.Gather: true, ir.LayerNorm: true, ir.LayerNormGrad: true, ir.RMSNorm: true, ir.RMSNormGrad: true}

// byHead are the anchors that compute one head at a time. Only a rounding of their
// elements may join them.
var byHead = map[ir.Op]bool{ir.Attention: true, ir.AttentionGrad: true, ir.Rotate: true}

// Fuse partitions a function into groups, in an order in which they can run. An
// elementwise value joins the group of its latest argument if that group accepts it: one
// with the same shape whose anchor, if any, takes an epilogue. An elementwise value that
// only a sum reads is computed inside it.
func Fuse(f *ir.Func) []*Group {
	u := &fuser{group: map[*ir.Value]int{}, users: users(f)}
	for _, r := range f.Results {
		u.users[r.Value] = append(u.users[r.Value], nil)
	}
	for _, v := range f.Values {
		switch {
		case v.Op == ir.Param:
		case u.onlySummed(v):
			u.pending = append(u.pending, v)
		case Elementwise(v):
			u.elementwise(v)
		default:
			u.anchor(v)
		}
	}
	for i, g := range u.groups {
		u.finish(i, g)
	}
	return u.groups
}

type fuser struct {
	groups  []*Group
	group   map[*ir.Value]int
	users   map[*ir.Value][]*ir.Value
	pending []*ir.Value // elementwise values waiting for the Sum that reads them
}

func users(f *ir.Func) map[*ir.Value][]*ir.Value {
	m := map[*ir.Value][]*ir.Value{}
	for _, v := range f.Values {
		for _, a := range v.Args {
			if !slices.Contains(m[a], v) {
				m[a] = append(m[a], v)
			}
		}
	}
	return m
}

func (u *fuser) onlySummed(v *ir.Value) bool {
	us := u.users[v]
	return Elementwise(v) && len(us) == 1 && us[0] != nil && sums(us[0])
}

// sums reports whether v is a sum, which can compute its own terms.
func sums(v *ir.Value) bool { return v.Op == ir.Sum || v.Op == ir.SegmentSum }

func (u *fuser) add(g *Group, vs ...*ir.Value) {
	u.groups = append(u.groups, g)
	for _, v := range vs {
		u.group[v] = len(u.groups) - 1
	}
}

func (u *fuser) anchor(v *ir.Value) {
	for i, g := range u.groups {
		if siblings(g, v) {
			g.Anchors = append(g.Anchors, v)
			u.group[v] = i
			return
		}
	}
	g := &Group{Anchors: []*ir.Value{v}, Shape: v.Type.Shape}
	if sums(v) && slices.Contains(u.pending, v.Args[0]) {
		x := v.Args[0]
		g.Members, g.Shape = []*ir.Value{x}, x.Type.Shape
		u.add(g, v, x)
		return
	}
	u.add(g, v)
}

// siblings reports whether the kernel of g's anchor also computes v.
func siblings(g *Group, v *ir.Value) bool {
	if len(g.Anchors) == 0 {
		return false
	}
	a := g.Anchors[0]
	if a.Op == ir.Sum && v.Op == ir.Sum {
		return together(g, v)
	}
	if a.Op != v.Op || !slices.Equal(a.Args, v.Args) {
		return false
	}
	switch v.Op {
	case ir.Attention, ir.AttentionGrad:
		return a.Attr.Stream == v.Attr.Stream
	case ir.BiasTableGrad, ir.LayerNormGrad, ir.RMSNormGrad:
		return true
	}
	return false
}

// together reports whether v sums, over the same axes as group g, a value that the
// members of g read.
func together(g *Group, v *ir.Value) bool {
	x := v.Args[0]
	return slices.Equal(g.Anchors[0].Attr.Axes, v.Attr.Axes) && len(v.Type.Shape) > 0 && slices.Equal(x.Type.Shape, g.Shape) &&
		slices.ContainsFunc(g.Members, func(m *ir.Value) bool { return slices.Contains(m.Args, x) })
}

func (u *fuser) elementwise(v *ir.Value) {
	latest := -1
	for _, a := range v.Args {
		if i, ok := u.group[a]; ok {
			latest = max(latest, i)
		}
	}
	if latest >= 0 && u.accepts(latest, v) {
		g := u.groups[latest]
		g.Members = append(g.Members, v)
		u.group[v] = latest
		return
	}
	u.add(&Group{Members: []*ir.Value{v}, Shape: v.Type.Shape}, v)
}

func (u *fuser) accepts(i int, v *ir.Value) bool {
	g := u.groups[i]
	if len(g.Anchors) > 0 {
		a := g.Anchors[0]
		if byHead[a.Op] {
			return Rounds(v) && slices.Contains(g.Anchors, v.Args[0])
		}
		if !epilogues[a.Op] || !slices.Equal(a.Type.Shape, g.Shape) || len(g.Shape) < 2 {
			return false
		}
	}
	if !slices.Equal(v.Type.Shape, g.Shape) {
		return false
	}
	for _, a := range v.Args {
		if j, ok := u.group[a]; ok && j == i && !slices.Equal(a.Type.Shape, g.Shape) {
			return false
		}
	}
	return true
}

// Rounds reports whether v is its argument rounded to BF16.
func Rounds(v *ir.Value) bool {
	if v.Op != ir.Map || len(v.Args) != 1 {
		return false
	}
	round := expr.New(expr.ToBF16, ir.X(0, expr.F32))
	return expr.Equal(v.Attr.Expr, round) && slices.Equal(v.Type.Shape, v.Args[0].Type.Shape)
}

// finish lists the inputs and outputs of group i.
func (u *fuser) finish(i int, g *Group) {
	for _, v := range slices.Concat(g.Anchors, g.Members) {
		for _, a := range v.Args {
			if j, ok := u.group[a]; (!ok || j != i) && !slices.Contains(g.Inputs, a) {
				g.Inputs = append(g.Inputs, a)
			}
		}
		for _, w := range u.users[v] {
			if w == nil || u.group[w] != i {
				g.Outputs = append(g.Outputs, v)
				break
			}
		}
	}
}
