package damage

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBelow follows links below a root, and reads nothing outside.
func TestBelow(t *testing.T) {
	top := t.TempDir()
	for name, text := range map[string]string{"runs/a/x": "x", "secret/x": "secret"} {
		path := filepath.Join(top, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	runs := filepath.Join(top, "runs")
	for name, target := range map[string]string{"inside": "a", "a/y": "../inside/x", "out": "../secret", "whole": filepath.Join(top, "secret"), "a/z": "../../secret/x"} {
		if err := os.Symlink(filepath.FromSlash(target), filepath.Join(runs, name)); err != nil {
			t.Skip(err)
		}
	}
	root, err := os.OpenRoot(runs)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, want := range map[string]string{"a/x": "x", "inside/x": "x", "a/y": "x", "out/x": "", "whole/x": "", "a/z": "", "../secret/x": "", "none": ""} {
		path := Below(root, ".").Join(filepath.FromSlash(name))
		text, err := path.Read()
		if string(text) != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "open "+filepath.Join(runs, name)+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, want := range map[string]string{".": ". a a/x a/y a/z inside out whole", "inside": ". x y z", "out": ""} {
		var found []string
		fs.WalkDir(Below(root, name).FS(), ".", func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				found = append(found, path)
			}
			return nil
		})
		if got := strings.Join(found, " "); got != want {
			t.Errorf("in %s: %s, want %s", name, got, want)
		}
	}
}
