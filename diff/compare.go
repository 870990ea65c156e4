package diff

import (
	"fmt"
	"math"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/remote"
	"github.com/arithlang/mlc/compiler/lower"
)

// Tolerance is how far an element may be from its value in float64, in units of
// the largest element of its buffer, or of 1 where that is smaller: inputs are of
// order 1, and what cancels among them leaves their rounding behind.
const Tolerance = 2e-5

// roundedTolerance is the same for a kernel that rounds to BF16. A number that is close to
// the middle of two goes to one or the other, 2^-7 of it apart at the most.
const roundedTolerance = 0x1p-7

// leeway is how much farther an element may be, in units of what one rounding of
// each input does to it. Of close numbers a norm makes distant ones.
const leeway = 8

// A Result is how far a kernel is from what it stands for, in one launch.
type Result struct {
	Shape     Shape
	Abs       float64 // largest distance from float64, in the buffer where it counts most
	Rel       float64 // the same in units of the largest element of that buffer
	Tolerance float64 // what Abs may be there
	Buffer    string
	Index     []int
	Got, Want float64
	Inexact   int // elements with other bits than the kernel interpreter's
	Elements  int // of all buffers that are written
}

// Out reports whether an element is farther off than it may be. NaN is.
func (r *Result) Out() bool { return !(r.Abs <= r.Tolerance) }

// Launch gives the scalars of a launch and random inputs for it, the same each time.
func (c *Case) Launch(s Shape) (kernel.Scalars, []kernel.Buffer, error) {
	scalars, shapes, err := c.extents(s)
	if err != nil {
		return nil, nil, err
	}
	return scalars, c.draw(scalars, shapes), nil
}

// extents are the scalars of a launch, and the shapes of its buffers.
func (c *Case) extents(s Shape) (kernel.Scalars, [][]int, error) {
	scalars := c.scalars(s)
	shapes, err := kernel.Extents(c.Kernel, scalars)
	if err != nil {
		return nil, nil, err
	}
	return scalars, shapes, c.fits(scalars, shapes)
}

// Compare runs the kernel on random inputs in a back end; none is the kernel
// interpreter itself.
func (c *Case) Compare(s Shape, run remote.Runner) (*Result, error) {
	scalars, shapes, err := c.extents(s)
	if err != nil {
		return nil, err
	}
	start := c.draw(scalars, shapes)
	want, err := c.eval(scalars, start)
	if err != nil {
		return nil, fmt.Errorf("%s: tensor interpreter: %w", c.Kernel.Name, err)
	}
	exact := clone(start)
	if err := kernel.RunSums(c.Kernel, scalars, exact, c.Sums); err != nil {
		return nil, fmt.Errorf("kernel interpreter: %w", err)
	}
	got := exact
	if run != nil {
		got = clone(start)
		if err := run(c.Kernel.Name, scalars, got); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Kernel.Name, err)
		}
	}
	near, unit := want, c.tolerance()
	r := &Result{Shape: s, Tolerance: unit}
	judge := func() {
		for i := range c.results {
			b := c.results[i].buffer
			r.note(c.Kernel.Params[b].Name, shapes[b], floats(got[b]), c.wanted(i, want[i], start[b]), c.wanted(i, near[i], start[b]), unit)
		}
	}
	if judge(); r.Out() {
		if near, err = c.eval(scalars, nudged(start)); err != nil {
			return nil, fmt.Errorf("%s: tensor interpreter: %w", c.Kernel.Name, err)
		}
		r = &Result{Shape: s, Tolerance: unit}
		judge()
	}
	for i := range exact {
		if c.Kernel.Params[i].Mode != kernel.In {
			r.Elements += size(shapes[i])
		}
		r.Inexact += inexact(got[i], exact[i])
	}
	return r, nil
}

// tolerance is that of the kernel.
func (c *Case) tolerance() float64 {
	for s := range kernel.All(c.Kernel.Body) {
		for _, e := range kernel.Reads(s) {
			rounds := false
			expr.Walk(e, func(x *expr.Expr) { rounds = rounds || x.Op == expr.ToBF16 })
			if rounds {
				return roundedTolerance
			}
		}
	}
	return Tolerance
}

// maxElements is the most that the buffers of a kernel may have together: each element
// takes some tens of bytes, on every core.
const maxElements = 1 << 26

// fits wants a kernel whose buffers, and the inputs of its function, can be had.
func (c *Case) fits(s kernel.Scalars, shapes [][]int) error {
	all := 0.0 // the product of absurd extents may be beyond integers
	add := func(shape []int) {
		n := 1.0
		for _, d := range shape {
			n *= float64(d)
		}
		all += n
	}
	for _, shape := range shapes {
		add(shape)
	}
	e := env(s)
	for i, p := range c.fn.Params {
		if c.params[i] >= 0 {
			continue
		}
		var shape []int
		for _, d := range p.Type.Shape {
			n, err := d.Size(e.Dims)
			if err != nil {
				return err
			}
			shape = append(shape, n)
		}
		add(shape)
	}
	if all > maxElements {
		return fmt.Errorf("its buffers have %.3g elements, and %d are compared at the most: make the model smaller, as with --set model.width=64", all, maxElements)
	}
	return nil
}

