package depend

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/kernel"
)

// body reads the statements of a kernel.
func body(t *testing.T, lines string) []kernel.Stmt {
	t.Helper()
	ks, err := kernel.Parse("kernel k row\n  in     x f32[T, 8]\n  in     p i32[T]\n  inout  y f32[T, 8]\n  scalar T\n  grid   r < T\n\n" + lines + "\nend\n")
	if err != nil {
		t.Fatal(err)
	}
	return ks[0].Body
}

// texts returns the distinct accesses as text: a write with !, then its axes.
func texts(as []Access) []string {
	var out []string
	for _, a := range as {
		var index []string
		for _, e := range a.Index {
			index = append(index, e.String())
		}
		s := a.Name + "[" + strings.Join(index, ", ") + "]"
		if a.Write {
			s += "!"
		}
		for _, x := range a.Axes {
			s += fmt.Sprintf(" %s<%v", x.Var, x.Size)
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestOf(t *testing.T) {
	const before = "tile t f32[T, 8]\ntile u u32[T]\nset t[i, j] = 0.0\nvar m f32 = 0.0\n"
	for line, want := range map[string][]string{
		"let s = p[r] + T":                       {"T[]", "p[r]", "r[]", "s[]!"},
		"tile w f32[T]":                          {"T[]"},
		"var v f32":                              nil,
		"var v f32 = m":                          {"m[]", "v[]!"},
		"set m = x[r, 3]":                        {"m[]!", "r[]", "x[r, 3]"},
		"set y[r, j] = t[r, j]":                  {"r[] j<8", "t[r, j] j<8", "y[r, j]! j<8"},
		"set y[p[r], j] = m":                     {"m[] j<8", "p[r] j<8", "r[] j<8", "y[p[r], j]! j<8"},
		"random u[T - 1] = 3 of 7u from r":       {"T[] element<T - 1", "r[] element<T - 1", "u[element]! element<T - 1"},
		"dot m += x[r, k] * t[r, k]":             {"m[] k<8", "m[]! k<8", "r[] k<8", "t[r, k] k<8", "x[r, k] k<8"},
		"dot m = x[r, k] * t[r, k]":              {"m[]! k<8", "r[] k<8", "t[r, k] k<8", "x[r, k] k<8"},
		"dot y[r, j] += x[r, k] * t[k, j]":       {"T[] j<8 k<T", "r[] j<8 k<T", "t[k, j] j<8 k<T", "x[r, k] j<8 k<T", "y[r, j] j<8 k<T", "y[r, j]! j<8 k<T"},
		"reduce s = max(x[r, j])":                {"r[] j<8", "s[]! j<8", "x[r, j] j<8"},
		"for i = r until p[0]\nset m = 0.0\nend": {"p[0]", "r[]"},
		"if y[r, 0] < m\nset m = 0.0\nend":       {"m[]", "r[]", "y[r, 0]"},
	} {
		ss := body(t, before+line)
		if d := cmp.Diff(want, texts(Of(ss[len(ss)-1]))); d != "" {
			t.Errorf("%s (-want +got)\n%s", line, d)
		}
	}
}

// TestWithin wants indices over loops and the values of lets, each name with its meaning at that
// point.
func TestWithin(t *testing.T) {
	as := Within(body(t, `
  for    i = 0 until T
    let    a = i * 2
    if     a < 7
      let    b = a + 1
      set    y[b, j] = 0.0
    end
    for    k = 3 until a
      set    y[b, k] = 1.0 for b < k
    end
  end`))
	as = slices.DeleteFunc(as, func(a Access) bool { return a.Name != "y" })
	want := []string{"y[b, k]! i<T k<<nil> b<k", "y[i * 2 + 1, j]! i<T j<8"}
	if d := cmp.Diff(want, texts(as)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestChanges(t *testing.T) {
	got := Changes(body(t, `
  var    m f32
  let    a = r
  set    y[a, j] = 0.0
  for    i = 0 until T
    reduce s = sum(x[i, k])
    set    m = s
  end`)...)
	want := map[string]bool{"a": true, "y": true, "j": true, "i": true, "s": true, "k": true, "m": true}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestConflict wants statements to have an order if one writes an array or scalar that the other
// accesses.
func TestConflict(t *testing.T) {
	for _, c := range []struct {
		one, other string
		want       bool
	}{
		{"set t[0, j] = x[r, j]", "set y[r, j] = x[r, j]", false},
		{"set t[0, j] = x[r, j]", "set y[r, j] = t[r, j]", true},
		{"set y[r, j] = t[r, j]", "set t[0, j] = x[r, j]", true},
		{"set t[0, j] = 1.0", "set t[1, j] = 2.0", true},
		{"let n = r + 1", "set y[n, j] = 0.0", true},
		{"let n = r + 1", "let o = r + 2", false},
		{"reduce s = sum(x[r, j])", "set m = s", true},
		{"reduce s = sum(x[r, j])", "set m = 0.0", false},
	} {
		ss := body(t, "tile t f32[8, 8]\nvar m f32 = 0.0\n"+c.one+"\n"+c.other)
		if got := Conflict(Of(ss[2]), Of(ss[3])); got != c.want {
			t.Errorf("%s, %s: %t", c.one, c.other, got)
		}
	}
}
