package train

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/device"
)

// TestRules finds names by rules. Stars match the same text on both sides.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		rule, param, want string
		about             bool
	}{
		{"a=b", "a", "b", true},
		{"a=b", "ab", "", false},
		{"decoder.*.self.q.w=layers.*.q", "decoder.11.self.q.w", "layers.11.q", true},
		{"decoder.*.self.q.w=layers.*.q", "decoder.1.cross.q.w", "", false},
		{"*.*.w=x.*.*", "loop.0.q.w", "x.loop.0.q", true},
		{"*=net.*", "embed.token", "net.embed.token", true},
		{"*.*=*", "a.b", "a", true},
		{"head.*=", "head.out.w", "", true},
		{" a = transpose( b ) ", "a", "b", true},
	} {
		r, err := ParseRule(c.rule)
		if err != nil {
			t.Errorf("%q: %v", c.rule, err)
			continue
		}
		if got, about := r.find(c.param); got != c.want || about != c.about {
			t.Errorf("%q of %s: %q, %v", c.rule, c.param, got, about)
		}
	}
}

// TestBadRules rejects texts that are not rules.
func TestBadRules(t *testing.T) {
	for rule, want := range map[string]string{
		"a":                 "want OURS=THEIRS",
		"=b":                "want OURS=THEIRS",
		"a=transpose()":     "want OURS=THEIRS",
		"a=transpose(b":     "transpose( is not closed",
		"a=*":               "more stars than ours",
		"a.*=b.*.*":         "more stars than ours",
		"*=transpose(*.*)":  "more stars than ours",
		"=transpose( b.c )": "want OURS=THEIRS",
	} {
		if r, err := ParseRule(rule); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %s", rule, r, err, want)
		}
	}
}

