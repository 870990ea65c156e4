package paths

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/runtime/lock"
)

// TestTurn removes the files of killed processes, and waits for a writer. If a folder stays
// locked, it writes and removes nothing.
func TestTurn(t *testing.T) {
	t.Parallel() // it waits
	dir := t.TempDir()
	leave := func() {
		for _, name := range []string{".mlc-12", ".loss.svg.34", "page.html"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	put := func(want string) {
		t.Helper()
		if err := Put(t.Context(), filepath.Join(dir, "page.html"), []byte("whole")); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(namesIn(t, dir), " "); got != want {
			t.Errorf("%s is left, want %s", got, want)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "page.html")); string(text) != "whole" || err != nil {
			t.Errorf("the page has %q, %v", text, err)
		}
	}
	leave()
	put("page.html")

	leave()
	held, err := lock.TryHere(dir)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(5*pause, held.Close)
	put("page.html")

	leave()
	if held, err = lock.TryHere(dir); err != nil {
		t.Fatal(err)
	}
	put(".loss.svg.34 .mlc-12 page.html")
	held.Close()
}

func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}
