package export

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/model"
	"github.com/arithlang/mlc/compiler/opt"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/runtime/config"
)

// logits is the result of the head: F32 [B, T, vocabulary].
const logits = "logits"

// A program is the forward pass as statements on variables: encode, what hangs on the
// source alone, and decode, the rest, which ends with the logits.
type program struct {
	funcs          []*ir.Func // each once, in order of their first call
	encode, decode []*step
	memory         string // the variable that encode leaves; "" where there is no source
	out            string // the variable of the logits
	lengths        bool   // masks or biases hang on how many rows a launch has
	random         bool   // it starts from noise
}

// A step is calls, once or for each layer of a loop.
type step struct {
	n     int  // layers; 0: no loop
	times bool // n layers for each run of the model's loop
	calls []*call
}

// A call is one of a function: variables by argument, in order of its inputs, and the
// variable of its result.
type call struct {
	fn     *ir.Func
	groups []*plan.Group // of its parameters, besides those that all share
	args   []string
	result string
}

// forward builds the model of a spec without gradients, losses and roundings to bf16.
func forward(spec *check.Spec) (*plan.Plan, error) {
	s := *spec
	s.Train.Precision, s.Train.Report.Full, s.Capture = "f32", false, nil
	s.Eval.During = config.During{}
	return model.Build(&s)
}

// newProgram makes statements of the calls of the program forward.
func newProgram(built *plan.Plan) (*program, error) {
	i := slices.IndexFunc(built.Programs, func(p *plan.Program) bool { return p.Name == "forward" })
	from := built.Programs[i]
	if err := sequential(from); err != nil {
		return nil, err
	}
	p := &program{}
	of := map[string]bool{model.TargetTokens: true} // variables that hang on the target
	for _, s := range from.Body {
		st := &step{}
		var calls []*plan.Call
		switch s := s.(type) {
		case *plan.Call:
			calls = []*plan.Call{s}
		case *plan.Loop:
			st.n, st.times, calls = s.N, s.Runs == plan.Times, s.Body
		}
		late := false
		for _, c := range calls {
			made, err := p.call(built, c)
			if err != nil {
				return nil, err
			}
			st.calls = append(st.calls, made)
			late = late || slices.ContainsFunc(made.args, func(v string) bool { return of[v] }) || len(made.args) == 0
			of[made.result], p.out = late, made.result
		}
		if late {
			p.decode = append(p.decode, st)
		} else {
			p.encode = append(p.encode, st)
			p.memory = p.out
		}
	}
	return p, nil
}

// handed is what the decoder reads of the encoder besides its memory, "" if there is nothing.
func (p *program) handed() string {
	for _, d := range p.decode {
		for _, c := range d.calls {
			for _, e := range p.encode {
				for _, of := range e.calls {
					if of.result != p.memory && slices.Contains(c.args, of.result) {
						return of.result
					}
				}
			}
		}
	}
	return ""
}

// call makes a call of the plan one on variables.
func (p *program) call(built *plan.Plan, c *plan.Call) (*call, error) {
	f, err := settled(c.Func)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(p.funcs, func(g *ir.Func) bool { return g.Name == f.Name }); i < 0 {
		p.funcs = append(p.funcs, f)
	} else {
		f = p.funcs[i]
	}
	out := &call{fn: f}
	for _, name := range []string{c.Group, plan.Common(c.Group)} {
		if g := built.Group(name); g != nil {
			out.groups = append(out.groups, g)
		}
	}
	for i, param := range f.Params {
		if f.Roles[i] == ir.Input {
			out.args = append(out.args, c.Args[param.Attr.Name].Buffer)
		}
	}
	result := f.Results[0].Name
	if out.result = c.Results[result].Buffer; result == logits {
		out.result = logits
	}
	for _, v := range f.Values {
		p.random = p.random || v.Op == ir.Noise
		p.lengths = p.lengths || readsLength(v)
	}
	return out, nil
}

// readsLength reports whether a mask or bias hangs on how many target rows there are.
func readsLength(v *ir.Value) bool {
	if v.Op != ir.Attention && v.Op != ir.BiasTable {
		return false
	}
	s := siteOf(v)
	return slices.ContainsFunc([]*expr.Expr{s.mask, s.bias}, func(e *expr.Expr) bool { return e != nil && expr.Depends(e, "T") })
}

// settled is a function of all rows at once, with one result: the head's are its logits.
func settled(f *ir.Func) (*ir.Func, error) {
	whole := map[string]*expr.Expr{"P": expr.Int(0), "C": ir.Sym("T").Expr()}
	out, err := ir.Rewrite(f, func(b *ir.Builder, v *ir.Value, args []*ir.Value) *ir.Value {
		if v.Op == ir.Map {
			v = &ir.Value{Op: v.Op, Attr: v.Attr, Pos: v.Pos}
			v.Attr.Expr = expr.Subst(v.Attr.Expr, whole)
		}
		return b.Clone(v, args...)
	})
	if err != nil {
		return nil, err
	}
	if r := &out.Results[0]; r.Value.Op == ir.ArgMax {
		r.Name, r.Value = logits, r.Value.Args[0]
	}
	out = opt.DCE(opt.CSE(opt.Simplify(out)))
	if len(out.Results) != 1 {
		return nil, fmt.Errorf("BUG: %s has %d results", f.Name, len(out.Results))
	}
	return out, nil
}

