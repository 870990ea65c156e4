package ckpt

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/arithlang/mlc/runtime/damage"
)

// Read returns the checkpoint at path. damage.Is holds for the error if the file is incomplete,
// altered or not a checkpoint, and not if it cannot be read.
func Read(path string) (File, error) {
	return open(path, Decode)
}

// open reads a file with a decoder.
func open[T any](path string, decode func(r io.Reader, size int64) (T, error)) (read T, err error) {
	file, err := damage.At(path).Open()
	if err != nil {
		return read, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return read, err
	}
	if read, err = decode(bufio.NewReaderSize(file, 1<<16), info.Size()); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return read, err
}

// Decode reads a checkpoint of size bytes. It allocates at most a few times that size, whatever
// the header says.
func Decode(r io.Reader, size int64) (File, error) {
	entries, meta, dataSize, err := decodeHeader(r, size)
	if err != nil {
		return File{}, err
	}
	names, err := layout(entries, dataSize, checkpointTypes)
	if err != nil {
		return File{}, err
	}
	want := meta[checksumKey]
	if want == "" {
		return File{}, damage.Errorf("not a checkpoint of this program: it has no checksum")
	}
	delete(meta, checksumKey)
	sum := sha256.New()
	sum.Write(header(entries, meta))
	f := File{Meta: meta}
	data := io.TeeReader(r, sum)
	for _, name := range names {
		e := entries[name]
		values, err := readFloats(data, e)
		if err != nil {
			return File{}, err
		}
		f.Tensors = append(f.Tensors, Tensor{name, e.Shape, values})
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return File{}, damage.Errorf("altered: its contents do not match its checksum")
	}
	return f, nil
}

func decodeHeader(r io.Reader, size int64) (map[string]entry, map[string]string, int64, error) {
	fail := func(format string, args ...any) (map[string]entry, map[string]string, int64, error) {
		return nil, nil, 0, damage.Errorf(format, args...)
	}
	var length uint64
	if err := binary.Read(r, binary.LittleEndian, &length); ends(err) {
		return fail("truncated: %d bytes are too few", size)
	} else if err != nil {
		return nil, nil, 0, err
	}
	if length > maxHeader {
		return fail("not a checkpoint: its header would have %d bytes", length)
	}
	if int64(length) > size-8 {
		return fail("truncated: its header has %d bytes, the file %d", length, size)
	}
	head := make([]byte, length)
	if _, err := io.ReadFull(r, head); ends(err) {
		return fail("truncated: it ends in its header")
	} else if err != nil {
		return nil, nil, 0, err
	}
	if n := bytes.Count(head, []byte("data_offsets")); n > maxTensors {
		return fail("not a checkpoint: it has %d tensors, more than %d", n, maxTensors)
	}
	var raw map[string]json.RawMessage
	if err := damage.JSON(head, &raw); err != nil {
		return fail("not a checkpoint: its header is no JSON object: %v", err)
	}
	meta := map[string]string{}
	if text, ok := raw[metadataKey]; ok {
		if err := damage.JSON(text, &meta); err != nil {
			return fail("not a checkpoint: %s: %v", metadataKey, err)
		}
		delete(raw, metadataKey)
	}
	entries := make(map[string]entry, len(raw))
	for name, text := range raw {
		var e entry
		if err := damage.JSON(text, &e); err != nil {
			return fail("not a checkpoint: tensor %.80q: %v", name, err)
		}
		entries[name] = e
	}
	return entries, meta, size - 8 - int64(length), nil
}

// ends reports whether the input ended early.
func ends(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }

// elementTypes are the types of safetensors, with their bytes.
var elementTypes = map[string]int64{"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1,
	"I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1}

// checkpointTypes are the types in checkpoints.
var checkpointTypes = map[string]int64{"F32": 4}

// layout checks that the tensors have the given types and fill the data without gap or overlap.
// It returns their names in the order of the data.
func layout(entries map[string]entry, dataSize int64, types map[string]int64) ([]string, error) {
	names := slices.SortedFunc(maps.Keys(entries), func(a, b string) int {
		x, y := entries[a].Offsets, entries[b].Offsets
		return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]), cmp.Compare(a, b))
	})
	offset := int64(0)
	for _, name := range names {
		e := entries[name]
		switch size, ok := sizeOf(e.Shape, types[e.Type]); {
		case types[e.Type] == 0:
			return nil, damage.Errorf("tensor %.80q is %.20q; only %s is read", name, e.Type, strings.Join(slices.Sorted(maps.Keys(types)), ", "))
		case e.Offsets[0] != offset || e.Offsets[1] < offset:
			return nil, damage.Errorf("altered: tensor %.80q lies at %d to %d, expected to begin at %d", name, e.Offsets[0], e.Offsets[1], offset)
		case !ok || size != e.Offsets[1]-e.Offsets[0]:
			return nil, damage.Errorf("altered: tensor %.80q of shape %v has %d bytes", name, e.Shape, e.Offsets[1]-e.Offsets[0])
		}
		offset = e.Offsets[1]
	}
	if offset != dataSize {
		what := "altered"
		if offset > dataSize {
			what = "truncated"
		}
		return nil, damage.Errorf("%s: its tensors have %d bytes, the file has room for %d", what, offset, dataSize)
	}
	return names, nil
}

