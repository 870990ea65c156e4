package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/grad"
	"github.com/arithlang/mlc/compiler/ir"
)

// Differentiate turns a forward program into one that also leaves the gradient of every
// parameter. It replaces each call by its saving form, and appends the backward functions
// of the calls in reverse order. seeds maps a buffer of the forward program, such as a
// loss, to the function that makes its gradient. The function takes buffers of the program by
// their names.
//
// The gradient of buffer x is the buffer d.x. It is cleared first and added to if several
// calls read x, or if x is Kept, because then several launches read it. In a chain of
// tensors, each computed from the one before, a gradient is needed only until the next
// one is computed. There d.x is a pair that alternates.
//
// Loops that run NoGrad have no gradient. A call before such a loop has a gradient
// through it only if the loop does not run at all (Call.Unless). An error means that a
// gradient flows through an op that has none.
func Differentiate(name, doc string, p *Program, seeds map[string]*ir.Func) (*Program, error) {
	d := &differ{out: &Program{Name: name, Doc: doc, Memory: name}, src: p, uses: usesOf(p)}
	for _, b := range p.Buffers {
		c := *b
		d.out.Buffers = append(d.out.Buffers, &c)
	}
	backward := make([]Stmt, 0, len(p.Body))
	for _, s := range p.Body {
		fwd, bwd, err := d.stmt(s)
		if err != nil {
			return nil, err
		}
		d.out.Body = append(d.out.Body, fwd)
		if bwd != nil {
			backward = append(backward, bwd)
		}
	}
	for _, b := range p.Buffers {
		if f, ok := seeds[b.Name]; ok {
			d.gradient(At(b.Name, 0))
			args := map[string]Ref{}
			for _, p := range f.Params {
				args[p.Attr.Name] = At(p.Attr.Name, 0)
			}
			d.out.Body = append(d.out.Body, &Call{Func: f, Args: args, Results: map[string]Ref{f.Results[0].Name: At("d."+b.Name, 0)}})
		}
	}
	for i := len(backward) - 1; i >= 0; i-- {
		d.out.Body = append(d.out.Body, backward[i])
	}
	d.clearUnwritten()
	return d.out, nil
}

type differ struct {
	src, out *Program
	uses     uses
}

func (d *differ) stmt(s Stmt) (fwd, bwd Stmt, err error) {
	switch s := s.(type) {
	case *Call:
		f, b, err := d.call(s, 0)
		if b == nil {
			return f, nil, err
		}
		return f, b, err
	case *Loop:
		if s.Runs == NoGrad {
			return s, nil, nil
		}
		lf := &Loop{N: s.N, Runs: s.Runs, Most: s.Most, Down: s.Down}
		lb := &Loop{N: s.N, Runs: s.Runs, Most: s.Most, Down: !s.Down}
		for _, c := range s.Body {
			f, b, err := d.call(c, s.N*max(s.Most, 1))
			if err != nil {
				return nil, nil, err
			}
			lf.Body = append(lf.Body, f)
			if b != nil {
				lb.Body = append([]*Call{b}, lb.Body...)
			}
		}
		if len(lb.Body) == 0 {
			return lf, nil, nil
		}
		return lf, lb, nil
	}
	panic(fmt.Sprintf("BUG: statement %T", s))
}

