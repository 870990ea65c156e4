package lower

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/runtime/config"
)

// training is the program that computes gradients.
const training = "gradients"

// separateUses gives the gradient of every use of a parameter, except the first, its own place.
// A kernel adds the rows of its launch, in ascending order, to the sum that earlier launches
// left. If no other use adds to the same place, a use's sum is one chain over the rows of a
// chunk. The chain does not depend on how launches cut the chunk. The uses are added at the end
// of the chunk.
//
// Nothing is separated if a gradient is no such chain, or if padding can change a result. Then
// the sums depend on the launches.
func (p *Program) separateUses() {
	e := p.Entry(training)
	if e == nil || unchained(e) != "" || !readsSource(e) && seesFillers(e.funcs()) {
		return
	}
	p.AnyLaunch = true
	type param struct{ group, name string }
	used := map[param]bool{}
	for _, s := range e.Steps {
		for _, v := range gradientsOf(s) {
			a := s.Routine.Args[v]
			first := !used[param{a.Group.Name, a.Param}]
			used[param{a.Group.Name, a.Param}] = true
			switch n := s.N * max(s.Most, 1) / a.Group.Layers; {
			case n > 1:
				p.repeat(a.Group, n)
			case !first:
				p.again(s, v)
			}
		}
	}
}

// seesFillers reports whether padding, and so the other problems of a launch, can change a
// result. This concerns models of one text whose problems have several lengths. fillersSeen
// lists the cases.
func seesFillers(funcs []*ir.Func) bool {
	return anyAttention(funcs, func(v *ir.Value) bool { return fillersSeen(v) != "" })
}

// anyLength reports whether rows after a problem's last row cannot change the entry's results
// for the problem.
func anyLength(e *Entry) bool {
	return !readsSource(e) && !anyAttention(e.funcs(), func(v *ir.Value) bool { return !causal(v) || readsLength(v) })
}

func readsSource(e *Entry) bool { return e.Memory.Buffer("source_tokens") != nil }

// funcs returns the functions that an entry runs.
func (e *Entry) funcs() []*ir.Func {
	var all []*ir.Func
	for _, s := range e.Steps {
		all = append(all, s.Routine.Func)
	}
	return all
}

// funcsOf returns the functions that a program runs.
func funcsOf(p *plan.Program) []*ir.Func {
	var all []*ir.Func
	for _, c := range p.Calls() {
		all = append(all, c.Func)
	}
	return all
}

// anyValue reports whether a value of the functions satisfies such.
func anyValue(funcs []*ir.Func, such func(*ir.Value) bool) bool {
	return slices.ContainsFunc(funcs, func(f *ir.Func) bool { return slices.ContainsFunc(f.Values, such) })
}

// anyAttention reports whether an attention of the functions satisfies such.
func anyAttention(funcs []*ir.Func, such func(*ir.Value) bool) bool {
	return anyValue(funcs, func(v *ir.Value) bool { return v.Op == ir.Attention && such(v) })
}

// readsLength reports whether the mask or the bias of an attention depends on the text's
// length.
func readsLength(v *ir.Value) bool {
	_, table, _ := v.SiteArgs()
	return v.Attr.Attn.ReadsLength() || table != nil && table.Op == ir.BiasTable && table.Attr.Attn.ReadsLength()
}

// causal reports whether every query of an attention sees only keys up to its own position.
func causal(v *ir.Value) bool {
	next := add(ivar("i"), expr.Int(1))
	return slices.ContainsFunc(ir.WindowOf(v.Attr.Attn.Mask).Highs, func(high *expr.Expr) bool {
		behind := sub(high, next)
		return behind.IsConst() && behind.I <= 0
	})
}

// gradientsOf returns the results of a step that are gradients of parameters.
func gradientsOf(s Step) []*ir.Value {
	var all []*ir.Value
	for _, r := range s.Routine.Func.Results {
		if s.Routine.Args[r.Value].Space == InGrads {
			all = append(all, r.Value)
		}
	}
	return all
}

