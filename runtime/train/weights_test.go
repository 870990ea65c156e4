package train

import (
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
