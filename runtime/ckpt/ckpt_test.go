package ckpt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/runtime/damage"
)

func example() File {
	return File{
		Meta: map[string]string{"step": "12", "spec": "arith 2\ntask <successor> & more\n"},
		Tensors: []Tensor{
			{"weight", []int{2, 3}, []float32{1, -2.5, 0, float32(math.Inf(1)), 1e-45, 3}},
			{"a.scalar", []int{}, []float32{7}},
			{"empty", []int{0, 4}, []float32{}},
		},
	}
}

func encoded(t *testing.T, f File) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Encode(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decode(b []byte) (File, error) { return Decode(bytes.NewReader(b), int64(len(b))) }

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	for range 2 {
		if err := Write(path, example()); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(example(), got); diff != "" {
		t.Error(diff)
	}
	onDisk, _ := os.ReadFile(path)
	if !bytes.Equal(onDisk, encoded(t, example())) {
		t.Error("two writings differ")
	}
	if n := binary.LittleEndian.Uint64(onDisk); n%8 != 0 {
		t.Errorf("data are not aligned: the header has %d bytes", n)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("files left behind: %v", left)
	}
}

func TestEveryByteCounts(t *testing.T) {
	good := encoded(t, example())
	for i := range good {
		for _, bit := range []byte{1, 0x20, 0x80} {
			bad := bytes.Clone(good)
			bad[i] ^= bit
			f, err := decode(bad)
			if err == nil && cmp.Diff(example(), f) != "" {
				t.Fatalf("byte %d altered and not noticed", i)
			}
		}
	}
	for n := range good {
		if _, err := decode(good[:n]); err == nil || !strings.Contains(err.Error(), "truncated") {
			t.Fatalf("cut after %d of %d bytes: %v", n, len(good), err)
		}
	}
	if _, err := decode(append(bytes.Clone(good), 0)); err == nil {
		t.Error("a byte too many is not noticed")
	}
}

func TestHostileHeaders(t *testing.T) {
	with := func(header string, data int) []byte {
		b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
		return append(append(b, header...), make([]byte, data)...)
	}
	tensor := func(shape, offsets string) string {
		return `{"x":{"dtype":"F32","shape":` + shape + `,"data_offsets":` + offsets + `},"__metadata__":{"sha256":"00"}}`
	}
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "truncated: 0 bytes"},
		{"huge header", binary.LittleEndian.AppendUint64(nil, 1<<62), "its header would have"},
		{"negative header", binary.LittleEndian.AppendUint64(nil, 1<<63|8), "its header would have"},
		{"header beyond the file", binary.LittleEndian.AppendUint64(nil, 1<<20), "truncated: its header has"},
		{"no JSON", with("GIF89a..", 0), "its header is no JSON object"},
		{"an array", with("[1]", 0), "its header is no JSON object"},
		{"deep", with(strings.Repeat("[", 1<<16), 0), "its header is no JSON object"},
		{"metadata", with(`{"__metadata__":[]}`, 0), "__metadata__"},
		{"no checksum", with(`{}`, 0), "it has no checksum"},
		{"terabytes", with(tensor("[1000000000000]", "[0,4000000000000]"), 4), "truncated"},
		{"overflow", with(tensor("[4611686018427387904,4]", "[0,0]"), 0), "altered"},
		{"negative extent", with(tensor("[-1,-1]", "[0,4]"), 4), "altered"},
		{"negative offset", with(tensor("[1]", "[-4,0]"), 0), "altered"},
		{"backwards", with(tensor("[1]", "[0,-4]"), 0), "altered"},
		{"gap", with(tensor("[1]", "[4,8]"), 8), "altered"},
		{"shape and size", with(tensor("[2]", "[0,4]"), 4), "altered"},
		{"checksum", with(tensor("[1]", "[0,4]"), 4), "altered: its contents"},
		{"type", with(`{"x":{"dtype":"BF16","shape":[],"data_offsets":[0,2]}}`, 2), "only F32"},
		{"overlap", with(`{"x":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"y":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`, 4), "altered"},
	} {
		if _, err := decode(c.file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	var good bytes.Buffer
	if err := Encode(&good, example()); err != nil {
		f.Fatal(err)
	}
	f.Add(good.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := decode(b)
		if err != nil {
			return
		}
		again, err := decode(encoded(t, file))
		if err != nil || cmp.Diff(file.Meta, again.Meta) != "" {
			t.Errorf("does not round-trip: %v", err)
		}
	})
}

// full is a disk with room for the given number of bytes.
type full int

func (f *full) Write(b []byte) (int, error) {
	if len(b) > int(*f) {
		n := int(*f)
		*f = 0
		return n, errors.New("no space left on device")
	}
	*f -= full(len(b))
	return len(b), nil
}

func TestFullDiskLeavesTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := Write(path, example()); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(path)
	for _, room := range []full{0, 5, 100, full(len(before) - 1)} {
		err := replace(path, func(w io.Writer) error {
			return Encode(io.MultiWriter(w, &room), example())
		})
		if err == nil || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("writing to a full disk gives %v", err)
		}
	}
	after, _ := os.ReadFile(path)
	if !bytes.Equal(before, after) {
		t.Error("the old file has changed")
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("files left behind: %v", left)
	}
	if runtime.GOOS == "linux" {
		dev, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip(err)
		}
		defer dev.Close()
		if err := Encode(dev, example()); err == nil {
			t.Error("/dev/full took it")
		}
	}
}

// TestUnreadable distinguishes a file that cannot be read from a damaged one.
func TestUnreadable(t *testing.T) {
	good := encoded(t, example())
	broken := errors.New("input/output error")
	for n := 0; n < len(good); n += 7 {
		_, err := Decode(io.MultiReader(bytes.NewReader(good[:n]), iotest.ErrReader(broken)), int64(len(good)))
		if !errors.Is(err, broken) || damage.Is(err) {
			t.Fatalf("unreadable after %d bytes: %v", n, err)
		}
		if _, err := decode(good[:n]); !damage.Is(err) {
			t.Fatalf("cut after %d bytes: %v", n, err)
		}
	}
	for _, path := range []string{t.TempDir(), filepath.Join(t.TempDir(), "nowhere")} {
		if _, err := Read(path); err == nil || damage.Is(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestClean removes only unfinished files of killed processes.
func TestClean(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run.json")
	var temp string
	err := replace(path, func(io.Writer) error {
		files, _ := os.ReadDir(dir)
		temp = files[0].Name()
		return errors.New("killed")
	})
	if err == nil || !IsTemp(temp) {
		t.Errorf("%q is no temporary file, %v", temp, err)
	}
	stay := []string{".hidden", ".notes.md.1", ".run.json.swp", "run.json", "run.json.1"}
	for _, name := range append(stay, ".run.json.123", ".step-00000003.safetensors.9", ".spec.arith.77", ".grid.csv.1") {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := Clean(dir); err != nil {
		t.Fatal(err)
	}
	var left []string
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		left = append(left, f.Name())
	}
	if diff := cmp.Diff(stay, left); diff != "" {
		t.Error(diff)
	}
}

// TestReadWeights reads the types of floating-point numbers, and names others.
func TestReadWeights(t *testing.T) {
	header := `{"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},"b":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]},` +
		`"c":{"dtype":"F16","shape":[5],"data_offsets":[12,22]},"d":{"dtype":"I32","shape":[1],"data_offsets":[22,26]},"e":{"dtype":"F32","shape":[],"data_offsets":[26,30]}}`
	data := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	data = append(data, header...)
	data = binary.LittleEndian.AppendUint64(data, math.Float64bits(0.1))
	for _, bits := range []uint16{0x3fc0, 0xc000, 0x3c00, 0xc500, 0x0001, 0x7c00, 0x83ff} {
		data = binary.LittleEndian.AppendUint16(data, bits)
	}
	data = binary.LittleEndian.AppendUint32(data, 7)
	data = binary.LittleEndian.AppendUint32(data, math.Float32bits(2.5))
	path := filepath.Join(t.TempDir(), "weights.safetensors")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	all := func(string) bool { return true }
	got, err := ReadWeights(path, all)
	want := Weights{Others: map[string]string{"d": "I32"}, Tensors: []Tensor{{"a", []int{1}, []float32{0.1}}, {"b", []int{2}, []float32{1.5, -2}},
		{"c", []int{5}, []float32{1, -5, 0x1p-24, float32(math.Inf(1)), -1023 * 0x1p-24}}, {"e", []int{}, []float32{2.5}}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	got, err = ReadWeights(path, func(name string) bool { return name == "b" })
	for i := range want.Tensors {
		if want.Tensors[i].Name != "b" {
			want.Tensors[i].Data = nil
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error("what nothing asks for has data: ", err, diff)
	}
	for _, c := range []struct{ from, to, want string }{
		{`"I32"`, `"I33"`, `tensor "d" is "I33"; only BF16, BOOL`},
		{`[12,22]`, `[12,20]`, "altered"},
		{`[26,30]`, `[26,34]`, "altered"},
	} {
		if err := os.WriteFile(path, bytes.Replace(data, []byte(c.from), []byte(c.to), 1), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadWeights(path, all); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s for %s: %v", c.to, c.from, err)
		}
	}
}

// TestManyTensors refuses a header with more tensors than any model has, at once.
func TestManyTensors(t *testing.T) {
	var head bytes.Buffer
	head.WriteString("{")
	for i := range maxTensors + 1 {
		if i > 0 {
			head.WriteString(",")
		}
		fmt.Fprintf(&head, `"%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}`, i)
	}
	head.WriteString("}")
	data := append(binary.LittleEndian.AppendUint64(nil, uint64(head.Len())), head.Bytes()...)
	if _, err := Decode(bytes.NewReader(data), int64(len(data))); !damage.Is(err) || !strings.Contains(err.Error(), "it has 131073 tensors, more than 131072") {
		t.Error(err)
	}
}
