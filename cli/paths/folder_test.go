package paths

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFolder writes files to a new folder, and to one with files of others.
func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "out")
	if err := Vacant(dir); err != nil {
		t.Error(err)
	}
	for _, whole := range []bool{true, false, true} {
		if err := WriteFiles(dir, []File{{"x", []byte("1")}, {"y", []byte("2")}}, whole); whole && err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"x": "1", "y": "2"} {
			if text, err := os.ReadFile(filepath.Join(dir, name)); string(text) != want || err != nil {
				t.Errorf("%s has %q, %v", name, text, err)
			}
		}
		if left := namesIn(t, filepath.Dir(dir)); len(left) != 1 {
			t.Errorf("beside it %q are left", left)
		}
		if left := namesIn(t, dir); strings.Join(left, " ") != "x y" {
			t.Errorf("it has %q", left)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	if err := Vacant(dir); err == nil || !strings.HasSuffix(err.Error(), "out is not empty: choose another folder, or overwrite its files with --force") {
		t.Error(err)
	}
	if err := Vacant(filepath.Join(dir, "x")); err == nil {
		t.Error("a file is a vacant folder")
	}
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Vacant(filepath.Join(dir, "empty")); err != nil {
		t.Error(err)
	}
	if err := WriteFiles(filepath.Join(dir, "x", "y"), nil, true); err == nil || !strings.HasPrefix(err.Error(), "cannot write "+filepath.Join(dir, "x", "y")+": ") {
		t.Errorf("below a file: %v", err)
	}
}

// TestFromHere shortens a path, but makes none longer.
func TestFromHere(t *testing.T) {
	root := t.TempDir()
	here := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(here, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(here)
	for path, want := range map[string]string{filepath.Join(here, "c"): "c", here: ".", root: filepath.Join("..", ".."), "c": "c", "/x": "/x"} {
		if got := FromHere(path); got != want {
			t.Errorf("%s is %s from here, want %s", path, got, want)
		}
	}
	if err := os.WriteFile("c", []byte("1234"), 0o644); err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int64]string{0: "", 3: "123", 4: "1234", 9: "1234"} {
		if text, err := ReadUpTo("c", most); string(text) != want || err != nil {
			t.Errorf("at most %d bytes: %q, %v", most, text, err)
		}
	}
}
