package ir

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/arithlang/mlc/compiler/expr"
)

// The evaluations of primitive ops are slow and simple.

// stretch returns the strides of a tensor that is broadcast to rank axes.
func stretch(shape []int, rank int) []int {
	out := make([]int, rank)
	for a, s := range strides(shape) {
		if shape[a] != 1 {
			out[rank-len(shape)+a] = s
		}
	}
	return out
}

// A mapBinder provides an expression's elements, indices and launch variables.
type mapBinder struct {
	m     *machine
	args  []Tensor
	cells map[string]*expr.Value
	types map[string]expr.Type // of cells
	err   error
}

func (b *mapBinder) Var(name string, of expr.Type) *expr.Value {
	b.types[name] = of
	if c, ok := b.cells[name]; ok {
		return c
	}
	c := &expr.Value{}
	b.cells[name] = c
	if f, ok := b.m.env.Scalars[name]; ok {
		c.F = f
	} else if name == "layer" {
		c.I = int64(b.m.env.Layer)
	} else if name == "step" {
		c.I = int64(b.m.env.Step)
	} else if n, ok := b.m.env.Dims[name]; ok {
		c.I = int64(n)
	} else if _, launch := launchVar(name); launch && b.err == nil {
		b.err = fmt.Errorf("launch variable %s is not set", name)
	}
	return c
}

func (b *mapBinder) Elem(name string, of expr.Type) func(idx []int) expr.Value {
	k, _ := numbered(name, "x")
	t := b.args[k]
	return func(idx []int) expr.Value {
		at, err := t.offset(idx)
		if err != nil {
			if b.err == nil {
				b.err = fmt.Errorf("%s: %w", name, err)
			}
			return expr.Value{}
		}
		return t.typed(at, of)
	}
}

// overIndices evaluates e at every index of shape and passes the values to put.
func (m *machine) overIndices(e *expr.Expr, shape []int, args []Tensor, put func(k int, v expr.Value)) error {
	b := &mapBinder{m: m, args: args, cells: map[string]*expr.Value{}, types: map[string]expr.Type{}}
	code := expr.Compile64(b, e)
	var elems []*expr.Value
	var types []expr.Type
	var from []Tensor
	var steps [][]int
	for k, a := range args {
		name := "x" + strconv.Itoa(k)
		if c := b.cells[name]; c != nil {
			elems, types = append(elems, c), append(types, b.types[name])
			from, steps = append(from, a), append(steps, stretch(a.Shape, len(shape)))
		}
	}
	indices := make([]*expr.Value, len(shape))
	for a := range shape {
		indices[a] = b.cells["d"+strconv.Itoa(a)]
	}
	w := newWalk(shape, steps...)
	for k := range size(shape) {
		for n, c := range elems {
			*c = from[n].typed(w.off[n], types[n])
		}
		for a, c := range indices {
			if c != nil {
				c.I = int64(w.idx[a])
			}
		}
		put(k, code.Run())
		w.next()
	}
	return b.err
}

func evalMap(m *machine, v *Value, args []Tensor, out Tensor) error {
	set := out.set
	if of := v.Type.Elem; of.Narrow() {
		set = func(k int, x expr.Value) { out.F[k] = float64(expr.Widen(of, uint16(x.I))) }
	}
	return m.overIndices(v.Attr.Expr, out.Shape, args, set)
}

func evalDropout(m *machine, v *Value, args []Tensor, out Tensor) error {
	x := args[0]
	threshold := uint32(math.Round(v.Attr.Rate * (1 << 32)))
	scale := float64(float32(1 / (1 - v.Attr.Rate)))
	each := size(x.Shape[1:])
	keep := func(k, e int) {
		if m.word(v.Attr.Stream, m.env.Example+uint32(k/each), e) >= threshold {
			out.F[k] = x.F[k] * scale
		}
	}
	if v.Attr.Expr != nil {
		return m.overIndices(v.Attr.Expr, x.Shape, nil, func(k int, e expr.Value) { keep(k, int(e.I)) })
	}
	for k := range x.F {
		keep(k, k%each)
	}
	return nil
}

// matrixStrides returns the row, column and batch strides of a matrix operand.
func matrixStrides(shape []int, trans bool) (row, col, batch int) {
	n := len(shape)
	row, col, batch = shape[n-1], 1, shape[n-1]*shape[n-2]
	if n == 2 {
		batch = 0
	}
	if trans {
		row, col = col, row
	}
	return row, col, batch
}

