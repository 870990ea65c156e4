package kernel

import (
	"encoding/binary"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// A Buffer holds the elements of one buffer parameter. F holds F32, I holds I32, and H the bits
// of BF16 and F16. It may be longer than the parameter's shape.
type Buffer struct {
	F []float32
	I []int32
	H []uint16
}

// NewBuffer returns a buffer of zeros.
func NewBuffer(t expr.Type, n int) Buffer {
	switch {
	case t == expr.I32:
		return Buffer{I: make([]int32, n)}
	case t.Narrow():
		return Buffer{H: make([]uint16, n)}
	}
	return Buffer{F: make([]float32, n)}
}

// len returns the number of elements of a type.
func (b Buffer) len(t expr.Type) int {
	switch {
	case t == expr.I32:
		return len(b.I)
	case t.Narrow():
		return len(b.H)
	}
	return len(b.F)
}

// Clone returns a buffer of the same elements.
func (b Buffer) Clone() Buffer {
	return Buffer{slices.Clone(b.F), slices.Clone(b.I), slices.Clone(b.H)}
}

// Copy copies the elements of another buffer.
func (b Buffer) Copy(from Buffer) {
	copy(b.F, from.F)
	copy(b.I, from.I)
	copy(b.H, from.H)
}

// Bytes returns the elements as they lie in memory.
func (b Buffer) Bytes() []byte {
	var out []byte
	for _, elems := range []any{b.F, b.I, b.H} {
		out, _ = binary.Append(out, binary.LittleEndian, elems)
	}
	return out
}

// SetBytes is the inverse of Bytes.
func (b Buffer) SetBytes(data []byte) {
	for _, elems := range []any{b.F, b.I, b.H} {
		n, err := binary.Decode(data, binary.LittleEndian, elems)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		data = data[n:]
	}
}
