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

// Tolerance is the largest distance of an element from its value in float64. Its unit is
// the largest element of the buffer, or 1 where that is smaller: inputs are of order 1, and
// values that cancel keep the rounding of their inputs.
const Tolerance = 2e-5

// roundedTolerance is the tolerance of a kernel that rounds to BF16. A number close to the
// middle of two BF16 numbers may round to either, and these differ by 2^-7 at most.
const roundedTolerance = 0x1p-7

// leeway multiplies the effect of rounding every input once. This much is added to the
// tolerance: a norm turns close numbers into distant ones.
const leeway = 8

// A Result is the distance of a kernel from its tensor function, in one launch.
type Result struct {
	Shape     Shape
	Abs       float64 // distance of the worst element from float64, judged by its tolerance
	Rel       float64 // Abs in units of the largest element of the buffer
	Tolerance float64 // largest Abs allowed for this element
	Buffer    string
	Index     []int
	Got, Want float64
	Inexact   int // elements whose bits differ from the kernel interpreter's
	Elements  int // in all buffers that the kernel writes
}

// Out reports whether an element exceeds its tolerance. A NaN does.
func (r *Result) Out() bool { return !(r.Abs <= r.Tolerance) }

// Launch returns the scalars of a launch and random inputs for it, the same in every call.
// It returns an error if the buffers are too large.
func (c *Case) Launch(s Shape) (kernel.Scalars, []kernel.Buffer, error) {
	scalars, shapes, err := c.extents(s)
	if err != nil {
		return nil, nil, err
	}
	return scalars, c.draw(scalars, shapes), nil
}

// extents returns the scalars of a launch and the shapes of its buffers.
func (c *Case) extents(s Shape) (kernel.Scalars, [][]int, error) {
	scalars := c.scalars(s)
	shapes, err := kernel.Extents(c.Kernel, scalars)
	if err != nil {
		return nil, nil, err
	}
	return scalars, shapes, c.fits(scalars, shapes)
}

// Compare runs the kernel on random inputs in a back end, or in the kernel interpreter if
// run is nil. It returns an error if the buffers are too large or if the kernel or an
// interpreter fails.
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

// tolerance returns the tolerance of the kernel, before the leeway.
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

// maxElements is the largest number of elements in the buffers of a kernel. Each element
// takes some tens of bytes, on every core.
const maxElements = 1 << 26

// fits returns an error if the buffers and the inputs of the function are too large to
// allocate.
func (c *Case) fits(s kernel.Scalars, shapes [][]int) error {
	all := 0.0 // a float, as the product of absurd extents may overflow integers
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
		return fmt.Errorf("its buffers have %.3g elements, more than the limit of %d: make the model smaller, for example with --set model.width=64", all, maxElements)
	}
	return nil
}

// eval computes the function in float64. An input that the kernel does not read is zero, as
// it cannot change the result.
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
			if in := c.buffers[c.params[i]].in; in != nil && in.Heads > 0 {
				args[i].F = gathered(args[i].F, in, args[i].Shape, s)
			}
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

// wanted is the right content of a buffer after a launch.
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

// note records the element of a buffer that is worst in units of its tolerance, if it is
// worse than the recorded one. unit is the tolerance of numbers of order 1, and near the
// right content for inputs one rounding away.
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

// distance is the absolute difference of two numbers. Equal infinities and two NaNs have
// distance 0. A NaN or an infinity is infinitely far from any other number.
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

// inexact counts the elements that differ in bits. Any two NaNs are equal.
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

// floats returns the elements of a buffer. Elements of 16 bits are BF16.
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

// index returns the coordinates of element k in a row-major shape.
func index(k int, shape []int) []int {
	out := make([]int, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		out[d] = k % shape[d]
		k /= shape[d]
	}
	return out
}
