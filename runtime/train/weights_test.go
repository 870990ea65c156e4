package train

import "testing"

// TestRules finds names by rules: stars stand for the same text on both sides.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		rule, param, want string
		about             bool
	}{
		{"a=b", "a", "b", true},
		{"a=b", "ab", "", false},
		{"decoder.*.self.q.w=layers.*.q", "decoder.11.self.q.w", "layers.11.q", true},
		{"decoder.*.self.q.w=layers.*.q", "decoder.1.cross.q.w", "", false},
		{"*.*.w=x.*.*", "loop.0.q.w", "x.loop.0.q", true},
		{"*=net.*", "embed.token", "net.embed.token", true},
		{"*.*=*", "a.b", "a", true},
		{"head.*=", "head.out.w", "", true},
		{" a = transpose( b ) ", "a", "b", true},
	} {
		r, err := ParseRule(c.rule)
		if err != nil {
			t.Errorf("%q: %v", c.rule, err)
			continue
		}
		if got, about := r.find(c.param); got != c.want || about != c.about {
			t.Errorf("%q of %s: %q, %v", c.rule, c.param, got, about)
		}
	}
}
