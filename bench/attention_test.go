package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/internal/full"
)

// TestAttentionIsCompared makes the folder for a machine with a GPU and runs it here, with kernels
// on the simulator. Every contender must be right, one that fails must be reported, and a second
// run must change nothing.
func TestAttentionIsCompared(t *testing.T) {
	python := full.Needs(t, full.Python)
	full.Needs(t, full.CC)
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Env = append(os.Environ(), "MLC_LIBCUDA="+filepath.Join(dir, "libcuda.so"), "MLC_LIBCUDA_MEMORY=cpu",
			"PYTHONDONTWRITEBYTECODE=1", "OMP_NUM_THREADS=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	run("attention/bundle", dir, "2x16")
	run("go", "build", "-buildmode=c-shared", "-o", filepath.Join(dir, "libcuda.so"), "../sim/libcuda")
	if err := os.Remove(filepath.Join(dir, "packages", "alibi_h2_d16", "bfloat16.ptx")); err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(dir, "record.json")
	compare := []string{filepath.Join(dir, "compare.py"), filepath.Join(dir, "packages"), "-o", record, "--device", "cpu",
		"--only", "kerple 3x2x9x16 *", "--only", "alibi 1x2x37x16 bfloat16", "--only", "t5 1x2x37x16 float32", "--only", "fire 3x2x9x16 bfloat16"}
	run(python, compare...)
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Contests []struct {
			Contest, Message string
			Ended            bool
			Contenders       map[string]struct {
				Message string
				Errors  map[string]float64
				Called  struct{ Seconds []float64 } `json:"called both"`
			}
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range got.Contests {
		names = append(names, c.Contest)
		if c.Message != "" || !c.Ended || len(c.Contenders) != 4 {
			t.Errorf("%s: %q with %d contenders", c.Contest, c.Message, len(c.Contenders))
		}
		for name, one := range c.Contenders {
			if name == "mlc" && strings.HasPrefix(c.Contest, "alibi") {
				if !strings.Contains(one.Message, "bfloat16.ptx") || one.Called.Seconds != nil {
					t.Errorf("%s without kernels: %q, %v", c.Contest, one.Message, one.Called.Seconds)
				}
				continue
			}
			least := 4 // results and gradients, more with parameters
			if strings.HasPrefix(name, "flex") {
				least = 1 // no gradients of q, k and v on a processor
			}
			if one.Message != "" || len(one.Errors) < least || len(one.Called.Seconds) == 0 {
				t.Errorf("%s, %s: %q, errors %v, seconds %v", c.Contest, name, one.Message, one.Errors, one.Called.Seconds)
			}
		}
	}
	want := []string{"kerple 3x2x9x16 bfloat16", "alibi 1x2x37x16 bfloat16", "fire 3x2x9x16 bfloat16", "kerple 3x2x9x16 float32", "t5 1x2x37x16 float32"}
	if !slices.Equal(names, want) {
		t.Errorf("contests %v, want %v", names, want)
	}
	run(python, compare...)
	if again, err := os.ReadFile(record); err != nil || string(again) != string(text) {
		t.Errorf("a second run changes the record: %v\n%s", err, again)
	}

	script, picture := filepath.Join(dir, "page.py"), filepath.Join(dir, "bars.svg")
	tables := run(python, script, record, "--svg", picture)
	for _, part := range []string{"No measurement", "| kerple | 3 × 2 × 9 × 16 |", "| alibi | 1 × 2 × 37 × 16 | fails [", "bfloat16.ptx"} {
		if !strings.Contains(tables, part) {
			t.Errorf("no %q in\n%s", part, tables)
		}
	}
	if svg, err := os.ReadFile(picture); err != nil || !strings.Contains(string(svg), "(no measurement)") {
		t.Errorf("%v: %s", err, svg)
	}
	if out, err := exec.Command(python, script, record, "../docs/attention.md").CombinedOutput(); err == nil {
		t.Errorf("a page takes a record that measures nothing: %s", out)
	}
}

// TestPageOfAttention writes a record into a copy of docs/attention.md, whose other text stays.
func TestPageOfAttention(t *testing.T) {
	python := full.Needs(t, full.Python)
	dir := t.TempDir()
	record, page := filepath.Join(dir, "record.json"), filepath.Join(dir, "page.md")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(record, `{"measurement": true, "versions": {"device": "card", "torch": "2.0"}, "contests": [
		{"contest": "x", "bias": "kerple", "shape": [1, 2, 3, 16], "dtype": "bfloat16", "ended": true, "contenders": {
			"mlc": {"memory": 1048576, "graph forward": {"seconds": [1e-6, 2e-6, 4e-6]}, "graph both": {"seconds": [2e-6, 6e-6, 8e-6]}},
			"flex": {"memory": 3145728, "graph forward": {"seconds": [2e-6, 2e-6, 3e-6]}, "graph both": {"seconds": [8e-6, 4e-6, 9e-6]}},
			"flex_table": {"message": "no | luck"},
			"sdpa": {"graph forward": {"seconds": [9e-6, 9e-6, 9e-6]}, "graph both": {"message": "no graph"}}}}]}`)
	before, err := os.ReadFile("../docs/attention.md")
	if err != nil {
		t.Fatal(err)
	}
	const begins, ends = "<!-- speeds of attention: ", "<!-- end of speeds of attention -->"
	head, rest, ok := strings.Cut(string(before), begins)
	line, rest, _ := strings.Cut(rest, "\n")
	_, tail, found := strings.Cut(rest, ends)
	if !ok || !found {
		t.Fatal("docs/attention.md has no place for speeds")
	}
	write(page, string(before))
	if out, err := exec.Command(python, "attention/page.py", record, page).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text, ok := strings.CutPrefix(string(got), head+begins+line+"\n")
	text, found = strings.CutSuffix(text, ends+tail)
	if !ok || !found {
		t.Errorf("the page is\n%s", got)
	}
	for _, part := range []string{
		"Measured on card: PyTorch 2.0.\n",
		// Rounds: 2, 1, 0.75. Medians: 8 - 2 and 6 - 2.
		"| kerple | 1 × 2 × 3 × 16 | 2.0 / 4.0 | 1.00 / 1.50 | fails [1] | 4.50 / [2] |\n",
		"| kerple | 1 × 2 × 3 × 16 | 1.0 | 3.0 |  |  |\n",
		"- [1] no / luck\n- [2] no graph\n",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}
