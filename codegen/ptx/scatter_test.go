package ptx_test

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler/kernel"
)

// read is the gradient of a table whose rows were gathered.
const read = `kernel read scatter
  in     ids    i32[B * T]
  in     dy     f32[B * T, 64]
  inout  dtable f32[9, 64]
  scalar B, T

  tile   id i32[B * T]
  tile   a f32[9, B * T]
  tile   b f32[B * T, 64]
  tile   c f32[9, 64]
  set    id[e] = ids[e]
  set    a[a1, e] = where(id[e] == a1, 1.0, 0.0)
  set    b[a1, e] = dy[a1, e]
  set    c[a1, e] = dtable[a1, e]
  dot    c[a1, a2] += a[a1, e] * b[e, a2]
  set    dtable[a1, e] = c[a1, e]
end
`

// TestScatter wants rows of a table by warps where the left factor is 1 or 0, and only there; and
// the interpreter's bits either way.
func TestScatter(t *testing.T) {
	var ks []*kernel.Kernel
	for _, c := range []struct{ name, from, to, why string }{
		{"as_it_is", "", "", ""},
		{"few_columns", "64", "3", ""},
		{"odd_columns", "64", "41", ""},
		{"one_vector_more", "64", "132", ""},
		{"several_blocks", "64", "520", ""},
		{"first_writes", "set    c[a1, e] = dtable[a1, e]", "set    c[a1, e] = 0.0", ""},
		{"rows_from_one_on", "id[e] == a1", "id[e] == a1 + 1", ""},
		{"all_rows_but_one", "id[e] == a1", "id[e] != a1", ""},
		{"every_row", "id[e] == a1", "id[e] < 1000000", ""},
		{"no_row", "id[e] == a1", "id[e] == a1 + 1000000", ""},
		{"half", "1.0, 0.0", "0.5, 0.0", "its left factor is something else than 1 or 0"},
		{"rest", "1.0, 0.0", "1.0, 0.5", "its left factor is something else than 1 or 0"},
	} {
		text := read
		if c.from != "" {
			text = strings.ReplaceAll(text, c.from, c.to)
		}
		k := parsed(t, strings.Replace(text, "kernel read", "kernel "+c.name, 1))
		choice := ptx.Choose(k, ptx.Options{})
		if why := unfit(choice, "scatter"); why != c.why || (choice.Name == "scatter") != (c.why == "") {
			t.Errorf("%s: %s, since %q, want %q\n%s", c.name, choice.Name, why, c.why, choice.Flat)
		}
		ks = append(ks, k)
	}
	either(t, ks)
}
