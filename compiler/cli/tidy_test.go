package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/arithlang/mlc/runtime/lock"
)

// TestTidy removes what killed processes have left, but not what another one is writing.
func TestTidy(t *testing.T) {
	dir := t.TempDir()
	left := func() (names []string) {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			names = append(names, f.Name())
		}
		return names
	}
	for _, name := range []string{".mlc-12", ".loss.svg.34", "page.html"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	held, err := lock.TryHere(dir)
	if err != nil {
		t.Fatal(err)
	}
	tidy(dir)()
	if got := left(); len(got) != 3 {
		t.Errorf("in a folder that another process writes in %v is left", got)
	}
	held.Close()
	if err := new(app).putFile(filepath.Join(dir, "page.html"), []byte("whole")); err != nil {
		t.Fatal(err)
	}
	if got := left(); len(got) != 1 {
		t.Errorf("%v is left", got)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "page.html")); string(text) != "whole" || err != nil {
		t.Errorf("the page has %q, %v", text, err)
	}
}