// TestMisfits checks that the error for an unfit tensor says what would fit.
func TestMisfits(t *testing.T) {
	wide := device.Param{Name: "q.w", Shape: []int{2, 3}}
	for _, c := range []struct{ got, want string }{
		{misfit(wide, Rule{Theirs: "w"}, []int{2, 4}), "q.w [2 3]: w has shape [2 4]"},
		{misfit(wide, Rule{Theirs: "w"}, []int{3, 2}), "q.w [2 3]: w has shape [3 2]; it fits by --map 'q.w=transpose(w)'"},
		{misfit(wide, Rule{Theirs: "w", Transpose: true}, []int{3, 2}), "q.w [2 3]: w has shape [3 2]; it fits by --map 'q.w=w'"},
		{misfit(wide, Rule{Theirs: "w"}, []int{3, 2, 1}), "q.w [2 3]: w has shape [3 2 1]"},
		{misfit(device.Param{Name: "b", Shape: []int{3}}, Rule{Theirs: "w"}, []int{6}), "b [3]: w has shape [6]"},
		{missing(wide, "w", ""), "q.w [2 3]: the file has no w; name another by --map 'q.w=…', or leave it new by --map 'q.w='"},
		{missing(wide, "w", "I64"), "q.w [2 3]: w is I64 in the file; F64, F32, BF16 and F16 are read"},
		{unused(nil), ""},
		{unused([]string{"a", "b"}), "\nnot used of the file: a, b"},
		{unused(strings.Split(strings.Repeat("x", 20), "")), "\nnot used of the file: x" + strings.Repeat(", x", 19)},
		{unused(strings.Split(strings.Repeat("x", 22), "")), "\nnot used of the file: x" + strings.Repeat(", x", 19) + " and 2 more"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// TestTransposed transposes matrices only.
func TestTransposed(t *testing.T) {
	for _, c := range []struct{ from, want ckpt.Tensor }{
		{ckpt.Tensor{Name: "w", Shape: []int{2, 3}, Data: []float32{1, 2, 3, 4, 5, 6}}, ckpt.Tensor{Name: "w", Shape: []int{3, 2}, Data: []float32{1, 4, 2, 5, 3, 6}}},
		{ckpt.Tensor{Name: "w", Shape: []int{1, 2}, Data: []float32{1, 2}}, ckpt.Tensor{Name: "w", Shape: []int{2, 1}, Data: []float32{1, 2}}},
		{ckpt.Tensor{Name: "b", Shape: []int{2}, Data: []float32{1, 2}}, ckpt.Tensor{Name: "b", Shape: []int{2}, Data: []float32{1, 2}}},
		{ckpt.Tensor{Name: "c", Shape: []int{1, 2, 2}, Data: []float32{1, 2, 3, 4}}, ckpt.Tensor{Name: "c", Shape: []int{1, 2, 2}, Data: []float32{1, 2, 3, 4}}},
	} {
		if diff := cmp.Diff(c.want, transposed(c.from)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.from.Name, diff)
		}
	}
}

// TestImport reads a file of other names, and lists all that does not fit.
func TestImport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "theirs.safetensors")
	nan := float32(math.NaN())
	if err := ckpt.Write(path, ckpt.File{Tensors: []ckpt.Tensor{
		{Name: "a", Shape: []int{2}, Data: []float32{1, 2}}, {Name: "net.m", Shape: []int{1, 2}, Data: []float32{3, 4}},
		{Name: "bad", Shape: []int{2}, Data: []float32{nan, 1}}, {Name: "more", Shape: []int{1}, Data: []float32{9}},
	}}); err != nil {
		t.Fatal(err)
	}
	a, m := device.Param{Name: "a", Shape: []int{2}}, device.Param{Name: "m", Shape: []int{2, 1}, Off: 2}
	given := device.Param{Name: "given", Shape: []int{2}, Off: 4, Fixed: true}
	for _, c := range []struct {
		name        string
		rules       []string
		params      []device.Param
		want        []string // the error's lines but the first
		new, unused []string
		weights     []float32
	}{
		{"by a rule", []string{"m=transpose(net.m)"}, []device.Param{a, m, given}, nil, nil, []string{"bad", "more"}, []float32{1, 2, 3, 4, 5, 6}},
		{"new weights", []string{"m="}, []device.Param{a, m}, nil, []string{"m"}, []string{"net.m", "bad", "more"}, nil},
		{"a fixed one that is not finite", []string{"given=bad"}, []device.Param{a, given}, nil, nil, []string{"net.m", "more"}, nil},
		{"all that is wrong", []string{"m=net.m", "given=gone", "b=bad"}, []device.Param{a, m, given, {Name: "b", Shape: []int{2}}, {Name: "lost", Shape: []int{1}}}, []string{
			"  m [2 1]: net.m has shape [1 2]; it fits by --map 'm=transpose(net.m)'",
			"  given [2]: the file has no gone; name another by --map 'given=…', or leave it new by --map 'given='",
			`  tensor "bad" is not finite: its element 0 is NaN`,
			"  lost [1]: the file has no lost; name another by --map 'lost=…', or leave it new by --map 'lost='",
			"not used of the file: more",
		}, nil, nil, nil},
	} {
		var rules []Rule
		for _, text := range c.rules {
			r, err := ParseRule(text)
			if err != nil {
				t.Fatal(err)
			}
			rules = append(rules, r)
		}
		in, err := Import(path, rules, c.params)
		if c.want != nil {
			if err == nil || !strings.HasSuffix(err.Error(), strings.Join(c.want, "\n")) {
				t.Errorf("%s: %v, want %s", c.name, err, strings.Join(c.want, "\n"))
			}
			continue
		}
		if err != nil || !slices.Equal(in.New, c.new) || !slices.Equal(in.Unused, c.unused) {
			t.Errorf("%s: %v, new are %v, unused %v; want %v, %v", c.name, err, in.New, in.Unused, c.new, c.unused)
			continue
		}
		machine := newMemory()
		err = in.Use(machine, c.params, map[string][]float32{"given": {5, 6}})
		if c.weights != nil && (err != nil || !slices.Equal(machine.floats[device.Params], c.weights)) {
			t.Errorf("%s: a test has %v, %v, want %v", c.name, machine.floats[device.Params], err, c.weights)
		}
		if c.new != nil && (err == nil || !strings.Contains(err.Error(), "has no m, and a test needs all parameters")) {
			t.Errorf("%s: a test without them: %v", c.name, err)
		}
	}
}
