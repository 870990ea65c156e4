package full

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Folder makes a folder for a program that a test builds, which is there until the test ends.
// It has the same path in each run, so that Go finds the packages of the last run in its cache,
// unless another run has it at the moment, or has left it.
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
