package ckpt

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"

	"github.com/arithlang/mlc/runtime/damage"
)

// Read returns the checkpoint at path. The error is damage where the file is incomplete,
// altered or something else altogether, and not where it cannot be read.
func Read(path string) (File, error) {
	if err := damage.Readable(path); err != nil {
		return File{}, err
	}
	file, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return File{}, err
	}
	f, err := Decode(bufio.NewReaderSize(file, 1<<16), info.Size())
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Decode reads a checkpoint of size bytes. It allocates no more than a few times
// that, whatever the header says.
func Decode(r io.Reader, size int64) (File, error) {
	entries, meta, dataSize, err := decodeHeader(r, size)
	if err != nil {
		return File{}, err
	}
	names, err := layout(entries, dataSize)
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
		values, err := readFloats(data, int(e.Offsets[1]-e.Offsets[0])/4)
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
		return fail("truncated: %d bytes are no checkpoint", size)
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

// ends reports whether there was less to read than there should be.
func ends(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }

// layout checks that the tensors make up the data without gap or overlap, and
// returns their names in the order of the data.
func layout(entries map[string]entry, dataSize int64) ([]string, error) {
	names := slices.SortedFunc(maps.Keys(entries), func(a, b string) int {
		x, y := entries[a].Offsets, entries[b].Offsets
		return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]), cmp.Compare(a, b))
	})
	offset := int64(0)
	for _, name := range names {
		e := entries[name]
		switch bytes, ok := sizeOf(e.Shape); {
		case e.Type != "F32":
			return nil, damage.Errorf("tensor %.80q is %.20q; only F32 is read", name, e.Type)
		case e.Offsets[0] != offset || e.Offsets[1] < offset:
			return nil, damage.Errorf("altered: tensor %.80q lies at %d to %d, expected to begin at %d", name, e.Offsets[0], e.Offsets[1], offset)
		case !ok || bytes != e.Offsets[1]-e.Offsets[0]:
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

// sizeOf is the size of a tensor in bytes; false if it has none.
func sizeOf(shape []int) (int64, bool) {
	n := int64(4)
	for _, d := range shape {
		if d < 0 || d > 0 && n > math.MaxInt64/int64(d) {
			return 0, false
		}
		n *= int64(d)
	}
	return n, true
}

func readFloats(r io.Reader, n int) ([]float32, error) {
	raw := make([]byte, 4*n)
	if _, err := io.ReadFull(r, raw); ends(err) {
		return nil, damage.Errorf("truncated: it ends in its tensors")
	} else if err != nil {
		return nil, err
	}
	data := make([]float32, n)
	for i := range data {
		data[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return data, nil
}
