package ptx_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/internal/full"
)

// TestAttentionWindowGrad wants schedules of their own for gradients of attention whose blocks of queries begin
// with different keys. Windows move forwards and backwards, and all or few keys fit into shared memory.
func TestAttentionWindowGrad(t *testing.T) {
	launches := sampled([]kernel.Scalars{
		{"B": 1, "T": 70, "S": 133, "C": 70, "P": 0},
		{"B": 2, "T": 5, "S": 9, "C": 5, "P": 0},
		{"B": 1, "T": 131, "S": 110, "C": 131, "P": 0},
		{"B": 1, "T": 133, "S": 141, "C": 133, "P": 0},
	})
	for n, c := range full.Some([]struct {
		bias, mask string
		width      int
	}{
		{"kerple()", "i - 20 <= j && j <= i", 64},
		{"none", "i - 50 <= j", 16},
		{"given", "abs(i - j) <= 30", 16},
		{"none", "100 - i <= j && j <= 130 - i", 64},
		{"kerple()", "abs(i - j) <= 70", 128},
		{"none", "37 <= j && j <= i", 48},
		{"kerple()", "i + 11 <= j && j <= i + 47", 96},
		{"given", "2 * i - 40 <= j && j <= 2 * i + 1", 32},
		{"kerple()", "i - 130 <= j && mod(i - j, 3) != 1", 32},
	}, 3) {
		text := fmt.Sprintf("arith 2\nattention {\n  heads = 2\n  width = %d\n  bias = %s\n  mask = %s\n}\n", c.width, c.bias, c.mask)
		a, found, err := compiler.CompileAttention(check.Options{Path: "window.arith", Read: func(string) ([]byte, error) { return []byte(text), nil }})
		if err != nil || found.HasErrors() {
			t.Fatal(text, found, err)
		}
		for name, p := range map[string]*lower.Program{"attention_grad": a.BF16, "attention_grad_f32": a.F32} {
			o, some := codegen.ModuleOptions(p), []kernel.Scalars{launches[n%len(launches)], launches[(n+1)%len(launches)]}
			for _, k := range p.Kernels {
				if k.Kind != "attention_grad" || p == a.F32 && c.width > 64 {
					continue
				}
				if s := ptx.Choose(k, o); s.Name != name {
					t.Errorf("%s: %s, %v", c.mask, s.Name, s.Unfit)
				}
				t.Run(fmt.Sprint(n, name), func(t *testing.T) {
					ptxtest.Compare(t, []*kernel.Kernel{k}, o, *all, some[:full.Either(1, len(some))]...)
				})
				some = some[:1] // packed
			}
		}
	}
}

// moving turns grading into the gradient of an attention whose queries see 21 keys.
var moving = strings.NewReplacer(
	"let    count = max(min(T, max(P + first + 1, P + first + height)), 0)", `let    lo = min(max(P + first - 20, 0), T) / 4 * 4
    let    count = max(min(T, max(P + first + 1, P + first + height)) - lo, 0)`,
	"let    open = b * T * WIDTH", "let    open = (b * T + lo) * WIDTH",
	"table[h, first + a1, e]", "table[h, first + a1, lo + e]",
	"where(e <= P + first + a1, p", "where(P + first + a1 - 20 <= lo + e && lo + e <= P + first + a1, p",
	"((T + 3) / 4 * 4)", "((T + 3) / 4 * 4) + lo",
	"dk_[a1, a2]", "dk_[lo + a1, a2]", "dv_[a1, a2]", "dv_[lo + a1, a2]",
)

// TestAttentionWindowDropout has random words in such a gradient.
func TestAttentionWindowDropout(t *testing.T) {
	k := parsed(t, gradingOf(moving.Replace(grading), "moving", 32))
	o := ptx.Options{Aligned: always}
	if s := ptx.Choose(k, o); s.Name != "attention_grad" {
		t.Error(s.Name, s.Unfit)
	}
	ptxtest.Compare(t, []*kernel.Kernel{k}, o, *all, attended(1)...)
}