// unchained says why launches cannot continue the gradients of parameters as chains over rows,
// or why several steps compute the gradients of a stack. It returns "" if neither is so.
func unchained(e *Entry) string {
	of := map[string]int{} // the step that uses a stack
	for i, s := range e.Steps {
		inRun := map[string]bool{}
		for _, v := range gradientsOf(s) {
			a := s.Routine.Args[v]
			g := a.Group
			if !chain(v) {
				return fmt.Sprintf("the gradient of %s.%s is no sum over the rows of a launch", g.Name, a.Param)
			}
			if runs := s.N * max(s.Most, 1); runs > 1 && !g.Stack || runs > g.Layers && inRun[a.Param] {
				return fmt.Sprintf("%s.%s is used several times in a run of a loop", g.Name, a.Param)
			}
			inRun[a.Param] = true
			if first, known := of[g.Name]; g.Stack && known && first != i {
				return fmt.Sprintf("the layers of %s are used at several places", g.Name)
			}
			of[g.Name] = i
		}
	}
	return ""
}

// chain reports whether a gradient is a sum over rows of the batch, added one row at a time.
func chain(v *ir.Value) bool {
	switch v.Op {
	case ir.Outer, ir.HeadOuter, ir.Scatter, ir.Sum:
		rows := v.Args[0].Type.Shape
		return len(v.Type.Shape) > 0 && len(rows) > 0 && rows[0].Sym == "B"
	}
	return false
}

// repeat makes places for the uses of a group's layers after the first use.
func (p *Program) repeat(g *plan.Group, uses int) {
	if g.Uses > 0 {
		return
	}
	c := (*config.Group)(g)
	g.Uses, g.Again = uses, p.place(g.Off, (uses-1)*c.UseStride())
	for use := range uses - 1 {
		p.Folds = append(p.Folds, config.Fold{To: g.Off, From: g.Again + use*c.UseStride(), N: g.Layers * g.Stride})
	}
}

// again gives the gradient v of a step its own place, or one place per layer in a loop.
func (p *Program) again(s Step, v *ir.Value) {
	r := s.Routine
	a := r.Args[v]
	g := a.Group
	i := slices.IndexFunc(g.Params, func(q plan.Param) bool { return q.Name == a.Param })
	n := g.Params[i].Elems()
	own := Arg{Space: InUses, Param: a.Param, Off: p.place(0, n)}
	p.Folds = append(p.Folds, config.Fold{To: g.Off + a.Off, From: own.Off, N: n})
	if g.Stack && s.N > 0 {
		own.Stride = roundUp(n, line)
		for l := 1; l < g.Layers; l++ {
			p.Folds = append(p.Folds, config.Fold{To: g.Off + l*g.Stride + a.Off, From: p.place(0, n), N: n})
		}
	}
	r.Args[v] = own
	for _, l := range r.Launches {
		for i := range l.Args {
			if l.Args[i] == a {
				l.Args[i] = own
			}
		}
	}
}

// place reserves n elements of the space Uses, with the alignment to a cache line that element
// like of the arena has.
func (p *Program) place(like, n int) int {
	at := roundUp(p.NumUses, line) + like%line
	p.NumUses = at + n
	return at
}

// line is the number of elements in a cache line.
const line = 16

func roundUp(n, to int) int { return ceil(n, to) * to }

// WhyMicroBatches says why launches of training have a micro-batch on a GPU too. It returns ""
// if they may have any number of examples.
func (p *Program) WhyMicroBatches() string {
	e := p.Entry(training)
	if e == nil || p.AnyLaunch {
		return ""
	}
	var why string
	if !readsSource(e) && seesFillers(e.funcs()) {
		anyAttention(e.funcs(), func(v *ir.Value) bool {
			why = fillersSeen(v)
			return why != ""
		})
		return why
	}
	return unchained(e)
}

// fillersSeen says why padding of the shorter texts of a launch can change a result of an
// attention. It returns "" if it cannot.
func fillersSeen(attention *ir.Value) string {
	switch attn := attention.Attr.Attn; {
	case readsLength(attention):
		return "a mask or bias reads the length of texts"
	case !causal(attention):
		return "queries see keys behind themselves"
	case attention.Attr.Rate > 0 && attn.Words == nil:
		return "random words of an attention are counted by the rows of a launch"
	}
	return ""
}
