package kernel

import (
	"errors"
	"math"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// poison fills a fresh tile of integers, so that reading it shows; F32 tiles hold NaN. The lower
// half of poison is NaN in BF16 and F16.
const poison = 0x7fffffff

// An array is a tile or buffer while a kernel runs. U32 elements are kept as the
// I32 of the same bits, BF16 and F16 as their bits.
type array struct {
	Buffer
	name  string
	typ   expr.Type
	shape []int
	users *users // nil unless the kernel writes the buffer
}

// users has the number of the cell that read or wrote each element of a buffer:
// 0 for none, many for several. Cells count from 1.
type users struct{ reader, writer []int32 }

const many = -1

// watch makes read and write check, for the first n elements, that no cell touches an element
// that another writes.
func (a *array) watch(n int) {
	if a.users == nil {
		a.users = &users{}
	}
	a.users.reader, a.users.writer = filled(a.users.reader, n, 0), filled(a.users.writer, n, 0)
}

// fresh makes the array a tile of undefined contents.
func (a *array) fresh(shape []int) {
	a.shape = append(a.shape[:0], shape...)
	n := count(shape)
	switch {
	case a.typ == expr.F32:
		a.F = filled(a.F, n, float32(math.NaN()))
	case a.typ.Narrow():
		a.H = filled(a.H, n, poison&math.MaxUint16)
	default:
		a.I = filled(a.I, n, poison)
	}
}

// filled returns n copies of with, in the memory of s if it suffices.
func filled[T any](s []T, n int, with T) []T {
	s = slices.Grow(s[:0], n)[:n]
	for k := range s {
		s[k] = with
	}
	return s
}

// count returns the number of elements of a shape.
func count(shape []int) int {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return n
}

// flat returns the row-major position of an index, which may be outside of the array.
func (a *array) flat(index []int) int {
	at := 0
	for d, x := range index {
		at = at*a.shape[d] + x
	}
	return at
}

// get returns the element at a position.
func (a *array) get(at int) expr.Value {
	switch a.typ {
	case expr.F32:
		return expr.Value{F: float64(a.F[at])}
	case expr.U32:
		return expr.Value{I: int64(uint32(a.I[at]))}
	case expr.BF16, expr.F16:
		return expr.Value{I: int64(a.H[at])}
	}
	return expr.Value{I: int64(a.I[at])}
}

// float returns the element at a position as F32.
func (a *array) float(at int) float32 {
	if a.typ.Narrow() {
		return expr.Widen(a.typ, a.H[at])
	}
	return a.F[at]
}

// set sets the element at a position.
func (a *array) set(at int, v expr.Value) {
	switch {
	case a.typ == expr.F32:
		a.F[at] = float32(v.F)
	case a.typ.Narrow():
		a.H[at] = uint16(v.I)
	default:
		a.I[at] = int32(v.I)
	}
}

// ErrOutside reports an index outside its tile or buffer.
var ErrOutside = errors.New("is outside")

// offset returns the row-major position of an element.
func (m *machine) offset(a *array, index []int) int {
	for d, x := range index {
		if x < 0 || x >= a.shape[d] {
			m.fail("index %v %w %s%v", index, ErrOutside, a.name, a.shape)
			return 0
		}
	}
	return a.flat(index)
}

// read notes that the current cell reads an element, which no other may write.
func (m *machine) read(a *array, at int) {
	if a.users == nil || m.err != nil {
		return
	}
	if w := a.users.writer[at]; w != 0 && w != m.cell {
		m.fail("cell %d reads element %d of %s, which cell %d writes", m.cell, at, a.name, w)
	}
	switch r := &a.users.reader[at]; *r {
	case 0, m.cell:
		*r = m.cell
	default:
		*r = many
	}
}

// write notes that the current cell writes an element, which no other may read or
// write.
func (m *machine) write(a *array, at int) {
	if a.users == nil || m.err != nil {
		return
	}
	if w := a.users.writer[at]; w != 0 && w != m.cell {
		m.fail("cell %d writes element %d of %s, as cell %d does", m.cell, at, a.name, w)
	}
	if r := a.users.reader[at]; r != 0 && r != m.cell {
		m.fail("cell %d writes element %d of %s, which another cell reads", m.cell, at, a.name)
	}
	a.users.writer[at] = m.cell
}
