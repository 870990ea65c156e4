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

// gated is a product of all rows with an epilogue: a bias, dropout, a residual, and a gate.
const gated = `kernel gated matmul
  in     x    f32[B * T, 12]
  in     w    f32[12, 72]
  in     bias f32[72]
  in     ids  i32[B * T]
  out    y    f32[B * T, 72]
  inout  z    f32[B * T, 72]
  scalar B, T, example
  span   first, height of B * T

  tile   bits u32[72]
  tile   h f32[72]
  tile   a f32[height, 12]
  tile   c f32[height, 72]
  set    a[i, e] = x[first + i, e]
  set    c[i, e] = 0.0
  dot    c[i, j] += a[i, k] * w[k, j]
  for    i = 0 until height
    let    r = first + i
    random bits[72] = 3 of example + as_u32(r / T) from r % T * 72
    set    h[e] = where(bits[e] < 0x40000000u, 0.0, c[i, e] + bias[e])
    set    z[r, e] = z[r, e] + f32(ids[r]) * h[e]
    set    y[r, e] = where(0.0 < h[e], c[i, e], h[e])
  end
end
`

// TestChoose wants the epilogue in registers exactly if outputs are independent. It wants the
// interpreter's bits from either schedule.
func TestChoose(t *testing.T) {
	var ks []*kernel.Kernel
	for _, c := range []struct{ name, from, to, why string }{
		{"as_it_is", "", "", ""},
		{"columns_one_by_one", "72", "70", "columns are not whole counters of random words"},
		{"words_from_anywhere", "r % T * 72", "r % T * 70", "columns are not whole counters of random words"},
		{"a_sum", "set    y[r, e] =", "reduce s = sum(c[i, e])\n    set    y[r, e] = s +", "rows have sums, loops or conditions"},
		{"a_neighbour", "c[i, e] + bias[e]", "c[i, 71 - e] + bias[e]", "it reads other elements of c than it writes"},
		{"a_neighbour_of_a_buffer", "c[i, e], h[e])", "c[i, e], h[e]) + z[r, 71 - e]", "it reads other elements of z than it writes"},
		{"the_row_before", "c[i, e], h[e])", "c[i, e], h[e]) + z[r / 2 * 2, e]", "its rows need each other"},
		{"one_element", "set    z[r, e]", "set    h[3] = 1.0\n    set    z[r, e]", "it sets something else than one element for each output"},
		{"two_places", "set    y[r, e] =", "set    h[71 - e] = c[i, e]\n    set    y[r, e] =", "it writes h at two places"},
		{"a_grid", "span   first, height of B * T", "grid   first < B * T, height < 1", "it has cells of its own"},
		{"a_statement_before", "dot ", "set    y[first + i, e] = c[i, e]\n  dot ", "it is more than a product and a loop over the rows"},
		{"a_sum_that_goes_on", "set    c[i, e] = 0.0", "set    c[i, e] = bias[e]", "it does not begin with a product of more than one row"},
	} {
		text := strings.ReplaceAll(gated, c.from, c.to)
		text = strings.Replace(text, "kernel gated", "kernel "+c.name, 1)
		k := parsed(t, text)
		choice := ptx.Choose(k, ptx.Options{})
		if got := unfit(choice, "product"); got != c.why || (choice.Name == "product") != (c.why == "") {
			t.Errorf("%s: %s, since %q, want %q\n%s", c.name, choice.Name, got, c.why, choice.Flat)
		}
		ks = append(ks, k)
	}
	either(t, ks)
}

// unfit returns why a kernel does not fit a schedule; "" if no reason is listed.
func unfit(c ptx.Choice, schedule string) string {
	for _, why := range c.Unfit {
		if text, ok := strings.CutPrefix(why, schedule+": "); ok {
			return text
		}
	}
	return ""
}

// parsed returns the kernel of a text.
func parsed(t *testing.T, text string) *kernel.Kernel {
	t.Helper()
	ks, err := kernel.Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return ks[0]
}

// TestTilingsOfReplicas wants the largest tiles that give enough blocks in all replicas of a
// launch.
func TestTilingsOfReplicas(t *testing.T) {
	rows := parsed(t, "kernel rows matmul\n  in x f32[R, 128]\n  in w f32[128, 128]\n  out y f32[R, 128]\n  scalar R\n"+
		"  dot y[i, j] = x[i, k] * w[k, j] for i < R, j < 128, k < 128\nend\n")
	sums := parsed(t, "kernel sums matmul\n  in x f32[R, 128]\n  in g f32[R, 128]\n  inout w f32[128, 128]\n  scalar R\n"+
		"  dot w[i, j] += x[k, i] * g[k, j] for i < 128, j < 128, k < R\nend\n")
	for _, c := range []struct {
		geometry   kernel.Geometry
		rows, sums string
	}{
		{kernel.Geometry{Rows: 2048, Replicas: 16}, "128 x 64 outputs, 128 threads of 8 x 8, sums of 8 a turn, about 512 blocks a launch", "64 x 32 outputs, 128 threads of 4 x 4, sums of 32 a turn, about 128 blocks a launch"},
		{kernel.Geometry{Rows: 250, Replicas: 32}, "128 x 64 outputs, 256 threads of 8 x 4, sums of 16 a turn, about 128 blocks a launch", "64 x 64 outputs, 256 threads of 4 x 4, sums of 16 a turn, about 128 blocks a launch"},
		{kernel.Geometry{Rows: 80, Replicas: 4}, "16 x 16 outputs, 64 threads of 1 x 4, sums of 64 a turn, about 160 blocks a launch", "16 x 32 outputs, 64 threads of 2 x 4, sums of 32 a turn, about 128 blocks a launch"},
	} {
		for k, want := range map[*kernel.Kernel]string{rows: c.rows, sums: c.sums} {
			choice := ptx.Choose(k, ptx.Options{Geometry: func(*kernel.Kernel) kernel.Geometry { return c.geometry }})
			if choice.Pieces != want {
				t.Errorf("%+v, %s: %s, want %s", c.geometry, k.Name, choice.Pieces, want)
			}
		}
	}
}

