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

// TestHasRuntime finds mlc in a module that is it or requires it. Without a module it looks at no
// file, whatever the current folder has.
func TestHasRuntime(t *testing.T) {
	t.Chdir("../..")
	for root, want := range map[string]bool{".": true, "": false, t.TempDir(): false} {
		if HasRuntime(root) != want {
			t.Errorf("%q has the runtime: want %v", root, want)
		}
	}
}
