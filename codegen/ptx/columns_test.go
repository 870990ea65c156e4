package ptx_test

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler/kernel"
)

// gains is two sums of columns, of rows that have statistics.
const gains = `kernel gains sum
  in     x    f32[B * T, 41]
  in     ids  i32[B * T]
  out    gain f32[41]
  inout  bias f32[41]
  scalar B, T

  tile   g f32[41]
  tile   b f32[41]
  tile   row f32[41]
  set    g[e] = 0.0
  set    b[e] = bias[e]
  for    r = 0 until B * T
    set    row[e] = x[r, e]
    let    id = f32(ids[r])
    reduce largest = max(row[e])
    reduce sum = sum(row[e] * id - largest)
    set    g[e] = g[e] + row[e] * sum
    set    b[e] = b[e] + row[e]
  end
  set    gain[e] = g[e]
  set    bias[e] = b[e]
end
`

// TestColumns wants columns over blocks exactly if each column is a sum in order of rows. It
// always wants the interpreter's bits, also of rows for several turns.
func TestColumns(t *testing.T) {
	var ks []*kernel.Kernel
	for _, c := range []struct{ name, from, to, why string }{
		{"as_it_is", "", "", ""},
		{"whole_blocks", "41", "96", ""},
		{"few_columns", "41", "3", ""},
		{"no_reduction", "reduce sum = sum(row[e] * id - largest)", "let    sum = id", ""},
		{"another_order", "set    gain[e] = g[e]\n  set    bias[e] = b[e]", "set    bias[e] = b[e]\n  set    gain[e] = g[e]", ""},
		{"not_the_first_row", "r = 0 until", "r = 1 until", "it has no loop over rows"},
		{"two_terms", "b[e] + row[e]", "b[e] + row[e] + id", "a row does something else than adding to each sum once"},
		{"no_sum", "b[e] + row[e]", "row[e] + id", "a row does something else than adding to each sum once"},
		{"a_difference", "b[e] + row[e]", "b[e] - row[e]", "a row does something else than adding to each sum once"},
		{"twice", "set    b[e] = b[e]", "set    b[e] = b[e] + id\n    set    b[e] = b[e]", "a row does something else than adding to each sum once"},
		{"one_reads_another", "b[e] + row[e]", "b[e] + g[e]", "a row reads the sums"},
		{"a_row_reads_a_sum", "sum(row[e] * id", "sum(g[e] * id", "a row reads the sums"},
		{"reads_what_it_writes", "b[e] + row[e]", "b[e] + bias[40 - e] * row[e]", "its rows read other tiles, or what it writes"},
		{"something_behind", "bias[e] = b[e]", "bias[e] = b[e] * 2.0", "it does not end with the sums going to buffers"},
	} {
		text := gains
		if c.from != "" {
			text = strings.ReplaceAll(text, c.from, c.to)
		}
		text = strings.Replace(text, "kernel gains", "kernel "+c.name, 1)
		k := parsed(t, text)
		choice := ptx.Choose(k, ptx.Options{})
		if why := unfit(choice, "columns"); why != c.why || (choice.Name == "columns") != (c.why == "") {
			t.Errorf("%s: %s, since %q, want %q\n%s", c.name, choice.Name, why, c.why, choice.Flat)
		}
		ks = append(ks, k)
	}
	many := parsed(t, `kernel many_rows sum
  in     x    f32[N, 9]
  out    gain f32[9]
  inout  bias f32[9]
  scalar N

  tile   g f32[9]
  tile   b f32[9]
  set    g[e] = 0.0
  set    b[e] = bias[e]
  for    r = 0 until N
    set    g[e] = g[e] + x[r, e] * x[r, e]
    set    b[e] = b[e] + x[r, e]
  end
  set    gain[e] = g[e]
  set    bias[e] = b[e]
end
`)
	if choice := ptx.Choose(many, ptx.Options{}); choice.Name != "columns" || choice.Pieces != "8 columns, 320 threads, 256 rows a turn" {
		t.Errorf("many rows: %s, %s, since %s", choice.Name, choice.Pieces, choice.Unfit)
	}
	either(t, append(ks, squares(t), many))
}

// squares sums all elements of an arena, by sums of 1024 neighbours.
func squares(t *testing.T) *kernel.Kernel {
	t.Helper()
	k := parsed(t, `kernel squares sum
  in     x f32[N]
  out    y f32[1]
  scalar N

  var    total f32
  set    total = 0.0
  for    r = 0 until (N + 1023) / 1024
    reduce sum = sum(x[r * 1024 + e] * x[r * 1024 + e]) for e < min(N - r * 1024, 1024)
    set    total = total + sum
  end
  set    y[0] = total
end
`)
	if choice := ptx.Choose(k, ptx.Options{}); choice.Name != "columns" {
		t.Errorf("sums of all elements: %s, since %s", choice.Name, choice.Unfit)
	}
	return k
}
