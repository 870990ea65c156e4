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

// inF32 turns an attention in BF16 into one in F32.
func inF32(text string) string {
	text = regexp.MustCompile(`(?m)^ *(tile   pr |set    pr\[).*\n`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`bf16\((\w+\[[^\]]*\])\)`).ReplaceAllString(text, "$1")
	return strings.NewReplacer("bf16[", "f32[", "pr[", "p[").Replace(text)
}

// TestAttentionF32 wants a schedule of its own for attention in F32, and the bits of the definition.
// Registers have the scores of all keys, or of a part of many keys. Shared memory has all keys and
// values of narrow heads, and a part of the keys of wide heads.
func TestAttentionF32(t *testing.T) {
	var ks []*kernel.Kernel
	for _, c := range []struct {
		name          string
		text          string
		from, to, why string
	}{
		{"f32_of_16", attendingOf("f32_of_16", 16), "", "", ""},
		{"f32_of_128", attendingOf("f32_of_128", 128), "", "", ""},
		{"f32_of_64", attendingOf("f32_of_64", 64), "", "", ""},
		{"f32_of_12", attendingOf("f32_of_12", 12), "", "", "the width of a head is no multiple of 4 from 16 to 128"},
		{"f32_of_20", attendingOf("f32_of_20", 20), "", "", ""},
		{"f32_of_100", attendingOf("f32_of_100", 100), "", "", ""},
		{"cached", cached, "", "", ""},
		{"packed", packed, "", "", ""},
		{"f32_by_distance", attendingOf("f32_by_distance", 32), "biases[a1, e], -inf", "0.5 * f32(first + a1 - e), -inf", ""},
		{"f32_of_14", attendingOf("f32_of_14", 14), "", "", "the width of a head is no multiple of 4 from 16 to 128"},
		{"f32_of_132", attendingOf("f32_of_132", 132), "", "", "the width of a head is no multiple of 4 from 16 to 128"},
		{"f32_of_others", attendingOf("f32_of_others", 16), "exp(p[r, e] - shift)", "exp(p[r, count - 1 - e] - shift)", "it reads other elements of p"},
		{"f32_before", attendingOf("f32_before", 16), "p[a1, e] * vs[e, a2]", "p[a1, count - 1 - e] * vs[e, a2]", "its weights are not the rounded scores"},
		{"f32_askew", attendingOf("f32_askew", 16), "b * S * 32 + h * 16", "b * S * 32 + h * 18", "k does not lie in units of 16 bytes"},
	} {
		k := parsed(t, strings.Replace(inF32(c.text), c.from, c.to, 1))
		choice := ptx.Choose(k, ptx.Options{Aligned: always})
		if got := unfit(choice, "attention_f32"); got != c.why || (choice.Name == "attention_f32") != (c.why == "") {
			t.Errorf("%s: %s, since %q, want %q\n%s", c.name, choice.Name, got, c.why, choice.Flat)
		}
		if c.why == "" {
			ks = append(ks, k)
		}
	}
	launches := func(sizes ...[3]float64) (all []kernel.Scalars) {
		for _, n := range sizes {
			s := maps.Clone(kerneltest.Launches()[1])
			s["B"], s["T"], s["S"], s["C"], s["P"] = 1, n[0], n[1], n[1], n[2]
			all = append(all, s)
		}
		return all
	}
	o := ptx.Options{Aligned: always}
	sizes := [][3]float64{{35, 101, 64}, {2, 261, 255}, {5, 7, 1}, {33, 64, 31}, {64, 128, 70}, {67, 261, 150}, {33, 129, 96}}
	ptxtest.Compare(t, ks[:full.Either(2, len(ks))], o, *all, launches(sizes[:full.Either(3, len(sizes))]...)...)
	t.Run("far", func(t *testing.T) {
		kinds := []kerneltest.Kind{kerneltest.Large}
		far := [][3]float64{{20, 41, 0}, {40, 45, 0}, {140, 145, 0}}
		ptxtest.CompareOn(t, kinds, ks[:full.Either(1, 6)], o, *all, launches(far[:full.Either(1, len(far))]...)...)
	})
}

// TestAttentionF32Counts wants at most half of the instructions of the schedule for all kernels, two
// fifths of its wavefronts of shared memory, no conflicts, and three fifths of multiply-adds that
// count. A launch reads queries once, and keys and values once for each block of queries.
func TestAttentionF32Counts(t *testing.T) {
	const examples, heads, width, length = 1, 2, 64, 64
	k := parsed(t, inF32(causalOf(width)))
	s := kernel.Scalars{"B": examples, "T": length}
	bufs, _, err := kerneltest.Interpret(k, s, kerneltest.Signed, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	count := func(o ptx.Options) (ptxsim.Counts, int64) {
		n := launched(t, k, o, 80, s, bufs).Counts
		all := int64(0)
		for _, n := range n.Instructions {
			all += n
		}
		return *n, all
	}
	n, all := count(ptx.Options{Aligned: always})
	general, allGeneral := count(ptx.Options{})
	const products = examples * heads * 32 * (32 + 64) * 2 * width / 32
	if 2*all > allGeneral || 3*all > 5*products {
		t.Errorf("%d instructions, %d of the schedule for all kernels, %d multiply-adds", all, allGeneral, products)
	}
	if b := n.Shared(); b.Conflicts != 0 || 5*b.Wavefronts > 2*general.Shared().Wavefronts {
		t.Errorf("%+v, %+v of the schedule for all kernels", b, general.Shared())
	}
	const row = examples * heads * width * 4 / 32 // sectors
	if got, want := n.Loads.Sectors+n.Copies.Sectors, int64(row*(length+2*(32+64))); got != want {
		t.Errorf("%d sectors are read, want %d", got, want)
	}
	if got := n.Stores.Sectors; got != row*length {
		t.Errorf("%d sectors are written, want %d", got, row*length)
	}
}
