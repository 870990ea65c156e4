package export

import (
	"encoding/binary"
	"math"
)

// A message is one of protocol buffers, field by field: what ONNX files are made of.
// Numbers of fields are those of onnx.proto (github.com/onnx/onnx).
type message []byte

// The two kinds of fields that are written, by their wire types, and one of 32 bits.
const (
	wireVarint = 0
	wireBytes  = 2
	wireFixed  = 5
)

func (m *message) tag(field, wire int) { *m = binary.AppendUvarint(*m, uint64(field)<<3|uint64(wire)) }

func (m *message) int(field int, v int64) {
	m.tag(field, wireVarint)
	*m = binary.AppendUvarint(*m, uint64(v))
}

func (m *message) float(field int, v float32) {
	m.tag(field, wireFixed)
	*m = binary.LittleEndian.AppendUint32(*m, math.Float32bits(v))
}

func (m *message) bytes(field int, v []byte) {
	m.tag(field, wireBytes)
	*m = append(binary.AppendUvarint(*m, uint64(len(v))), v...)
}

func (m *message) text(field int, v string) { m.bytes(field, []byte(v)) }

// Types of elements, TensorProto.DataType.
const (
	onnxFloat = 1
	onnxInt64 = 7
	onnxBool  = 9
)

// floatTensor is a TensorProto of F32.
func floatTensor(name string, shape []int, values []float32) message {
	m := tensorHead(name, onnxFloat, shape)
	raw := make([]byte, 0, 4*len(values))
	for _, x := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	m.bytes(9, raw)
	return m
}

// intTensor is a TensorProto of integers of 64 bits.
func intTensor(name string, shape []int, values []int64) message {
	m := tensorHead(name, onnxInt64, shape)
	raw := make([]byte, 0, 8*len(values))
	for _, x := range values {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(x))
	}
	m.bytes(9, raw)
	return m
}

func tensorHead(name string, of int64, shape []int) (m message) {
	for _, n := range shape {
		m.int(1, int64(n))
	}
	m.int(2, of)
	m.text(8, name)
	return m
}

// valueInfo is a ValueInfoProto: a tensor's name, type and extents, which are numbers or
// names of sizes.
func valueInfo(name string, of int64, shape ...any) (m message) {
	var dims, tensor, typ message
	for _, d := range shape {
		var dim message
		switch d := d.(type) {
		case int:
			dim.int(1, int64(d))
		case string:
			dim.text(2, d)
		}
		dims.bytes(1, dim)
	}
	tensor.int(1, of)
	tensor.bytes(2, dims)
	typ.bytes(1, tensor)
	m.text(1, name)
	m.bytes(2, typ)
	return m
}

// An attribute is an AttributeProto. Its value is an int, a float32, []int or a message,
// which is that of a graph.
type attribute struct {
	name  string
	value any
}

func (a attribute) encode() (m message) {
	m.text(1, a.name)
	kind := int64(0)
	switch v := a.value.(type) {
	case float32:
		kind = 1
		m.float(2, v)
	case int:
		kind = 2
		m.int(3, int64(v))
	case []int:
		kind = 7
		for _, n := range v {
			m.int(8, int64(n))
		}
	case message:
		kind = 5
		m.bytes(6, v)
	default:
		panic("BUG: an attribute " + a.name + " of no type")
	}
	m.int(20, kind)
	return m
}
