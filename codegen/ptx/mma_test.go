package ptx_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
	"github.com/arithlang/mlc/internal/full"
)

// narrow is a product of 16-bit factors with an epilogue: a bias, dropout, a residual, and
// outputs of both types.
const narrow = `kernel narrow matmul
  in     x    bf16[B * T, 104]
  in     w    bf16[104, 72]
  in     bias f32[72]
  in     res  bf16[B * T, 72]
  out    y    bf16[B * T, 72]
  inout  z    f32[B * T, 72]
  scalar B, T, example
  span   first, height of B * T

  tile   bits u32[72]
  tile   h f32[72]
  tile   c f32[height, 72]
  set    c[i, e] = 0.0
  dot    c[i, j] += x[first + i, k] * w[k, j] for i < height, j < 72, k < 104
  for    i = 0 until height
    let    r = first + i
    random bits[72] = 3 of example + as_u32(r / T) from r % T * 72
    set    h[e] = where(bits[e] < 0x40000000u, 0.0, c[i, e] + bias[e])
    set    z[r, e] = z[r, e] + f32(res[r, e]) + h[e]
    set    y[r, e] = bf16(where(0.0 < h[e], c[i, e], h[e]))
  end
end
`

// splitOf returns a text like narrow of products of halves, half as many: stages are half as deep.
func splitOf(text string) string {
	return strings.NewReplacer("kernel narrow", "kernel narrow_split", "bf16[", "f32[", "f32(res[r, e])", "res[r, e]", "bf16(", "2.0 * (",
		"x[first + i, k] * w[k, j] for i < height, j < 72, k < 104", "x[first + i, k] * w[k, j]; split", "104", "52").Replace(text)
}

// always says that all buffers are at multiples of 16 bytes.
func always(*kernel.Kernel, int) bool { return true }

// TestMMA wants tensor cores for factors of 16 bits whose rows are whole units, and the
// bits that they give.
func TestMMA(t *testing.T) {
	var ks []*kernel.Kernel
	for _, c := range []struct{ name, from, to, why string }{
		{"narrow_as_it_is", "", "", ""},
		{"narrow_products", "104", "100", "x does not lie in rows of whole units of 16 bytes"},
		{"narrow_columns", "72", "76", "w does not lie in rows of whole units of 16 bytes"},
		{"with_a_sum", "set    z[r, e] =", "reduce s = sum(c[i, e])\n    set    z[r, e] = s +", "rows have sums, loops or conditions"},
	} {
		text := strings.Replace(strings.ReplaceAll(narrow, c.from, c.to), "kernel narrow", "kernel "+c.name, 1)
		k := parsed(t, text)
		choice := ptx.Choose(k, ptx.Options{Aligned: always})
		if got := unfit(choice, "mma"); got != c.why || (choice.Name == "mma") != (c.why == "") {
			t.Errorf("%s: %s, since %q, want %q\n%s", c.name, choice.Name, got, c.why, choice.Flat)
		}
		ks = append(ks, k)
	}
	for _, c := range []struct {
		changes []string
		why     string
	}{
		{nil, ""},
		{[]string{"52", "54"}, "x does not lie in rows of whole units of 16 bytes"},
		{[]string{"  tile   c", "  tile   a f32[height, 52]\n  tile   c", "  dot ", "  set    a[i, e] = x[first + i, e] + 1.0\n  dot ", "x[first + i, k]", "a[i, k]"}, "the left factor is computed"},
	} {
		name := []string{"kernel narrow", "kernel narrow" + strconv.Itoa(len(ks))}
		text := strings.NewReplacer(append(name, c.changes...)...).Replace(splitOf(narrow))
		k := parsed(t, text)
		choice := ptx.Choose(k, ptx.Options{Aligned: always})
		if got := unfit(choice, "mma"); got != c.why || (choice.Name == "mma") != (c.why == "") {
			t.Errorf("split, %q: %s, since %q, want %q\n%s", c.changes, choice.Name, got, c.why, choice.Flat)
		}
		ks = append(ks, k)
	}
	if got := unfit(ptx.Choose(parsed(t, strings.ReplaceAll(narrow, "bf16", "f16")), ptx.Options{}), "tensor cores"); got != "it has no product of BF16 or of halves" {
		t.Errorf("of F16: %q", got)
	}
	const somewhere = "x is not always at a multiple of 16 bytes"
	if got := unfit(ptx.Choose(ks[0], ptx.Options{}), "mma"); got != somewhere {
		t.Errorf("anywhere: %q, want %q", got, somewhere)
	}
	either(t, ks)
}

