// Package protobuf writes messages of protocol buffers field by field, without schemas: the
// caller knows the numbers of the fields. Packages board and export write files for
// TensorBoard and ONNX with it.
package protobuf

import (
	"encoding/binary"
	"math"
)

// A Message is encoded fields. Its methods append a field.
type Message []byte

// The wire types of fields.
const (
	varint  = 0
	fixed64 = 1
	chunk   = 2
	fixed32 = 5
)

func (m Message) key(field, wire int) []byte { return binary.AppendUvarint(m, uint64(field<<3|wire)) }

// Int appends a whole number or a switch.
func (m Message) Int(field, x int) Message {
	return binary.AppendUvarint(m.key(field, varint), uint64(x))
}

// Double appends a float64.
func (m Message) Double(field int, x float64) Message {
	return binary.LittleEndian.AppendUint64(m.key(field, fixed64), math.Float64bits(x))
}

// Float appends a float32.
func (m Message) Float(field int, x float32) Message {
	return binary.LittleEndian.AppendUint32(m.key(field, fixed32), math.Float32bits(x))
}

// Bytes appends bytes, which may be a message.
func (m Message) Bytes(field int, x []byte) Message {
	return append(binary.AppendUvarint(m.key(field, chunk), uint64(len(x))), x...)
}

// Text appends a text.
func (m Message) Text(field int, x string) Message { return m.Bytes(field, []byte(x)) }
