package full

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Folder makes a folder for a program that a test builds, and removes it when the test ends. The
// folder has the same path in each run, so that Go's build cache helps. If that path exists
// already, the folder gets a new name.
func Folder(t testing.TB, path string) string {
	t.Helper()
	err := os.Mkdir(path, 0o755)
	if errors.Is(err, fs.ErrExist) {
		path, err = os.MkdirTemp(filepath.Dir(path), filepath.Base(path)+"-")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(path); err != nil {
			t.Error(err)
		}
	})
	return path
}
