package fragment

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/internal/golden"
	"github.com/arithlang/mlc/runtime/ckpt"
)

// small is a recording with an error in it.
func small(t *testing.T) *Recording {
	r := record(t, 80, Options{Cases: 32, Seed: 5, Only: []string{"neg.f32", "abs.f32", "fma.rn.f32", "mma.m8n8k4.row.col.f64.f64.f64.f64", "movmatrix.m8n8.trans.b16"}})
	r.Probes[1].Error, r.Probes[1].Outputs = "the card is not in the mood", nil
	return r
}

// TestRoundTrip checks that reading returns what was written, and that a seed always gives the
// same bytes.
func TestRoundTrip(t *testing.T) {
	r := small(t)
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back Recording
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(r, &back) {
		t.Error("what is read is not what was written")
	}
	again, err := json.Marshal(small(t))
	if err != nil || string(again) != string(text) {
		t.Error("the same seed gives another recording")
	}
	other, err := json.Marshal(record(t, 80, Options{Cases: 32, Seed: 6, Only: []string{"neg.f32"}}))
	if err != nil || strings.Contains(string(text), string(other)) {
		t.Error("another seed gives the same recording")
	}
}

// TestSize checks that a complete recording of a card, with the inputs of every probe, is small
// enough for a repository. It assumes that results which the simulator lacks do not compress at
// all. Reading returns what was written.
func TestSize(t *testing.T) {
	full.Only(t)
	r := record(t, 90, Options{})
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	size := len(text)
	for _, one := range r.Probes {
		if one.Error != "" {
			size += one.outputBytes() * 4 / 3
		}
	}
	if size > 8<<20 {
		t.Errorf("a recording of everything has %d bytes", size)
	}
	var back Recording
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(r, &back) {
		t.Errorf("what is read is not what was written: %v", err)
	}
}

// TestDamaged checks that every damage is named.
func TestDamaged(t *testing.T) {
	text, err := json.Marshal(small(t))
	if err != nil {
		t.Fatal(err)
	}
	packed := compress(make([]byte, 128))
	for _, c := range []struct{ from, to, want string }{
		{formatName, "mlc-fragment-9", "format"},
		{`"capability":"8.0"`, `"capability":"eight"`, "eight"},
		{`"name":"neg.f32"`, `"name":"abs.f32"`, "twice"},
		{`"name":"neg.f32"`, `"nom":"neg.f32"`, "nom"},
		{`"name":"neg.f32"`, `"name":""`, "no name"},
		{`"threads":1,"cases":32`, `"threads":2,"cases":32`, "fma.rn.f32"},
		{`"threads":1,"cases":32`, `"threads":1,"cases":33`, "multiple"},
		{`"threads":1,"cases":32`, `"threads":1,"cases":64`, "want 768"},
		{`"threads":1,"cases":32`, `"threads":1,"cases":2000000000000`, "fma.rn.f32"},
		{`"threads":1,"cases":32`, `"threads":1,"cases":-32`, "fma.rn.f32"},
		{`"in":["f32"]`, `"in":["f33"]`, "f33"},
		{`"in":["f32"]`, `"in":[]`, "neg.f32"},
		{`"in":["f32"]`, `"in":["f64"]`, "want 256"},
		{`"inputs":"values|32x1|f32"`, `"inputs":"nothing"`, "nothing"},
		{`"values|32x1|f32":"`, `"values|32x1|f32":"!`, "neg.f32"},
		{`"values|32x1|f32":"`, `"more":"` + packed + `","values|32x1|f32":"`, "more"},
		{`"outputs":"H4sI`, `"outputs":"H5sI`, "fma.rn.f32"},
		{`"outputs":"`, `"outputs":"` + packed + `","was":"`, "was"},
		{`"outputs":"`, `"refused":true,"outputs":"`, "refused without an error"},
		{`"error":"the card`, `"box":{"elements":65,"rows":1,"swizzle":0},"error":"the card`, "65 elements"},
		{`"error":"the card`, `"outputs":"` + packed + `","error":"the card`, "neg.f32"},
		{`"probes":[`, `"probes":[null,`, "empty"},
		{`"probes":[`, `"probes":[{},`, "empty"},
	} {
		damaged := strings.Replace(string(text), c.from, c.to, 1)
		if damaged == string(text) {
			t.Fatalf("%s is not in the recording", c.from)
		}
		var r Recording
		if err := json.Unmarshal([]byte(damaged), &r); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q in it", c.to, err, c.want)
		}
	}
}

// TestBomb checks that a file that unpacks to much more than it claims is refused before it is
// unpacked.
func TestBomb(t *testing.T) {
	left := mostBytes
	if _, err := expandBytes(compress(make([]byte, 1<<24)), 4096, &left); err == nil || left != mostBytes-4096 {
		t.Errorf("%v, %d bytes are left", err, left)
	}
	if _, err := expandBytes(compress(nil), mostBytes, &left); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
}

// TestCommitted replays every recording in testdata: recordings of cards, and one of the
// simulator that shows the format.
func TestCommitted(t *testing.T) {
	const format = "testdata/simulated.json"
	if golden.Updating() {
		text, err := json.Marshal(record(t, 80, Options{Cases: 64, Only: []string{"fma.rn.f32", "cvt.rn.bf16x2.f32", "ex2.approx.ftz.f32", "shfl.sync.idx.b32",
			"ldmatrix.m8n8.x4.trans.shared.b16", "mma.m16n8k16.row.col.f32.bf16.bf16.f32"}}))
		if err != nil {
			t.Fatal(err)
		}
		if err := ckpt.WriteFile(format, append(text, '\n')); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var r Recording
		if err := json.Unmarshal(text, &r); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if simulated := strings.HasPrefix(r.Card, "simulated"); simulated != (file == format) {
			t.Errorf("%s has the card %q", file, r.Card)
		}
		found, err := differences(&r)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for i, d := range found {
			if i == 20 {
				t.Errorf("%s: %d more differences", file, len(found)-i)
				break
			}
			t.Errorf("%s: %v", file, d)
		}
	}
}

// FuzzRead reads or refuses any text, and writes again what it has read.
func FuzzRead(f *testing.F) {
	text, err := os.ReadFile("testdata/simulated.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"format":"` + formatName + `","card":"x","capability":"9.0","inputs":{},"probes":[]}`))
	f.Add([]byte(`{"format":"` + formatName + `","capability":"9.0","inputs":{"i":"` + compress(make([]byte, 128)) +
		`"},"probes":[{"name":"n","threads":1,"cases":32,"in":["f32"],"out":["f32"],"inputs":"i","outputs":"` + compress(make([]byte, 128)) + `"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var r Recording
		if json.Unmarshal(text, &r) != nil {
			return
		}
		again, err := json.Marshal(&r)
		if err != nil {
			t.Fatal(err)
		}
		var back Recording
		if err := json.Unmarshal(again, &back); err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		if !reflect.DeepEqual(r, back) {
			t.Fatal("what was read is not what is written")
		}
	})
}