// eval computes the function in float64. An input that the kernel does not read is
// zero: what it computes cannot depend on it.
func (c *Case) eval(s kernel.Scalars, bufs []kernel.Buffer) ([]ir.Tensor, error) {
	e := env(s)
	args := make([]ir.Tensor, len(c.params))
	for i, p := range c.fn.Params {
		for _, d := range p.Type.Shape {
			n, err := d.Size(e.Dims)
			if err != nil {
				return nil, err
			}
			args[i].Shape = append(args[i].Shape, n)
		}
		if c.params[i] < 0 {
			args[i].F = make([]float64, size(args[i].Shape))
			continue
		}
		if p.Type.Real() {
			args[i].F = floats(bufs[c.params[i]])
		}
		for _, x := range bufs[c.params[i]].I {
			args[i].I = append(args[i].I, int64(x))
		}
		if lengths := c.lengths(s); lengths != nil && lower.Rows(p.Type.Shape) {
			args[i].F, args[i].I = padded(args[i].F, lengths, int(s["T"])), padded(args[i].I, lengths, int(s["T"]))
		}
	}
	results, err := ir.Eval(c.fn, e, args)
	for i := range results {
		if lengths := c.lengths(s); lengths != nil && lower.Rows(c.fn.Results[i].Value.Type.Shape) {
			results[i].F, results[i].I = unpadded(results[i].F, lengths), unpadded(results[i].I, lengths)
		}
	}
	return results, err
}

// wanted is what a buffer should hold after a launch.
func (c *Case) wanted(i int, t ir.Tensor, before kernel.Buffer) []float64 {
	out := slices.Clone(t.F)
	for _, x := range t.I {
		out = append(out, float64(x))
	}
	if c.results[i].adds {
		for k, x := range floats(before) {
			out[k] += x
		}
	}
	return out
}

// note takes the element of a buffer that is farthest off in units of its tolerance,
// which is unit for numbers of order 1,
// into the result, if it is worse than what was noted before. Near is what the
// buffer should hold for inputs one rounding away.
func (r *Result) note(name string, shape []int, got, want, near []float64, unit float64) {
	largest := 0.0
	for _, w := range want {
		if math.Abs(w) > largest {
			largest = math.Abs(w)
		}
	}
	for k, w := range want {
		tolerance := unit * max(1, largest)
		if d := distance(near[k], w); !math.IsInf(d, 1) {
			tolerance += leeway * d
		}
		d := distance(got[k], w)
		if r.Buffer != "" && d/tolerance <= r.Abs/r.Tolerance {
			continue
		}
		r.Abs, r.Rel, r.Tolerance = d, d/largest, tolerance
		if d == 0 {
			r.Rel = 0
		}
		r.Buffer, r.Index, r.Got, r.Want = name, index(k, shape), got[k], w
	}
}

// distance is that of two numbers; equal infinities and two NaNs have none, and
// other pairs with such a one are infinitely far from each other.
func distance(a, b float64) float64 {
	switch d := math.Abs(a - b); {
	case a == b || a != a && b != b:
		return 0
	case d != d:
		return math.Inf(1)
	default:
		return d
	}
}

// inexact counts elements with other bits, where one NaN is as good as another.
func inexact(got, want kernel.Buffer) int {
	n := 0
	for k, w := range want.F {
		g := got.F[k]
		if math.Float32bits(g) != math.Float32bits(w) && (g == g || w == w) {
			n++
		}
	}
	for k, w := range want.I {
		if got.I[k] != w {
			n++
		}
	}
	for k, w := range want.H {
		if got.H[k] != w {
			n++
		}
	}
	return n
}

func clone(bufs []kernel.Buffer) []kernel.Buffer {
	out := make([]kernel.Buffer, len(bufs))
	for i, b := range bufs {
		out[i] = b.Clone()
	}
	return out
}

// floats are the elements of a buffer. Those of 16 bits are BF16.
func floats(b kernel.Buffer) []float64 {
	out := make([]float64, 0, len(b.F)+len(b.I)+len(b.H))
	for _, x := range b.H {
		out = append(out, float64(expr.Widen(expr.BF16, x)))
	}
	for _, x := range b.F {
		out = append(out, float64(x))
	}
	for _, x := range b.I {
		out = append(out, float64(x))
	}
	return out
}

// index is the place of element k of a row-major shape.
func index(k int, shape []int) []int {
	out := make([]int, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		out[d] = k % shape[d]
		k /= shape[d]
	}
	return out
}
