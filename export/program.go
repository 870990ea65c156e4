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

// logits names the result of the head: F32 [B, T, vocabulary].
const logits = "logits"

// A program is the forward pass as statements on variables. encode depends only on the
// source. decode is the rest and ends with the logits.
type program struct {
	funcs          []*ir.Func // without duplicates, in order of their first call
	encode, decode []*step
	memory         string // the variable that encode returns; "" without a source
	out            string // the variable of the logits
	lengths        bool   // masks or biases depend on the number of rows of a launch
	random         bool   // it begins with noise
}

// A step is a list of calls, made once or for each layer of a loop.
type step struct {
	n     int  // layers; 0: no loop
	times bool // n layers for each run of the model's loop
	calls []*call
}

// A call calls a function. args are variables in the order of the function's inputs, and
// result is the variable of its result.
type call struct {
	fn     *ir.Func
	groups []*plan.Group // of its parameters, besides the shared ones
	args   []string
	result string
}

// forward builds the model of a spec without gradients, losses and rounding to BF16.
func forward(spec *check.Spec) (*plan.Plan, error) {
	s := *spec
	s.Train.Precision, s.Train.Report.Full, s.Capture = "f32", false, nil
	s.Eval.During = config.During{}
	return model.Build(&s)
}

// newProgram turns the calls of the program forward into statements.
func newProgram(built *plan.Plan) (*program, error) {
	i := slices.IndexFunc(built.Programs, func(p *plan.Program) bool { return p.Name == "forward" })
	from := built.Programs[i]
	if err := sequential(from); err != nil {
		return nil, err
	}
	p := &program{}
	of := map[string]bool{model.TargetTokens: true} // variables that depend on the target
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

// handed returns a variable of the encoder, besides its memory, that the decoder reads, or
// "".
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

// call turns a call of the plan into a call on variables.
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

// readsLength reports whether a mask or bias depends on the number of target rows.
func readsLength(v *ir.Value) bool {
	if v.Op != ir.Attention && v.Op != ir.BiasTable {
		return false
	}
	s := siteOf(v)
	return slices.ContainsFunc([]*expr.Expr{s.mask, s.bias}, func(e *expr.Expr) bool { return e != nil && expr.Depends(e, "T") })
}

// settled returns a function of all rows at once, with one result. The head's result is its
// logits.
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

// sequential checks that one variable is enough for a buffer: each read is of the tensor
// written last, for one run of the loop and for several.
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

// once returns the number of runs of a stack, in a launch with the given runs of the loop.
func once(r plan.Runs, runs int) int {
	if r == plan.Once {
		return 1
	}
	return runs
}

// walk computes the values of a function in order: param computes its parameters, emit all
// other values. It returns the result.
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

// A site is an attention's mask and bias as expressions of a Map over the cells d0 … d3:
// example, head, query and key. Parameter n of the bias is x{n}.
type site struct {
	mask, bias *expr.Expr // mask nil: open everywhere; bias nil: 0
	params     []*ir.Value
	shape      []ir.Dim // [B, H, T, J]
	flat       bool     // the result is [H, J], without an axis of rows
}

// siteOf returns the site of an attention or of a bias table.
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

// axes returns how many axes an index along the given axis needs. Its later axes have
// extent 1.
func (s *site) axes(axis int) int {
	if s.flat && axis == 1 {
		return 2
	}
	return 4 - axis
}

// over turns an expression of cells into an expression of a Map.
func (s *site) over(a *ir.AttnAttr, e *expr.Expr) *expr.Expr {
	if e == nil {
		return nil
	}
	e = expr.Subst(e, map[string]*expr.Expr{"h": ir.D(1), "i": ir.D(2), "j": ir.D(3),
		"H": expr.Int(int64(a.Heads)), "I": s.shape[2].Expr(), "J": s.shape[3].Expr()})
	return expr.Simplify(expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
		if n := slices.Index(a.Params, e.Name); e.Op == expr.Elem && n >= 0 {
			at := e.Args
			if s.params[n].Type.Rank() > len(at) { // one for each example
				at = slices.Concat([]*expr.Expr{ir.D(0)}, at)
			}
			return expr.NewElem(ir.X(n, e.Type).Name, e.Type, at...)
		}
		return e
	}))
}