// sizeOf returns the bytes of a tensor with elements of the given bytes; false if the shape is
// invalid.
func sizeOf(shape []int, bytes int64) (int64, bool) {
	n := bytes
	for _, d := range shape {
		if d < 0 || d > 0 && n > math.MaxInt64/int64(d) {
			return 0, false
		}
		n *= int64(d)
	}
	return n, true
}

// readFloats reads the elements of a tensor, of a type in floatTypes.
func readFloats(r io.Reader, e entry) ([]float32, error) {
	raw, err := readBytes(r, e)
	if err != nil {
		return nil, err
	}
	size, float := int(elementTypes[e.Type]), floatTypes[e.Type]
	data := make([]float32, len(raw)/size)
	for i := range data {
		data[i] = float(raw[size*i:])
	}
	return data, nil
}

var errTensors = damage.Errorf("truncated: it ends in its tensors")

// readBytes reads the bytes of a tensor.
func readBytes(r io.Reader, e entry) ([]byte, error) {
	raw := make([]byte, e.Offsets[1]-e.Offsets[0])
	if _, err := io.ReadFull(r, raw); ends(err) {
		return nil, errTensors
	} else if err != nil {
		return nil, err
	}
	return raw, nil
}

// floatTypes decode elements by type, little endian.
var floatTypes = map[string]func(b []byte) float32{
	"F64":  func(b []byte) float32 { return float32(math.Float64frombits(binary.LittleEndian.Uint64(b))) },
	"F32":  func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) },
	"BF16": func(b []byte) float32 { return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16) },
	"F16":  func(b []byte) float32 { return half(binary.LittleEndian.Uint16(b)) },
}

// half decodes an IEEE number of 16 bits.
func half(b uint16) float32 {
	exponent, fraction := int(b>>10&31), float64(b&1023)
	var x float64
	switch exponent {
	case 0:
		x = math.Ldexp(fraction, -24)
	case 31:
		x = math.Inf(1)
		if fraction != 0 {
			x = math.NaN()
		}
	default:
		x = math.Ldexp(1024+fraction, exponent-25)
	}
	if b>>15 != 0 {
		x = -x
	}
	return float32(x)
}

// A Weights is the tensors of any safetensors file, in the order of their data.
type Weights struct {
	Tensors []Tensor
	Others  map[string]string // types of unread tensors, by name
}

// ReadWeights returns the tensors at path with elements of F64, F32, BF16 or F16, rounded to
// float32. Tensors that asked rejects have no data. Any program may have written the file: it
// needs no checksum.
func ReadWeights(path string, asked func(name string) bool) (Weights, error) {
	return open(path, func(r io.Reader, size int64) (Weights, error) { return decodeWeights(r, size, asked) })
}

func decodeWeights(r io.Reader, size int64, asked func(name string) bool) (w Weights, err error) {
	entries, _, dataSize, err := decodeHeader(r, size)
	if err != nil {
		return w, err
	}
	names, err := layout(entries, dataSize, elementTypes)
	if err != nil {
		return w, err
	}
	w.Others = map[string]string{}
	for _, name := range names {
		e := entries[name]
		if floatTypes[e.Type] == nil || !asked(name) {
			if floatTypes[e.Type] == nil {
				w.Others[name] = e.Type
			} else {
				w.Tensors = append(w.Tensors, Tensor{name, e.Shape, nil})
			}
			if _, err := io.CopyN(io.Discard, r, e.Offsets[1]-e.Offsets[0]); ends(err) {
				return w, errTensors
			} else if err != nil {
				return w, err
			}
			continue
		}
		values, err := readFloats(r, e)
		if err != nil {
			return w, err
		}
		w.Tensors = append(w.Tensors, Tensor{name, e.Shape, values})
	}
	return w, nil
}
