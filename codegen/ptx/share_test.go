package ptx_test

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler/kernel"
)

// TestFollow has whole tiles of columns, with tensor cores and without. A thread reads ahead the
// elements after the product, or the epilogue is so long that it is a loop.
func TestFollow(t *testing.T) {
	wide := strings.NewReplacer("72", "512", "104", "40")
	long := strings.NewReplacer("+ h\n  with   y", "+ erf(exp(h))\n  with   y", "res[r, e]) + h[e]", "res[r, e]) + erf(exp(h[e]))")
	short := strings.NewReplacer("dropout 0.25 stream 3 of c + bias[e]", "c + bias[e]", "    random bits[72] = 3 of example + as_u32(r / T) from r % T * 72\n", "",
		"  tile   bits u32[72]\n", "", "where(bits[e] < 0x40000000u, 0.0, c[i, e] + bias[e])", "c[i, e] + bias[e]")
	var ks []*kernel.Kernel
	for _, c := range []struct {
		name, schedule, text string
		stores, ahead        int // all stores; loads of fours before the first store, including the factors' loads
	}{
		{"ahead", "mma", wide.Replace(short.Replace(narrow)), 2 * 16, 3 * 3},
		{"long", "mma", long.Replace(wide.Replace(narrow)), 2 * 4, 3 * 3},
		{"plain_long", "product", strings.NewReplacer("bf16[", "f32[", "f32(res[r, e])", "res[r, e]", "bf16(", "2.0 * (").Replace(long.Replace(wide.Replace(narrow))), 2, 3 + 6},
	} {
		k := parsed(t, strings.Replace(c.text, "kernel narrow", "kernel "+c.name, 1))
		o := ptx.Options{Aligned: always}
		if choice := ptx.Choose(k, o); choice.Name != c.schedule {
			t.Errorf("%s: %s, since %v, want %s", c.name, choice.Name, choice.Unfit, c.schedule)
		}
		code, err := ptx.Module([]*kernel.Kernel{k}, o)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(code.Text), "st.global."); n != c.stores {
			t.Errorf("%s has %d stores, want %d", c.name, n, c.stores)
		}
		before, _, _ := strings.Cut(string(code.Text), "st.global.")
		if n := strings.Count(before, "ld.global.v4"); n != c.ahead {
			t.Errorf("%s has %d loads before the first store, want %d", c.name, n, c.ahead)
		}
		ks = append(ks, k)
	}
	ptxtest.Compare(t, ks, ptx.Options{Aligned: always}, *all)
}
