package export

import (
	"encoding/binary"
	"math"

	"github.com/arithlang/mlc/export/protobuf"
)

// A message is a message of onnx.proto (github.com/onnx/onnx), which defines the field
// numbers.
type message = protobuf.Message

// Types of elements, TensorProto.DataType.
const (
	onnxFloat = 1
	onnxInt64 = 7
	onnxBool  = 9
)

// floatTensor encodes a TensorProto of F32.
func floatTensor(name string, shape []int, values []float32) message {
	m := tensorHead(name, onnxFloat, shape)
	raw := make([]byte, 0, 4*len(values))
	for _, x := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return m.Bytes(9, raw)
}

// intTensor encodes a TensorProto of 64-bit integers.
func intTensor(name string, shape []int, values []int64) message {
	m := tensorHead(name, onnxInt64, shape)
	raw := make([]byte, 0, 8*len(values))
	for _, x := range values {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(x))
	}
	return m.Bytes(9, raw)
}

func tensorHead(name string, of int, shape []int) (m message) {
	for _, n := range shape {
		m = m.Int(1, n)
	}
	return m.Int(2, of).Text(8, name)
}

// valueInfo encodes a ValueInfoProto: a tensor's name, type and extents. An extent is a
// number or the name of a size.
func valueInfo(name string, of int, shape ...any) message {
	var dims message
	for _, d := range shape {
		var dim message
		switch d := d.(type) {
		case int:
			dim = dim.Int(1, d)
		case string:
			dim = dim.Text(2, d)
		}
		dims = dims.Bytes(1, dim)
	}
	tensor := message{}.Int(1, of).Bytes(2, dims)
	return message{}.Text(1, name).Bytes(2, message{}.Bytes(1, tensor))
}

// An attribute is an AttributeProto. Its value is an int, a float32, []int, or the message
// of a graph.
type attribute struct {
	name  string
	value any
}

func (a attribute) encode() message {
	m := message{}.Text(1, a.name)
	kind := 0
	switch v := a.value.(type) {
	case float32:
		kind = 1
		m = m.Float(2, v)
	case int:
		kind = 2
		m = m.Int(3, v)
	case []int:
		kind = 7
		for _, n := range v {
			m = m.Int(8, n)
		}
	case message:
		kind = 5
		m = m.Bytes(6, v)
	default:
		panic("BUG: an attribute " + a.name + " of no type")
	}
	return m.Int(20, kind)
}
