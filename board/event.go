package board

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/arithlang/mlc/export/protobuf"
)

type message = protobuf.Message

// An event is one record of an event file: message Event of TensorFlow's event.proto.
type event struct {
	wall   float64 // seconds since 1970
	step   int
	values []value
}

// A value is a field of a summary: message Summary.Value of summary.proto, without its tag.
type value struct {
	tag  string
	data message // the fields after the tag
}

// scalar makes the value of a number.
func scalar(tag string, x float64) value {
	return value{tag, message{}.Float(2, float32(x))}
}

// picture makes the value of a PNG image.
func picture(tag string, width, height int, png []byte) value {
	const rgb = 3
	image := message{}.Int(1, height).Int(2, width).Int(3, rgb).Bytes(4, png)
	return value{tag, message{}.Bytes(4, image)}
}

// plugin makes the value of a TensorBoard plugin's data, which needs a tensor next to it.
func plugin(tag, name string, content []byte) value {
	const float = 1 // DT_FLOAT
	data := message{}.Text(1, name).Bytes(2, content)
	dim := message{}.Int(1, 1)
	tensor := message{}.Int(1, float).Bytes(2, message{}.Bytes(2, dim)).Float(5, 0)
	return value{tag, message{}.Bytes(8, tensor).Bytes(9, message{}.Bytes(1, data))}
}

// first returns the first record of an event file.
func first(wall float64) []byte {
	return framed(message{}.Double(1, wall).Text(3, "brain.Event:2"))
}

// record encodes the event for a file.
func (e event) record() []byte {
	var summary message
	for _, v := range e.values {
		summary = summary.Bytes(1, append(message{}.Text(1, v.tag), v.data...))
	}
	return framed(message{}.Double(1, e.wall).Int(2, e.step).Bytes(5, summary))
}

// framed encodes data as a TFRecord: its length and itself, each with a checksum.
func framed(data []byte) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	out = binary.LittleEndian.AppendUint32(out, checksum(out))
	out = append(out, data...)
	return binary.LittleEndian.AppendUint32(out, checksum(data))
}

// checksum is TFRecord's: a CRC-32C, rotated and shifted so that it stays useful for data that
// contains CRCs.
func checksum(data []byte) uint32 {
	c := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return (c>>15 | c<<17) + 0xa282ead8
}
