package check

import (
	"encoding/binary"
	"encoding/json"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/dsl/diag"
)

// resolve checks a spec of several files.
func resolve(files map[string]string, main string) (*Spec, diag.List) {
	return Resolve(options(files, main))
}

// resolveAny checks a spec of a model, a *Spec, or of attention alone, an *Attention. It
// also returns the resolved form, or "" after errors.
func resolveAny(opts Options) (spec any, resolved string, list diag.List) {
	if IsAttention(opts) {
		a, list := ResolveAttention(opts)
		if a == nil {
			return nil, "", list
		}
		return a, a.Resolved, list
	}
	s, list := Resolve(opts)
	if s == nil {
		return nil, "", list
	}
	return s, s.Resolved, list
}

// options are those of a spec of several files. Lines of the main file that begin with
// "--set" are options of the command line.
func options(files map[string]string, main string) Options {
	var set []string
	var lines []string
	for _, l := range strings.SplitAfter(files[main], "\n") {
		if option, ok := strings.CutPrefix(l, "--set "); ok {
			set = append(set, strings.TrimSuffix(option, "\n"))
		} else {
			lines = append(lines, l)
		}
	}
	read := reader(files)
	return Options{Path: main, Set: set, Read: func(path string) ([]byte, error) {
		if path == main {
			return []byte(strings.Join(lines, "")), nil
		}
		return read(path)
	}}
}

// withLimits adds what cannot be lowered yet to the findings.
func withLimits(spec *Spec, list diag.List) diag.List {
	if spec == nil {
		return list
	}
	return append(list, Lowerable(spec)...).Sort()
}

// example returns an example of a code with the files that examples name.
func example(text string) map[string]string {
	return map[string]string{
		"example.arith": text, "base.arith": "arith 2\n", "roman.txt": "XIV=14\nVI=6\n", "later.txt": "XVI=16\n", "hundreds.txt": "CIV=104\n",
		"twice.txt": "XIV=14\nVI=6\nXIV=15\n", "again.txt": "XIV=14\nVI=6\nXIV=14\n", "spaces.txt": "XIV=14 \nVI=6 \n",
		"bias.safetensors":  safetensors(`{"b":{"dtype":"F32","shape":[4,8,8]}}`),
		"lines.safetensors": safetensors(`{"__metadata__":{"stage":"calibrate"},"cross":{"dtype":"F32","shape":[4,21,22]}}`),
	}
}

// safetensors returns a file with the header, and zeros for the tensors whose shape it
// gives.
func safetensors(header string) string {
	var data []byte
	var tensors map[string]map[string]any
	if json.Unmarshal([]byte(header), &tensors) == nil {
		for _, name := range slices.Sorted(maps.Keys(tensors)) {
			size := 4
			shape, _ := tensors[name]["shape"].([]any)
			for _, d := range shape {
				size *= max(int(d.(float64)), 0)
			}
			tensors[name]["data_offsets"] = []int{len(data), len(data) + size}
			data = append(data, make([]byte, size)...)
		}
		text, _ := json.Marshal(tensors)
		header = string(text)
	}
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + string(data)
}

func reader(files map[string]string) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		if text, ok := files[path]; ok {
			return []byte(text), nil
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
}

// TestCodes runs the examples of every code. The broken example must have only this
// finding, the mended one none.
func TestCodes(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range diag.Codes() {
		if seen[c.ID] {
			t.Errorf("%s is documented twice", c.ID)
		}
		seen[c.ID] = true
		t.Run(c.ID, func(t *testing.T) {
			if c.Title == "" || c.Doc == "" {
				t.Error("title or doc is missing")
			}
			limit := strings.HasPrefix(c.ID, "E04")
			run := func(text string) diag.List {
				spec, list := resolve(example(text), "example.arith")
				if (spec == nil) != list.HasErrors() {
					t.Errorf("spec is nil: %v, errors: %v", spec == nil, list.HasErrors())
				}
				if limit {
					return withLimits(spec, list)
				}
				return list
			}
			broken := run(c.Broken)
			found := false
			for _, d := range broken {
				found = found || d.Code == c.ID
				if d.Code != c.ID && !(limit && strings.HasPrefix(d.Code, "E04")) {
					t.Errorf("the broken example has %s: %s", d.Code, d.Message)
				}
				if d.Help == "" {
					t.Errorf("%q has no help", d.Message)
				}
				if !d.Range.Start.IsValid() {
					t.Errorf("%q has no place", d.Message)
				}
			}
			if !found {
				t.Errorf("the broken example does not have %s", c.ID)
			}
			for _, d := range run(c.Mended) {
				t.Errorf("the mended example has %s: %s", d.Code, d.Message)
			}
		})
	}
}
