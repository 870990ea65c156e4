package ir

import (
	"fmt"
	"math"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// A Tensor is a row-major array. F holds the elements of an F32 tensor, in float64, or of
// a BF16 tensor. I holds the elements of an I32 tensor.
type Tensor struct {
	Shape []int
	F     []float64
	I     []int64
}

// Env has the values that a launch sets besides the arguments.
type Env struct {
	Dims    map[string]int     // sizes by symbol: B, T, S, C, P (the first target row), N; recurrences
	Scalars map[string]float64 // scale, lr, bias_correction1, bias_correction2, clip, decay, bound
	Layer   int
	Step    uint32
	Example uint32 // index of the launch's first example within the step's batch
	Seed    uint64
	Rand    func(stream, example uint32, e int) uint32 // random word e; nil: Philox (philox.go)
}

// Eval computes f's results in float64. It evaluates composite ops by their expansions.
// args are in the order of f.Params. It returns an error if they do not fit, or if env
// lacks a value.
func Eval(f *Func, env Env, args []Tensor) ([]Tensor, error) {
	f, err := Decompose(f)
	if err != nil {
		return nil, err
	}
	if len(args) != len(f.Params) {
		return nil, fmt.Errorf("%s: %d arguments for %d parameters", f.Name, len(args), len(f.Params))
	}
	m := &machine{env: env, vals: map[*Value]Tensor{}}
	for i, p := range f.Params {
		if err := m.bind(p, args[i]); err != nil {
			return nil, fmt.Errorf("%s: parameter %s: %w", f.Name, p.Attr.Name, err)
		}
	}
	for _, v := range f.Values[len(f.Params):] {
		if m.vals[v], err = m.run(v); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", f.Name, v, err)
		}
	}
	out := make([]Tensor, len(f.Results))
	for i, r := range f.Results {
		out[i] = m.vals[r.Value]
	}
	return out, nil
}

// A machine holds the values of one evaluation.
type machine struct {
	env  Env
	vals map[*Value]Tensor
}

func (m *machine) bind(p *Value, t Tensor) error {
	shape, err := m.sizes(p.Type.Shape)
	if err != nil {
		return err
	}
	if !slices.Equal(shape, t.Shape) {
		return fmt.Errorf("has shape %v, not %v", t.Shape, shape)
	}
	n := len(t.I)
	if p.Type.Real() {
		n = len(t.F)
	}
	if n != size(shape) {
		return fmt.Errorf("has %d elements, not %d", n, size(shape))
	}
	if p.Type.Elem.Narrow() {
		for _, x := range t.F {
			if y := expr.Widen(p.Type.Elem, bits16(x)); float64(y) != x && x == x {
				return fmt.Errorf("%g is no %s", x, p.Type.Elem)
			}
		}
	}
	m.vals[p] = t
	return nil
}

func (m *machine) run(v *Value) (Tensor, error) {
	args := make([]Tensor, len(v.Args))
	for i, a := range v.Args {
		args[i] = m.vals[a]
	}
	out, err := m.zeros(v)
	if err == nil {
		err = ops[v.Op].eval(m, v, args, out)
	}
	return out, err
}

func (m *machine) sizes(shape []Dim) ([]int, error) {
	out := make([]int, len(shape))
	for i, d := range shape {
		n, err := d.Size(m.env.Dims)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

// zeros returns a zero tensor for v's result.
func (m *machine) zeros(v *Value) (Tensor, error) {
	shape, err := m.sizes(v.Type.Shape)
	t := Tensor{Shape: shape}
	if v.Type.Real() {
		t.F = make([]float64, size(shape))
	} else {
		t.I = make([]int64, size(shape))
	}
	return t, err
}

// at returns element k.
func (t Tensor) at(k int) expr.Value {
	if t.F != nil {
		return expr.Value{F: t.F[k]}
	}
	return expr.Value{I: t.I[k]}
}

// bits16 returns the bits of a BF16.
func bits16(x float64) uint16 { return uint16(math.Float32bits(float32(x)) >> 16) }

// typed returns element k as an expression's value of the given type.
func (t Tensor) typed(k int, of expr.Type) expr.Value {
	if of.Narrow() {
		return expr.Value{I: int64(bits16(t.F[k]))}
	}
	return t.at(k)
}

func (t Tensor) set(k int, v expr.Value) {
	if t.F != nil {
		t.F[k] = v.F
	} else {
		t.I[k] = v.I
	}
}

func (t Tensor) copy(x Tensor) {
	copy(t.F, x.F)
	copy(t.I, x.I)
}

// offset returns the position of the element with the given indices.
func (t Tensor) offset(idx []int) (int, error) {
	k := 0
	for a, n := range t.Shape {
		if idx[a] < 0 || idx[a] >= n {
			return 0, fmt.Errorf("index %v is outside of shape %v", idx, t.Shape)
		}
		k = k*n + idx[a]
	}
	return k, nil
}

func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// strides returns the strides of a row-major tensor.
func strides(shape []int) []int {
	out := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		out[i] = n
		n *= shape[i]
	}
	return out
}

// A walk counts through the indices of a shape, the last fastest, and updates offsets
// into other tensors by their strides.
type walk struct {
	shape []int
	idx   []int
	step  [][]int
	off   []int
}

func newWalk(shape []int, step ...[]int) *walk {
	return &walk{shape: shape, idx: make([]int, len(shape)), step: step, off: make([]int, len(step))}
}

func (w *walk) next() {
	for a := len(w.shape) - 1; a >= 0; a-- {
		w.idx[a]++
		for k, s := range w.step {
			w.off[k] += s[a]
		}
		if w.idx[a] < w.shape[a] {
			return
		}
		w.idx[a] = 0
		for k, s := range w.step {
			w.off[k] -= s[a] * w.shape[a]
		}
	}
}
