// Package records has no code. It holds results of cards, and replays them.
package records

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/prove"
	"github.com/arithlang/mlc/prove/fragment"
)

// notRun are the probes with an error in a record. They have never run on that card, so
// nothing is known about them.
var notRun = map[string][]string{
	"h100-2026-11-26.json.gz": {
		"cp.async.bulk.tensor.2d.shared.global box 64 8 swizzle 0",
		"cp.async.bulk.tensor.2d.shared.global box 16 8 swizzle 0",
		"cp.async.bulk.tensor.2d.shared.global box 16 8 swizzle 32",
		"cp.async.bulk.tensor.2d.shared.global box 32 8 swizzle 64",
		"cp.async.bulk.tensor.2d.shared.global box 64 8 swizzle 128",
		"cp.async.bulk.tensor.2d.shared.global box 32 5 swizzle 128",
	},
}

// TestRecords checks that the simulator matches the cards in every result of every record that it
// claims to know.
func TestRecords(t *testing.T) {
	files, err := filepath.Glob("*.json.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("no records: %v", err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			r, err := prove.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			report, err := prove.Replay(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range report.Differences {
				t.Error(d)
			}
			var failed []string
			compared := 0
			for _, row := range report.Rows {
				if row.Error != "" {
					failed = append(failed, row.Probe)
				}
				if row.Claim != fragment.Unknown {
					compared++
				}
				if row.Claim != fragment.Unknown && row.Results == 0 && row.Error == "" {
					t.Errorf("nothing was compared of %s", row.Probe)
				}
			}
			if !slices.Equal(failed, notRun[file]) {
				t.Errorf("these probes did not run:\n%s\nknown to fail are\n%s", strings.Join(failed, "\n"), strings.Join(notRun[file], "\n"))
			}
			t.Logf("%d of %d probes compared", compared, len(report.Rows))
		})
	}
}

// TestResults reads the results without recordings.
func TestResults(t *testing.T) {
	files, err := filepath.Glob("*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no results: %v", err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".bench.json") {
			continue // TestPage reads it
		}
		r, err := prove.Load(file)
		if err != nil || r.Device != "cuda" || len(r.Phases) == 0 || len(r.Phases[0].Parts) == 0 {
			t.Errorf("%s: %v, %+v", file, err, r)
		}
	}
}

// recordings returns all recordings of a result.
func recordings(r *prove.Result) []*fragment.Recording {
	var all []*fragment.Recording
	for _, p := range r.Phases {
		for _, part := range p.Parts {
			if part.Fragments != nil {
				all = append(all, part.Fragments.Recording)
			}
		}
	}
	return all
}

// TestModels changes a bit of a result of every modelled probe, and wants it found.
func TestModels(t *testing.T) {
	r, err := prove.Load("h100-2026-11-26.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	report, err := prove.Replay(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	claims := map[string]fragment.Claim{}
	for _, row := range report.Rows {
		claims[row.Probe] = row.Claim
	}
	changed := map[string]bool{}
	for _, recording := range recordings(r) {
		recording.Probes = slices.DeleteFunc(recording.Probes, func(one *fragment.Recorded) bool {
			return claims[one.Name] != fragment.Modelled || one.Error != ""
		})
		for _, one := range recording.Probes {
			one.Outputs[len(one.Outputs)/2] ^= 1
			changed[one.Name] = true
		}
	}
	report, err = prove.Replay(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range report.Differences {
		if !changed[d.Probe] {
			t.Errorf("found besides: %s", d)
		}
		delete(changed, d.Probe)
	}
	if len(changed) > 0 || len(report.Differences) < 40 {
		t.Errorf("%d differences are found, none of %v", len(report.Differences), changed)
	}
	for _, recording := range recordings(r) {
		recording.Capability = "10.0" // tensor cores of another generation
	}
	if report, err = prove.Replay(t.Context(), r); err != nil || len(report.Differences) > 0 {
		t.Errorf("models are compared with compute capability 10.0: %v, %v", report.Differences, err)
	}
}

// TestLoad reads a record compressed and expanded, and refuses a truncated one.
func TestLoad(t *testing.T) {
	const file = "h100-2026-11-26.json.gz"
	packed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var plain bytes.Buffer
	if _, err := plain.ReadFrom(z); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "result")
	load := func(text []byte) (*prove.Result, error) {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return prove.Load(path)
	}
	a, err := load(plain.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if b, err := load(packed); err != nil || a.Page() != b.Page() {
		t.Errorf("compressed: %v, and another page", err)
	}
	for _, cut := range [][]byte{packed[:5], packed[:len(packed)/2], packed[:len(packed)-1]} {
		if _, err := load(cut); err == nil || !strings.Contains(err.Error(), "is not a result of mlc prove") {
			t.Errorf("%d bytes of %d: %v", len(cut), len(packed), err)
		}
	}
}