// call returns the saving and the backward form of c, which runs in a loop of at most n
// iterations, or once if n is 0.
func (d *differ) call(c *Call, n int) (fwd, bwd *Call, err error) {
	f, b, err := grad.Backward(c.Func)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", c.Func.Name, err)
	}
	fwd = &Call{Func: f, Group: c.Group, Args: c.Args, Results: map[string]Ref{}}
	for k, v := range c.Results {
		fwd.Results[k] = v
	}
	bwd = &Call{Func: b, Group: c.Group, Args: map[string]Ref{}, Results: map[string]Ref{}}
	if beforeNoGrad(c) {
		bwd.Unless = NoGrad
	}
	for i, p := range b.Params {
		name := p.Attr.Name
		switch b.Roles[i] {
		case ir.Saved:
			ref, known := alreadyStored(f, c.Results, name)
			if !known {
				ref = d.saved(d.savedName(f, name), p.Type, n)
				fwd.Results[name] = ref
			}
			bwd.Args[name] = ref
		case ir.Input:
			bwd.Args[name] = c.Args[name]
		case ir.Grad:
			bwd.Args[name] = d.gradient(c.Results[strings.TrimPrefix(name, "d.")])
		}
	}
	live := false
	for i := range b.Results {
		r := &b.Results[i]
		arg, ok := c.Args[strings.TrimPrefix(r.Name, "d.")]
		if !ok {
			live = true
			continue
		}
		if d.src.Buffer(arg.Buffer) == nil {
			return nil, nil, fmt.Errorf("%s: no buffer %s", c.Func.Name, arg.Buffer)
		}
		live = true
		bwd.Results[r.Name] = d.gradient(arg)
		r.Accumulate = d.uses.shared[arg.Buffer] || d.src.Buffer(arg.Buffer).Kept
		if r.Accumulate {
			d.out.Buffer("d." + arg.Buffer).Zero = true
		}
	}
	if !live {
		return fwd, nil, nil
	}
	return fwd, bwd, nil
}

// alreadyStored finds the buffer in which the call stores the saved value as an ordinary
// result. If there is one, it removes the saved result from f.
func alreadyStored(f *ir.Func, results map[string]Ref, name string) (Ref, bool) {
	i := slices.IndexFunc(f.Results, func(r ir.Result) bool { return r.Name == name })
	for _, r := range f.Results {
		if ref, ok := results[r.Name]; ok && r.Value == f.Results[i].Value {
			f.Results = slices.Delete(f.Results, i, i+1)
			return ref, true
		}
	}
	return Ref{}, false
}

// savedName returns the label of the value that f saves as result. If the label is
// missing or taken, it is the function's name and the value's number.
func (d *differ) savedName(f *ir.Func, result string) string {
	i := slices.IndexFunc(f.Results, func(r ir.Result) bool { return r.Name == result })
	if name := f.Results[i].Value.Attr.Name; name != "" && d.out.Buffer(name) == nil {
		return name
	}
	return f.Name + "." + strings.TrimPrefix(result, "save.")
}

// saved adds the buffer for a value that one call keeps for its backward form.
func (d *differ) saved(name string, t ir.Type, n int) Ref {
	d.out.Buffers = append(d.out.Buffers, &Buffer{Name: name, Type: t, Count: max(n, 1)})
	if n > 0 {
		return AtLayer(name, 0)
	}
	return At(name, 0)
}

// gradient returns the gradient of a tensor, and adds its buffer on first use. If the
// tensor's index depends on NoGrad runs, the gradient belongs to a launch without any.
func (d *differ) gradient(r Ref) Ref {
	b := d.src.Buffer(r.Buffer)
	chain := d.uses.chain[r.Buffer]
	if r.Runs == NoGrad {
		r.N, r.Runs, r.Mod = 0, Once, 0
	}
	if r.Buffer = "d." + r.Buffer; chain {
		r = r.Turn()
	}
	if d.out.Buffer(r.Buffer) == nil {
		g := &Buffer{Name: r.Buffer, Type: ir.T(b.Type.Shape...), Count: b.Count, Kept: b.Kept}
		if chain {
			g.Count = 2
		}
		d.out.Buffers = append(d.out.Buffers, g)
	}
	return r
}

// clearUnwritten clears gradients that no call writes, because no call with a gradient
// reads the tensor.
func (d *differ) clearUnwritten() {
	written := map[string]bool{}
	for _, c := range d.out.Calls() {
		for _, r := range c.Results {
			written[r.Buffer] = true
		}
	}
	for _, b := range d.out.Buffers {
		if strings.HasPrefix(b.Name, "d.") && !written[b.Name] {
			b.Zero = true
		}
	}
}