func evalMatMul(m *machine, v *Value, args []Tensor, out Tensor) error {
	a, b := args[0], args[1]
	rank := len(out.Shape)
	rows, cols := out.Shape[rank-2], out.Shape[rank-1]
	inner := a.Shape[rank-1]
	if v.Attr.TransA {
		inner = a.Shape[rank-2]
	}
	ar, ac, ab := matrixStrides(a.Shape, v.Attr.TransA)
	br, bc, bb := matrixStrides(b.Shape, v.Attr.TransB)
	for k := range out.F {
		batch, i, j := k/(rows*cols), k/cols%rows, k%cols
		for l := range inner {
			out.F[k] += float64(a.F[batch*ab+i*ar+l*ac] * b.F[batch*bb+l*br+j*bc])
		}
	}
	return nil
}

func evalOuter(m *machine, v *Value, args []Tensor, out Tensor) error {
	rows, cols := out.Shape[0], out.Shape[1]
	for l := range size(args[0].Shape) / rows {
		for i := range rows {
			for j := range cols {
				out.F[i*cols+j] += float64(args[0].F[l*rows+i] * args[1].F[l*cols+j])
			}
		}
	}
	return nil
}

// reduce folds the elements of x over axes into out.
func reduce(out, x Tensor, axes []int, fold func(k int, v expr.Value)) {
	step := make([]int, len(x.Shape))
	kept := strides(out.Shape)
	for a := range x.Shape {
		if !slices.Contains(axes, a) {
			step[a], kept = kept[0], kept[1:]
		}
	}
	w := newWalk(x.Shape, step)
	for k := range size(x.Shape) {
		fold(w.off[0], x.at(k))
		w.next()
	}
}

func evalSum(m *machine, v *Value, args []Tensor, out Tensor) error {
	reduce(out, args[0], v.Attr.Axes, func(k int, x expr.Value) {
		at := out.at(k)
		out.set(k, expr.Value{F: at.F + x.F, I: at.I + x.I})
	})
	return nil
}

func evalSegmentSum(_ *machine, _ *Value, args []Tensor, out Tensor) error {
	for k := range size(args[0].Shape) {
		at := out.at(k / Segment)
		out.set(k/Segment, expr.Value{F: at.F + args[0].at(k).F})
	}
	return nil
}

func evalMax(m *machine, v *Value, args []Tensor, out Tensor) error {
	lowest := expr.Value{F: math.Inf(-1), I: math.MinInt32}
	for k := range size(out.Shape) {
		out.set(k, lowest)
	}
	reduce(out, args[0], v.Attr.Axes, func(k int, x expr.Value) {
		if at := out.at(k); x.F > at.F || x.I > at.I {
			out.set(k, x)
		}
	})
	return nil
}

func evalReshape(_ *machine, _ *Value, args []Tensor, out Tensor) error {
	out.copy(args[0])
	return nil
}

func evalTranspose(m *machine, v *Value, args []Tensor, out Tensor) error {
	x := args[0]
	from := strides(x.Shape)
	step := make([]int, len(from))
	for k, a := range v.Attr.Axes {
		step[k] = from[a]
	}
	w := newWalk(out.Shape, step)
	for k := range size(out.Shape) {
		out.set(k, x.at(w.off[0]))
		w.next()
	}
	return nil
}

func evalGather(m *machine, v *Value, args []Tensor, out Tensor) error {
	table, ids := args[0], args[1]
	d := table.Shape[1]
	for r, id := range ids.I {
		if id < 0 || id >= int64(table.Shape[0]) {
			return fmt.Errorf("id %d is outside of a table of %d rows", id, table.Shape[0])
		}
		for c := range d {
			out.set(r*d+c, table.at(int(id)*d+c))
		}
	}
	return nil
}

func evalScatter(m *machine, v *Value, args []Tensor, out Tensor) error {
	ids, dy := args[0], args[1]
	d := out.Shape[1]
	for r, id := range ids.I {
		if id < 0 || id >= int64(out.Shape[0]) {
			return fmt.Errorf("id %d is outside of %d rows", id, out.Shape[0])
		}
		for c := range d {
			out.F[int(id)*d+c] += dy.F[r*d+c]
		}
	}
	return nil
}

func evalAppend(m *machine, _ *Value, args []Tensor, out Tensor) error {
	cache, row := args[0], args[1]
	p, err := m.firstRow()
	if err != nil {
		return err
	}
	rows, capacity := row.Shape[1], cache.Shape[1]
	if p < 0 || p+rows > capacity {
		return fmt.Errorf("rows %d to %d do not fit into %d", p, p+rows-1, capacity)
	}
	out.copy(cache)
	d := size(row.Shape[2:])
	for k := range size(row.Shape) {
		b, t, c := k/(rows*d), k/d%rows, k%d
		out.set((b*capacity+p+t)*d+c, row.at(k))
	}
	return nil
}
