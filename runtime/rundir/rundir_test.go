package rundir

import (
	"strings"
	"testing"
)

func TestLineDiff(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"x\ny\nz", "x\nz", "  - y\n"},
		{"x\nz", "x\ny\nz", "  + y\n"},
		{"a\n  n = 1\nb\n  n = 2", "a\n  n = 1\nb\n  n = 1", "  - n = 2\n  + n = 1\n"},
		{strings.Repeat("a\n", 30), "", strings.Repeat("  - a\n", 20) + "  …\n"},
	} {
		if got := lineDiff(c.a, c.b); got != c.want {
			t.Errorf("%q, %q:\n%swant\n%s", c.a, c.b, got, c.want)
		}
	}
}
