package project

import "testing"

// TestNames accepts the names that programs can have.
func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "successor": true, "a-b": true, "a_b": true, "a2": true, "a-lr-0.5": true, "A.b": true,
		"": false, "1": false, "1a": false, "123": false, "-a": false, "_a": false, ".a": false, "a.": false, "a b": false, "ä": false, "a/b": false, "a\nb": false,
		"con": false, "COM1": false, "nul.x": false, "console": true,
	} {
		if err := CheckName("x.arith", name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
