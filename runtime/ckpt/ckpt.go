// Package ckpt reads and writes checkpoints: safetensors files with float32 tensors, text about
// the run, and a checksum over both. A file appears complete or not at all, and input is
// treated as hostile. Package train uses it.
//
// The format is that of github.com/huggingface/safetensors: the length of the
// header in 8 bytes, little endian; the header, JSON; the tensors' data.
package ckpt

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"

	"github.com/arithlang/mlc/runtime/disk"
)

// A Tensor is a named array, row-major. A scalar has no extents.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32
}

// Finite returns an error if an element is NaN or infinite: a model with such weights answers,
// but its answers mean nothing.
func (t Tensor) Finite() error {
	for i, x := range t.Data {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return fmt.Errorf("tensor %.80q is not finite: its element %d is %v", t.Name, i, x)
		}
	}
	return nil
}

// A File is a checkpoint: tensors in the order of their data, and text by name.
type File struct {
	Meta    map[string]string
	Tensors []Tensor
}

const (
	metadataKey = "__metadata__"
	checksumKey = "sha256"
	maxHeader   = 64 << 20
	maxTensors  = 1 << 17 // in a file: decoding a million takes a minute
)

// entry is a tensor's line in the header.
type entry struct {
	Type    string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// Write writes a checkpoint to path and replaces an older file: it writes a file next to it,
// waits until that is on disk, and renames it. On an error path is unchanged.
func Write(path string, f File) error {
	return replace(path, func(w io.Writer) error { return Encode(w, f) })
}

// tempName matches the name of a file that replace writes next to another.
var tempName = regexp.MustCompile(`^\..+\.(json|arith|csv|txt|safetensors|png|svg|pdf|mlc)\.[0-9]+$`)

// IsTemp reports whether a file is one that Write or WriteFile has not finished. In a locked
// directory this means that its process was killed.
func IsTemp(name string) bool { return tempName.MatchString(name) }

// Clean removes half-written files of killed processes from a directory, which must be locked.
func Clean(dir string) error {
	found, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range found {
		if !IsTemp(f.Name()) || !f.Type().IsRegular() {
			continue
		}
		if err := disk.Remove(filepath.Join(dir, f.Name())); err != nil {
			return err
		}
	}
	return nil
}

// WriteFile writes text to path in the same way.
func WriteFile(path string, text []byte) error {
	return replace(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

func replace(path string, write func(io.Writer) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(file.Name())
		}
	}()
	if err := write(file); err != nil {
		return err
	}
	if err := file.Chmod(0o644); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := disk.Rename(file.Name(), path); err != nil {
		return err
	}
	return disk.SyncDir(filepath.Dir(path))
}

// Encode writes a checkpoint: the same bytes for the same File.
func Encode(w io.Writer, f File) error {
	entries := make(map[string]entry, len(f.Tensors))
	offset := int64(0)
	for _, t := range f.Tensors {
		end := offset + 4*int64(len(t.Data))
		entries[t.Name] = entry{"F32", shapeOf(t), [2]int64{offset, end}}
		offset = end
	}
	sum := sha256.New()
	sum.Write(header(entries, f.Meta))
	for _, t := range f.Tensors {
		if err := writeFloats(sum, t.Data); err != nil {
			return err
		}
	}
	meta := map[string]string{checksumKey: hex.EncodeToString(sum.Sum(nil))}
	maps.Copy(meta, f.Meta)
	head := header(entries, meta)
	for len(head)%8 != 0 {
		head = append(head, ' ')
	}
	out := bufio.NewWriterSize(w, 1<<16)
	if err := binary.Write(out, binary.LittleEndian, uint64(len(head))); err != nil {
		return err
	}
	if _, err := out.Write(head); err != nil {
		return err
	}
	for _, t := range f.Tensors {
		if err := writeFloats(out, t.Data); err != nil {
			return err
		}
	}
	return out.Flush()
}

// shapeOf returns a shape that is never null in JSON.
func shapeOf(t Tensor) []int { return append([]int{}, t.Shape...) }

// header is canonical: the same bytes for the same entries.
func header(entries map[string]entry, meta map[string]string) []byte {
	all := make(map[string]any, len(entries)+1)
	for name, e := range entries {
		all[name] = e
	}
	all[metadataKey] = meta
	text, err := json.Marshal(all)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return text
}

func writeFloats(w io.Writer, data []float32) error {
	var buf [4096]byte
	for len(data) > 0 {
		n := min(len(data), len(buf)/4)
		for i, x := range data[:n] {
			binary.LittleEndian.PutUint32(buf[4*i:], math.Float32bits(x))
		}
		if _, err := w.Write(buf[:4*n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}