// TestTilings wants the largest tiles that give enough blocks, and the interpreter's bits from
// tiles of each size.
func TestTilings(t *testing.T) {
	var ks []*kernel.Kernel
	for _, c := range []struct{ rows, cols, products, tile string }{
		{"B * T", "1024", "9", "128 x 64 outputs, 128 threads of 8 x 8, sums of 8 a turn"},
		{"B * T", "512", "18", "128 x 64 outputs, 256 threads of 8 x 4, sums of 16 a turn"},
		{"B * T", "256", "33", "64 x 64 outputs, 256 threads of 4 x 4, sums of 16 a turn"},
		{"B * T", "128", "33", "64 x 32 outputs, 128 threads of 4 x 4, sums of 32 a turn"},
		{"B * T", "64", "64", "32 x 32 outputs, 64 threads of 4 x 4, sums of 32 a turn"},
		{"B * T", "30", "20", "16 x 32 outputs, 64 threads of 2 x 4, sums of 32 a turn"},
		{"B * T", "16", "130", "16 x 32 outputs, 64 threads of 2 x 4, sums of 32 a turn"},
		{"96", "40", "B * T", "16 x 16 outputs, 64 threads of 1 x 4, sums of 64 a turn"},
		{"1024", "1024", "B", "128 x 64 outputs, 256 threads of 8 x 4, sums of 16 a turn"},
		{"2048", "1024", "B", "128 x 64 outputs, 128 threads of 8 x 8, sums of 8 a turn"},
	} {
		text := "kernel tile" + strconv.Itoa(len(ks)) + " matmul\n  in x f32[ROWS, PRODUCTS]\n  in w f32[PRODUCTS, COLS]\n  inout y f32[ROWS, COLS]\n  scalar B, T\n" +
			"  dot y[i, j] += x[i, k] * w[k, j] for i < ROWS, j < COLS, k < PRODUCTS\nend\n"
		k := parsed(t, strings.NewReplacer("ROWS", c.rows, "COLS", c.cols, "PRODUCTS", c.products).Replace(text))
		if got := ptx.Choose(k, ptx.Options{}).Pieces; !strings.HasPrefix(got, c.tile+", about ") {
			t.Errorf("%s x %s: %s, want %s", c.rows, c.cols, got, c.tile)
		}
		ks = append(ks, k)
	}
	ks, launch := full.Some(ks, 3), kerneltest.Launches()[3]
	ptxtest.Compare(t, ks, ptx.Options{}, false, launch)
	ptxtest.Compare(t, ks, ptx.Options{Aligned: func(*kernel.Kernel, int) bool { return true }}, false, launch)
}

// TestComputedFactor wants a left factor computed at its use if the product allows it.
func TestComputedFactor(t *testing.T) {
	const text = `kernel scattered scatter
  in     ids    i32[B * T]
  in     dy     f32[B * T, 72]
  inout  dtable f32[70, 72]
  out    seen   f32[70, B * T]
  scalar B, T
  tile   a f32[70, B * T]
  set    a[i, e] = where(ids[e] % 70 == i, f32(i) + 1.0, 0.0)
  dot    dtable[i, j] += a[i, k] * dy[k, j]
  SEEN
end
`
	var ks []*kernel.Kernel
	for _, c := range []struct{ name, from, to, seen, why string }{
		{"scattered", "", "", "set    seen[i, e] = 0.0", "it does not end with a loop over the rows"},
		{"by_rows", "", "", "for    i = 0 until 70\n    set    seen[i, e] = 1.0 for e < B * T\n  end", "the product has its place in a buffer, and is used there"},
		{"used_again", "", "", "for    i = 0 until 70\n    set    seen[i, e] = a[i, e] for e < B * T\n  end", "the left factor is used for more"},
		{"alone", "", "", "", ""},
		{"another_row", "a[i, k] * dy", "a[0, k] * dy", "", "it does not begin with a product of more than one row"},
	} {
		text := strings.Replace(strings.Replace(text, c.from, c.to, 1), "SEEN", c.seen, 1)
		if c.seen == "" {
			text = strings.Replace(text, "  out    seen   f32[70, B * T]\n", "", 1)
		}
		k := parsed(t, strings.Replace(text, "kernel scattered", "kernel "+c.name, 1))
		choice := ptx.Choose(k, ptx.Options{})
		if got := unfit(choice, "product"); got != c.why {
			t.Errorf("%s: %q, want %q\n%s", c.name, got, c.why, choice.Flat)
		}
		ks = append(ks, k)
	}
	either(t, ks)
}
