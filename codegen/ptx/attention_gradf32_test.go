package ptx_test

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/ptxsim"
)

// gradInF32 turns a gradient of attention in BF16 into one in F32.
func gradInF32(text string) string {
	if strings.Contains(text, "weight[") {
		text = strings.ReplaceAll(text, "pr[e, a1]", "weight[e, a1]")
	}
	text = regexp.MustCompile(`(?m)^ *(tile   dsr |set    dsr\[).*\n`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`f32\((\w+\[[^\]]*\])\)`).ReplaceAllString(text, "$1")
	return inF32(strings.ReplaceAll(text, "dsr[", "ds["))
}

// TestAttentionGradF32 wants a schedule of its own for gradients of attention in F32, and the bits of the
// definition. Registers have the arrays of 64 keys. Shared memory has 64 keys of narrow heads, and 32 of
// wide heads.
func TestAttentionGradF32(t *testing.T) {
	var ks []*kernel.Kernel
	const width = "the width of a head is no multiple of 4 from 16 to 64"
	for _, c := range []struct {
		name           string
		head           int
		text, from, to string
		why            string
	}{
		{"grad_f32_of_64", 64, grading, "", "", ""},
		{"grad_f32_moving", 16, moving.Replace(grading), "", "", ""},
		{"grad_f32_of_table", 20, learning, "", "", ""},
		{"grad_f32_across", 32, across, "", "", ""},
		{"grad_f32_of_16", 16, grading, "", "", ""},
		{"grad_f32_of_36", 36, grading, "", "", ""},
		{"grad_f32_moving_far", 48, moving.Replace(grading), "", "", ""},
		{"grad_f32_of_12", 12, grading, "", "", width},
		{"grad_f32_of_18", 18, grading, "", "", width},
		{"grad_f32_of_68", 68, grading, "", "", width},
		{"grad_f32_of_one_column", 16, learning, "dtable_[first + r, e] = dtable_[first + r, e]", "dtable_[first + r, 0] = dtable_[first + r, 0]", "it adds up other sums"},
		{"grad_f32_of_kept", 16, grading, "set    ds[r, e] = p[r, e] * (ds", "reduce most = max(ds[r, e])\n      set    ds[r, e] = most * weight[r, e] * (ds", "it reads other elements of weight"},
		{"grad_f32_of_other_keys", 16, moving.Replace(grading), "(b * T + lo) * 32", "b * T * 32", "blocks of queries have different keys"},
		{"grad_f32_askew", 16, grading, "let    open = b * T * 32 + h * 16", "let    open = b * T * 32 + h * 18", "k does not lie in units of 16 bytes"},
	} {
		k := parsed(t, strings.Replace(gradInF32(gradingOf(c.text, c.name, c.head)), c.from, c.to, 1))
		choice := ptx.Choose(k, ptx.Options{Aligned: always})
		if got := unfit(choice, "attention_grad_f32"); got != c.why || (choice.Name == "attention_grad_f32") != (c.why == "") {
			t.Errorf("%s: %s, since %q, want %q\n%s", c.name, choice.Name, got, c.why, choice.Flat)
		}
		if c.why == "" {
			ks = append(ks, k)
		}
	}
	launches := func(sizes ...[3]float64) (all []kernel.Scalars) {
		for _, n := range sizes {
			s := maps.Clone(kerneltest.Launches()[1])
			s["B"], s["T"], s["S"], s["P"] = 1, n[0], n[1], n[2]
			all = append(all, s)
		}
		return all
	}
	sizes := [][3]float64{{70, 133, 0}, {7, 5, 1}, {33, 64, 40}, {131, 30, 0}, {64, 65, 0}}
	o := ptx.Options{Aligned: always}
	ptxtest.Compare(t, ks[:full.Either(3, len(ks))], o, *all, launches(sizes[:full.Either(2, len(sizes))]...)...)
	ptxtest.Compare(t, ks[full.Either(3, 0):], o, *all, launches(sizes[2])...)
}

// TestAttentionGradF32Counts wants at most four fifths of the instructions of the schedule for all kernels,
// few conflicts, and two thirds of multiply-adds that count. A tile that the mask opens takes seven
// products, three with rows of queries and four with rows of keys.
func TestAttentionGradF32Counts(t *testing.T) {
	const examples, heads, width, length = 1, 2, 64, 64
	k := parsed(t, gradInF32(gradingOf(untabled(undropped(grading)), "counted", width)))
	s := kernel.Scalars{"B": examples, "T": length, "P": 0, "example": 0}
	bufs, _, err := kerneltest.Interpret(k, s, kerneltest.Signed, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	count := func(o ptx.Options) (c ptxsim.Counts, all int64) {
		c = *launched(t, k, o, 80, s, bufs).Counts
		for _, n := range c.Instructions {
			all += n
		}
		return c, all
	}
	n, all := count(ptx.Options{Aligned: always})
	general, allGeneral := count(ptx.Options{})
	const products = 7 * examples * heads * 32 * (32 + 64) * width / 32
	if 5*all > 4*allGeneral || 2*all > 3*products {
		t.Errorf("%d instructions, %d of the schedule for all kernels, %d multiply-adds", all, allGeneral, products)
	}
	if b := n.Shared(); 50*b.Conflicts > b.Wavefronts || 4*b.Wavefronts > 3*general.Shared().Wavefronts {
		t.Errorf("%+v, %+v of the schedule for all kernels", b, general.Shared())
	}
}
