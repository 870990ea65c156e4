package build

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/arithlang/mlc/cli/project"
)

// TestForget removes old modules and programs from the cache, and nothing else.
func TestForget(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "[odd] name")
	used := filepath.Join(cache, "0123456789abcdef")
	const module = "module " + project.ThisModule + "\n"
	for name, text := range map[string]string{
		"0123456789abcdef/go.mod":             module,
		"0123456789abcdef/programs/new/x":     "",
		"0123456789abcdef/programs/old/x":     "",
		"0123456789abcdef/bin/old":            "",
		"fedcba9876543210/go.mod":             module,
		"1111111111111111/go.mod":             "module example.com/theirs\n",
		"thesis/go.mod":                       module,
		"thesis/results":                      "",
		"2222222222222222/of somebody's/data": "",
	} {
		path := filepath.Join(cache, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-2 * kept)
	for _, name := range []string{"0123456789abcdef", "0123456789abcdef/programs/old", "0123456789abcdef/bin/old", "fedcba9876543210", "1111111111111111", "2222222222222222", "thesis"} {
		if err := os.Chtimes(filepath.Join(cache, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	forget(cache, used)
	var left []string
	for _, dir := range []string{cache, filepath.Join(used, "programs"), filepath.Join(used, "bin")} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			left = append(left, e.Name())
		}
	}
	if want := []string{"0123456789abcdef", "1111111111111111", "2222222222222222", "thesis", "new"}; !slices.Equal(left, want) {
		t.Errorf("left: %q, want %q", left, want)
	}
}
