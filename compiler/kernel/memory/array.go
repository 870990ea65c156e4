package memory

import (
	"math"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// Poison is what a fresh tile holds, besides NaN in F32, so that reading it shows.
// Its lower half is NaN in BF16 and F16.
const Poison = 0x7fffffff

// An Array is a tile or buffer while a kernel runs. U32 elements are kept as the
// I32 of the same bits, BF16 and F16 as their bits.
type Array struct {
	Name  string
	Type  expr.Type
	Shape []int
	F     []float32
	I     []int32
	H     []uint16
	users *users // of a buffer that the kernel writes
}

// users has the number of the cell that read or wrote each element of a buffer:
// 0 for none, many for several. Cells count from 1.
type users struct{ reader, writer []int32 }

const many = -1

// Watch makes Read and Write check that cells of a launch do not touch what others
// write, among the first n elements.
func (a *Array) Watch(n int) { a.users = &users{make([]int32, n), make([]int32, n)} }

// Fresh makes the array a tile of undefined contents.
func (a *Array) Fresh(shape []int) {
	a.Shape = append(a.Shape[:0], shape...)
	n := Product(shape)
	switch {
	case a.Type == expr.F32:
		a.F = filled(a.F, n, float32(math.NaN()))
	case a.Type.Narrow():
		a.H = filled(a.H, n, Poison&math.MaxUint16)
	default:
		a.I = filled(a.I, n, Poison)
	}
}

// filled is a slice of n elements, in the memory of another where that is enough.
func filled[T any](s []T, n int, with T) []T {
	s = slices.Grow(s[:0], n)[:n]
	for k := range s {
		s[k] = with
	}
	return s
}

// Product is the number of elements of a shape.
func Product(shape []int) int {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return n
}

// Flat is the row-major position of an index, which may be outside of the array.
func (a *Array) Flat(index []int) int {
	at := 0
	for d, x := range index {
		at = at*a.Shape[d] + x
	}
	return at
}

// Get returns the element at a position.
func (a *Array) Get(at int) expr.Value {
	switch a.Type {
	case expr.F32:
		return expr.Value{F: float64(a.F[at])}
	case expr.U32:
		return expr.Value{I: int64(uint32(a.I[at]))}
	case expr.BF16, expr.F16:
		return expr.Value{I: int64(a.H[at])}
	}
	return expr.Value{I: int64(a.I[at])}
}

// Float returns the element at a position as F32.
func (a *Array) Float(at int) float32 {
	if a.Type.Narrow() {
		return expr.Widen(a.Type, a.H[at])
	}
	return a.F[at]
}

// Set sets the element at a position.
func (a *Array) Set(at int, v expr.Value) {
	switch {
	case a.Type == expr.F32:
		a.F[at] = float32(v.F)
	case a.Type.Narrow():
		a.H[at] = uint16(v.I)
	default:
		a.I[at] = int32(v.I)
	}
}

// Offset returns the row-major position of an element.
func (m *Memory) Offset(a *Array, index []int) int {
	for d, x := range index {
		if x < 0 || x >= a.Shape[d] {
			m.Fail("index %v is outside %s%v", index, a.Name, a.Shape)
			return 0
		}
	}
	return a.Flat(index)
}

// Read notes that the current cell reads an element, which no other may write.
func (m *Memory) Read(a *Array, at int) {
	if a.users == nil || m.Err != nil {
		return
	}
	if w := a.users.writer[at]; w != 0 && w != m.Cell {
		m.Fail("cell %d reads element %d of %s, which cell %d writes", m.Cell, at, a.Name, w)
	}
	switch r := &a.users.reader[at]; *r {
	case 0, m.Cell:
		*r = m.Cell
	default:
		*r = many
	}
}

// Write notes that the current cell writes an element, which no other may read or
// write.
func (m *Memory) Write(a *Array, at int) {
	if a.users == nil || m.Err != nil {
		return
	}
	if w := a.users.writer[at]; w != 0 && w != m.Cell {
		m.Fail("cell %d writes element %d of %s, as cell %d does", m.Cell, at, a.Name, w)
	}
	if r := a.users.reader[at]; r != 0 && r != m.Cell {
		m.Fail("cell %d writes element %d of %s, which another cell reads", m.Cell, at, a.Name)
	}
	a.users.writer[at] = m.Cell
}
