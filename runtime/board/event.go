// Package board writes what TensorBoard reads: event files of a run's reports and
// results, beside the files that say the same as text. They are made of those alone, so
// that they can always be made again. Packages runtime/track and runtime/eval, whose
// reports and results these are, come before it; package runtime calls it.
package board

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// An event is one record of an event file: message Event of TensorFlow's event.proto.
type event struct {
	wall   float64 // seconds since 1970
	step   int
	values []value
}

// A value is a field of a summary: message Summary.Value of summary.proto, without its tag.
type value struct {
	tag  string
	data []byte // the fields that follow the tag
}

// scalar is a number at a step.
func scalar(tag string, x float64) value {
	return value{tag, appendFloat(nil, 2, float32(x))}
}

// picture is an image in PNG.
func picture(tag string, width, height int, png []byte) value {
	const rgb = 3
	image := appendInt(nil, 1, height)
	image = appendInt(image, 2, width)
	image = appendInt(image, 3, rgb)
	image = appendBytes(image, 4, png)
	return value{tag, appendBytes(nil, 4, image)}
}

// plugin is data of a plugin of TensorBoard's, which wants a tensor beside it.
func plugin(tag, name string, content []byte) value {
	const float = 1 // DT_FLOAT
	data := appendBytes(nil, 1, []byte(name))
	data = appendBytes(data, 2, content)
	dim := appendInt(nil, 1, 1)
	tensor := appendInt(nil, 1, float)
	tensor = appendBytes(tensor, 2, appendBytes(nil, 2, dim))
	tensor = appendFloat(tensor, 5, 0)
	fields := appendBytes(nil, 8, tensor)
	return value{tag, appendBytes(fields, 9, appendBytes(nil, 1, data))}
}

// first is the record that an event file begins with.
func first(wall float64) []byte {
	return framed(appendBytes(appendDouble(nil, 1, wall), 3, []byte("brain.Event:2")))
}

// record is the event as a file has it.
func (e event) record() []byte {
	var summary []byte
	for _, v := range e.values {
		summary = appendBytes(summary, 1, append(appendBytes(nil, 1, []byte(v.tag)), v.data...))
	}
	message := appendDouble(nil, 1, e.wall)
	message = appendInt(message, 2, e.step)
	return framed(appendBytes(message, 5, summary))
}

// framed is data as a TFRecord: its length and itself, each with a checksum.
func framed(data []byte) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	out = binary.LittleEndian.AppendUint32(out, checksum(out))
	out = append(out, data...)
	return binary.LittleEndian.AppendUint32(out, checksum(data))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is TFRecord's: CRC-32C, rotated and shifted, so that one of data that has
// checksums in it is none of them.
func checksum(data []byte) uint32 {
	c := crc32.Checksum(data, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// The wire types of protocol buffers.
const (
	varint  = 0
	fixed64 = 1
	chunk   = 2
	fixed32 = 5
)

func appendKey(b []byte, field, wire int) []byte {
	return binary.AppendUvarint(b, uint64(field<<3|wire))
}

func appendInt(b []byte, field, x int) []byte {
	return binary.AppendUvarint(appendKey(b, field, varint), uint64(x))
}

func appendDouble(b []byte, field int, x float64) []byte {
	return binary.LittleEndian.AppendUint64(appendKey(b, field, fixed64), math.Float64bits(x))
}

func appendFloat(b []byte, field int, x float32) []byte {
	return binary.LittleEndian.AppendUint32(appendKey(b, field, fixed32), math.Float32bits(x))
}

func appendBytes(b []byte, field int, x []byte) []byte {
	b = binary.AppendUvarint(appendKey(b, field, chunk), uint64(len(x)))
	return append(b, x...)
}