// TestMMATilings wants the bits of tensor cores from tiles of each size, of factors in
// each direction and format.
func TestMMATilings(t *testing.T) {
	formats := []struct{ typ, split, sums string }{{"bf16", "", "sums of 32"}, {"f32", "; split", "sums of halves of 16"}}
	o := ptx.Options{Aligned: always, Geometry: func(*kernel.Kernel) kernel.Geometry { return kernel.Geometry{Rows: 512, Replicas: 4} }}
	var ks []*kernel.Kernel
	for _, c := range []struct {
		rows, cols string
		products   [2]string // by format
		tile       string
	}{
		{"B * T", "1024", [2]string{"40", "20"}, "128 x 128 outputs, 4 warps of 64 x 64, sums of 32 a turn, 3 stages"},
		{"B * T", "512", [2]string{"136", "68"}, "128 x 64 outputs, 4 warps of 64 x 32, sums of 32 a turn, 4 stages"},
		{"B * T", "264", [2]string{"64", "32"}, "64 x 64 outputs, 4 warps of 32 x 32, sums of 32 a turn, 4 stages"},
		{"B * T", "40", [2]string{"200", "100"}, "32 x 32 outputs, 4 warps of 16 x 16, sums of 32 a turn, 4 stages"},
		{"136", "40", [2]string{"B * T", "B * T"}, "32 x 32 outputs, 4 warps of 16 x 16, sums of 32 a turn, 4 stages"},
		{"520", "520", [2]string{"B", "B"}, "128 x 64 outputs, 4 warps of 64 x 32, sums of 32 a turn, 4 stages"},
	} {
		for _, way := range []struct{ x, xi, w, wi string }{
			{"ROWS, PRODUCTS", "i, k", "PRODUCTS, COLS", "k, j"},
			{"ROWS, PRODUCTS", "i, k", "COLS, PRODUCTS", "j, k"},
			{"PRODUCTS, ROWS", "k, i", "PRODUCTS, COLS", "k, j"},
			{"PRODUCTS, ROWS", "k, i", "COLS, PRODUCTS", "j, k"},
		} {
			for f, form := range formats {
				r := strings.NewReplacer("ROWS", c.rows, "COLS", c.cols, "PRODUCTS", c.products[f])
				if open := r.Replace(way.x) + "|" + r.Replace(way.w); strings.Contains(open+"|", "T|") || strings.Contains(open+"|", "B|") {
					continue // a factor whose rows are not whole units
				}
				text := "kernel tile" + strconv.Itoa(len(ks)) + " matmul\n  in x " + form.typ + "[" + way.x + "]\n  in w " + form.typ + "[" + way.w + "]\n  inout y f32[ROWS, COLS]\n  scalar B, T\n" +
					"  dot y[i, j] += x[" + way.xi + "] * w[" + way.wi + "] for i < ROWS, j < COLS, k < PRODUCTS" + form.split + "\nend\n"
				k, tile := parsed(t, r.Replace(text)), strings.Replace(c.tile, "sums of 32", form.sums, 1)
				choice := ptx.Choose(k, o)
				if choice.Name != "mma" || !strings.HasPrefix(choice.Pieces, tile+", about ") {
					t.Errorf("%s x %s: %s, %s, want %s: %v", c.rows, c.cols, choice.Name, choice.Pieces, tile, choice.Unfit)
				}
				ks = append(ks, k)
			}
		}
	}
	ptxtest.Compare(t, full.Some(ks, 4), o, *all, kerneltest.Launches()[3])
}
