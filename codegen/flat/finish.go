package flat

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// finish computes a product in the output buffer and applies an elementwise epilogue in place.
func finish(k *kernel.Kernel) *kernel.Kernel {
	f := &finisher{&writer{k, k.TileShapes()}, map[string]bool{}, map[string]bool{}}
	for _, p := range k.Params {
		f.results[p.Name] = p.Mode == kernel.Out && p.Type == expr.F32
	}
	out := withBody(k, f.body(k.Body))
	out.Params = slices.Clone(k.Params)
	for i, p := range k.Params {
		if f.finished[p.Name] {
			out.Params[i].Mode = kernel.InOut // the epilogue reads the product
		}
	}
	return out
}

type finisher struct {
	*writer
	results  map[string]bool // buffers of F32 that the kernel does not read
	finished map[string]bool // buffers in which products compute
}

func (f *finisher) body(body []kernel.Stmt) []kernel.Stmt {
	body = slices.Clone(body)
	for i, s := range body {
		body[i] = within(s, f.body)
		d, ok := s.(*kernel.Dot)
		if !ok || len(d.Axes) < 3 || !d.Zero || !whole(d, f.shapes[d.Dst.Name]) || f.users(d.Dst.Name) != 2 {
			continue
		}
		after := slices.IndexFunc(body[i+1:], func(s kernel.Stmt) bool { return kernel.Uses(s, d.Dst.Name) })
		if after < 0 {
			continue
		}
		if to, steps := f.steps(body[i+1+after], d); to != nil {
			through := *d
			through.Dst = to
			f.finished[to.Name] = true
			body[i], body[i+1+after] = &through, steps
		}
	}
	return body
}

// steps rewrites a statement, or a statement in a loop over rows, to read the product's output
// in the buffer that it sets. to is that element over the product's axes, nil if impossible.
func (f *finisher) steps(s kernel.Stmt, d *kernel.Dot) (to *expr.Expr, steps kernel.Stmt) {
	loop, ok := s.(*kernel.For)
	if !ok {
		set, _ := s.(*kernel.Set)
		return f.inBuffer(set, set, d)
	}
	if !expr.IsInt(loop.Lo, 0) {
		return nil, nil
	}
	i := slices.IndexFunc(loop.Body, func(s kernel.Stmt) bool { return kernel.Is[*kernel.Set](s) && kernel.Uses(s, d.Dst.Name) })
	if i < 0 {
		return nil, nil
	}
	to, set := f.inBuffer(loop.Body[i].(*kernel.Set), overRowsOf(loop, i), d)
	if to == nil {
		return nil, nil
	}
	body := slices.Clone(loop.Body)
	body[i] = set
	return to, kernel.WithBody(loop, body)
}

// inBuffer rewrites s to read the product's output in the buffer that it sets. all is s over
// all axes.
func (f *finisher) inBuffer(s, all *kernel.Set, d *kernel.Dot) (to *expr.Expr, in kernel.Stmt) {
	if s == nil || !f.results[s.Dst.Name] || f.users(s.Dst.Name) != 1 {
		return nil, nil
	}
	for _, x := range expr.Elems(s.Value) {
		if x.Name != d.Dst.Name {
			continue
		}
		if to = corresponding(all, x, all.Dst, d); to == nil {
			return nil, nil
		}
	}
	if to == nil {
		return nil, nil
	}
	value := expr.Rewrite(s.Value, func(e *expr.Expr) *expr.Expr {
		if e.Op == expr.Elem && e.Name == d.Dst.Name {
			return s.Dst
		}
		return e
	})
	return to, &kernel.Set{Axes: s.Axes, Dst: s.Dst, Value: value}
}
