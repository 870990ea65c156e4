package flat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// TestInvariants shows what is named before a loop, and before a row of elements.
func TestInvariants(t *testing.T) {
	const before = `
kernel k row
  in     x f32[T*40]
  in     p i32[T]
  out    y f32[T*40]
  scalar T, P, scale
  grid   g < T

  tile   a f32[40]
  var    m f32 = 0.0
`
	for _, c := range []struct{ text, want string }{
		// Of a loop: scalars, and of indices what the loop does not change.
		{"for i = 0 until T\nset y[(g*T + i)*40 + P*8] = f32(P*T)*scale\nend",
			"let h1 = g * T * 40 + P * 8; let h2 = f32(P * T) * scale; set y[i * 40 + h1] = h2"},
		{"for i = 0 until T\nset y[i*T*2 + 1] = 0.0\nend", "let h1 = T * 2; set y[i * h1 + 1] = 0.0"},
		{"for i = 0 until T\nset y[i*40 + 1] = 0.0\nend", "set y[i * 40 + 1] = 0.0"},
		{"for i = 0 until T\nset y[i] = x[P*T]\nend", "let h1 = P * T; set y[i] = x[h1]"},
		{"for i = 0 until T\nset y[P/T] = f32(P/3)\nend", "let h1 = f32(P / 3); set y[P / T] = h1"},
		{"for i = 0 until T\nlet n = i + P*T\nset y[n + g*T] = m + 1.0\nset m = 2.0\nend",
			"let h1 = P * T; let h2 = g * T; let n = i + h1; set y[n + h2] = m + 1.0; set m = 2.0"},

		// Of a row: elements, too.
		{"set y[g*40 + e] = x[g]*scale*a[e] for e < 40", "let h1 = x[g] * scale; set y[g * 40 + e] = h1 * a[e]"},
		{"set y[g*40 + e] = x[(39 - e)*T + p[g]*8] for e < 40", "let h1 = p[g] * 8; set y[g * 40 + e] = x[(39 - e) * T + h1]"},
		{"set a[e] = where(e < g + P, a[e]/x[3], f32(g/T)) for e < 40",
			"let h1 = g + P; let h2 = x[3]; let h3 = f32(g / T); set a[e] = where(e < h1, a[e] / h2, h3)"},
		{"reduce s = sum(a[e]*x[g] + x[g]) for e < 40", "let h1 = x[g]; reduce s = sum(a[e] * h1 + h1)"},
	} {
		ks, err := kernel.Parse(before + c.text + "\nend\n")
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		s := ks[0].Body[len(ks[0].Body)-1]
		n := 0
		name := func() string { n++; return fmt.Sprintf("h%d", n) }
		var v *Invariants
		switch s := s.(type) {
		case *kernel.For:
			v = OfLoop(s, name)
		case *kernel.Set:
			v = OfRow("e", s.Dst.Name, name)
		default:
			v = OfRow("e", "", name)
		}
		s = kernel.Rewrite(s, func(e *expr.Expr) *expr.Expr { return v.Expr(e) })
		var got []string
		for _, l := range v.Lets {
			got = append(got, "let "+l.Name+" = "+l.Value.String())
		}
		body := []kernel.Stmt{s}
		if l, ok := s.(*kernel.For); ok {
			body = l.Body
		}
		for _, s := range body {
			line, _, _ := strings.Cut(strings.Join(strings.Fields(ks[0].Describe(s)), " "), " for ")
			got = append(got, line)
		}
		if d := cmp.Diff(c.want, strings.Join(got, "; ")); d != "" {
			t.Errorf("%s (-want +got)\n%s", c.text, d)
		}
	}
}
