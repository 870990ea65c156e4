package check

import "testing"

// TestBeside resolves names relative to the files that contain them, also with Windows
// drives.
func TestBeside(t *testing.T) {
	for _, c := range []struct{ from, name, want string }{
		{"specs/x.arith", "../base/y.arith", "base/y.arith"},
		{"x.arith", "y.arith", "y.arith"},
		{"/specs/x.arith", "/base/../y.arith", "/y.arith"},
		{"C:/my specs/x.arith", "../base/y.arith", "C:/base/y.arith"},
		{"C:/x.arith", "y.arith", "C:/y.arith"},
		{"specs/x.arith", "d:/base/y.arith", "d:/base/y.arith"},
		{"specs/x.arith", "1:/y.arith", "specs/1:/y.arith"},
		{"specs/x.arith", "C:y.arith", "specs/C:y.arith"},
	} {
		if got := beside(c.from, c.name); got != c.want {
			t.Errorf("%s in %s is %s, want %s", c.name, c.from, got, c.want)
		}
	}
}
