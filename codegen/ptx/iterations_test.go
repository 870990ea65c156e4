package ptx_test

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler/kernel"
)

// TestIterations looks at loops of the generic schedule: which loads are of four elements, how many
// lanes a sum takes, and where threads wait. Bits are compared elsewhere.
func TestIterations(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want, not  []string
	}{
		{"rows of 16 go to four lanes each, at a variable that is a multiple of four", `
  for    t = 0 until T
    let    at = (r * T + t) * 64
    reduce s = sum(x[at + e] * x[at + e]) for e < 16
    set    y[at] = s
  end`, []string{"ld.global.v4.f32", ", 2, 31, -1", "mul.lo.s32 %r12, %r5, 8"}, []string{", 16, 31, -1", ", 8, 31, -1", ", 4, 31, -1"}},
		{"a variable that is no multiple of four in one of its loops", `
  for    t = 0 until T
    let    at = (r * T + t) * 64
    reduce s = sum(x[at + e] * x[at + e]) for e < 16
    set    y[at] = s
  end
  for    t = 0 until T
    let    at = (r * T + t) * 64 + 1
    reduce s2 = sum(x[at + e] * x[at + e]) for e < 16
    set    y[at] = s2
  end`, []string{"ld.global.f32"}, []string{"ld.global.v4.f32"}},
	} {
		text := iterations(t, c.body)
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, text)
			}
		}
		for _, not := range c.not {
			if strings.Contains(text, not) {
				t.Errorf("%s: %q in\n%s", c.name, not, text)
			}
		}
	}

	// A loop waits for what was set before it once, and its other warps do nothing.
	text := iterations(t, `
  tile   a f32[T]
  tile   b f32[16]
  set    a[e] = exp(x[r * T + e]) for e < T
  set    b[e] = 0.0 for e < 16
  for    t = 0 until T
    set    b[e] = b[e] + a[T - 1 - t] * x[t * 64 + e] for e < 16
  end
  set    y[r * 64 + e] = b[e] for e < 16`)
	_, after, _ := strings.Cut(text, "// set b[e] = 0.0")
	before, loop, found := strings.Cut(after, "// for t = 0 until T")
	loop, _, _ = strings.Cut(loop, "// set y[")
	if n := strings.Count(before, "bar.sync") + strings.Count(loop, "bar.sync"); !found || n != 1 || strings.Count(loop, "setp.lt.s32") > 3 {
		t.Errorf("%d barriers, %d comparisons in\n%s", n, strings.Count(loop, "setp.lt.s32"), text)
	}
}

func iterations(t *testing.T, body string) string {
	t.Helper()
	text := "kernel k row\n  in     x f32[T * T * 64]\n  out    y f32[T * T * 64]\n  scalar T\n  grid   r < T\n"
	tiles, rest := "", ""
	for line := range strings.Lines(strings.TrimPrefix(body, "\n")) {
		if strings.HasPrefix(line, "  tile") {
			tiles += line
		} else {
			rest += line
		}
	}
	ks, err := kernel.Parse(text + tiles + "\n" + rest + "\nend\n")
	if err != nil {
		t.Fatalf("%v\n%s", err, text+body)
	}
	out, err := ptx.Module(ks, ptx.Options{Aligned: func(*kernel.Kernel, int) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	return string(out.Text)
}
