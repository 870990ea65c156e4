package expr

import "testing"

// TestAffine splits expressions by i and checks that the parts are simplified.
func TestAffine(t *testing.T) {
	for _, c := range []struct{ in, coef, rest string }{
		{"j + 1", "0", "j + 1"},
		{"i", "1", "0"},
		{"i + j", "1", "j"},
		{"j - i", "-1", "j"},
		{"2 * i + i * 3 + j - j", "5", "0"},
		{"(i + 1) * j", "j", "j"},
		{"j * (i - 2)", "j", "j * -2"},
		{"(i * 3 + j) * 2 - (i + 1)", "5", "j * 2 - 1"},
		{"i * i", "", ""},
		{"i / 2", "", ""},
		{"min(i, j) + 1", "", ""},
	} {
		coef, rest, ok := Affine(parse(t, c.in), "i")
		switch {
		case ok != (c.coef != ""):
			t.Errorf("%s: a sum: %t", c.in, ok)
		case ok && (coef.String() != c.coef || rest.String() != c.rest):
			t.Errorf("%s is (%s) * i + (%s), want (%s) * i + (%s)", c.in, coef, rest, c.coef, c.rest)
		}
	}
}

// TestInternAllOperands: elements that differ only in their last index are different
// nodes.
func TestInternAllOperands(t *testing.T) {
	in := NewInterner()
	a, b := parse(t, "a[i, 1, 2, 3, 4]"), parse(t, "a[i, 1, 2, 3, 5]")
	if in.Intern(a) == in.Intern(b) {
		t.Error("different elements are one node")
	}
	if in.Intern(a) != in.Intern(parse(t, a.String())) {
		t.Error("equal elements are two nodes")
	}
}