// sequential makes sure that a buffer needs to be but one variable: whatever is read of
// it is what was written last, whether a loop runs once or more often.
func sequential(p *plan.Program) error {
	for runs := 1; runs <= 3; runs++ {
		last := map[string]int{}
		do := func(c *plan.Call, l int) error {
			for _, ref := range c.Args {
				times := once(ref.Runs, runs)
				if at, written := last[ref.Buffer]; written && at != ref.Index(l, times) {
					return fmt.Errorf("BUG: %s reads tensor %d of %s after tensor %d was written", c, ref.Index(l, times), ref.Buffer, at)
				}
			}
			for _, ref := range c.Results {
				last[ref.Buffer] = ref.Index(l, once(ref.Runs, runs))
			}
			return nil
		}
		for _, s := range p.Body {
			calls, n := p.Calls()[:0:0], 1
			switch s := s.(type) {
			case *plan.Call:
				calls = append(calls, s)
			case *plan.Loop:
				calls, n = s.Body, s.N*once(s.Runs, runs)
			}
			for l := range n {
				for _, c := range calls {
					if err := do(c, l); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// once is how often a stack runs that a launch has so many runs of.
func once(r plan.Runs, runs int) int {
	if r == plan.Once {
		return 1
	}
	return runs
}

// walk computes the values of a function in order: what param makes of its parameters,
// and what emit makes of each other value. It gives what becomes of the result.
func walk[T any](f *ir.Func, param func(p *ir.Value, role ir.Role) T, emit func(v *ir.Value, args []T) (T, error)) (T, error) {
	made := map[*ir.Value]T{}
	for i, p := range f.Params {
		made[p] = param(p, f.Roles[i])
	}
	for _, v := range f.Values[len(f.Params):] {
		args := make([]T, len(v.Args))
		for i, a := range v.Args {
			args[i] = made[a]
		}
		out, err := emit(v, args)
		if err != nil {
			return out, fmt.Errorf("%s: %w", f.Name, err)
		}
		made[v] = out
	}
	return made[f.Results[0].Value], nil
}

// A site is what an attention's mask and bias are, as expressions of Maps over the
// cells d0 … d3: example, head, query and key. Parameter n of the bias is x{n}.
type site struct {
	mask, bias *expr.Expr // nil: open everywhere; 0
	params     []*ir.Value
	shape      []ir.Dim // [B, H, T, J]
	flat       bool     // what is made has no axis of rows: it is [H, J]
}

// siteOf is that of an attention, or of a bias table.
func siteOf(v *ir.Value) site {
	a := v.Attr.Attn
	s := site{params: v.Args}
	rows, keys := ir.Dim{}, ir.Dim{}
	if v.Op == ir.BiasTable {
		rows, keys = ir.TableRows(v.Type), v.Type.Shape[v.Type.Rank()-1]
	} else {
		rows, keys = v.Args[0].Type.Shape[1], v.Args[1].Type.Shape[1]
		_, _, s.params = v.SiteArgs()
	}
	s.shape, s.flat = []ir.Dim{ir.Sym("B"), ir.N(a.Heads), rows, keys}, v.Op == ir.BiasTable && v.Type.Rank() == 2
	s.mask, s.bias = s.over(a, a.Mask), s.over(a, a.Guarded())
	return s
}

// axes are how many axes the index along an axis of the shape has, the last of which have
// the extent 1.
func (s *site) axes(axis int) int {
	if s.flat && axis == 1 {
		return 2
	}
	return 4 - axis
}

// over makes an expression of cells one of a Map.
func (s *site) over(a *ir.AttnAttr, e *expr.Expr) *expr.Expr {
	if e == nil {
		return nil
	}
	e = expr.Subst(e, map[string]*expr.Expr{"h": ir.D(1), "i": ir.D(2), "j": ir.D(3),
		"H": expr.Int(int64(a.Heads)), "I": s.shape[2].Expr(), "J": s.shape[3].Expr()})
	return expr.Simplify(expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
		if n := slices.Index(a.Params, e.Name); e.Op == expr.Elem && n >= 0 {
			at := e.Args
			if s.params[n].Type.Rank() > len(at) { // of each example
				at = slices.Concat([]*expr.Expr{ir.D(0)}, at)
			}
			return expr.NewElem(ir.X(n, e.Type).Name, e.Type, at...)
		}
		return e
	}))
}
