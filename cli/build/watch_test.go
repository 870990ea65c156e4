package build

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/arithlang/mlc/cli/shell"
)

// A file that changes while it is built, even for the first time, is built again, also after
// an error. A file that no spec reads does not matter.
func TestWatchedWhileBuilt(t *testing.T) {
	ctx, stop := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("a change was lost"))
	defer stop()
	ended := errors.New("all changes were seen")
	ctx, end := context.WithCancelCause(ctx)
	dir := t.TempDir()
	spec := filepath.Join(dir, "spec.arith")
	change := func(name string) {
		if err := os.WriteFile(name, []byte("changed"), 0o666); err != nil {
			t.Error(err)
		}
	}
	change(spec)
	builds := 0
	build := func() error {
		switch builds++; builds {
		case 1, 2:
			change(spec)
		case 3:
			time.AfterFunc(settle/2, func() { change(filepath.Join(dir, "other.arith")) })
			time.AfterFunc(3*settle, func() { end(ended) })
		}
		return shell.ErrShown
	}
	files := func() ([]string, error) { return []string{spec}, nil }
	err := Watch(&shell.Shell{Context: ctx, Err: io.Discard}, build, files)
	if err != ended || builds != 3 {
		t.Errorf("after %d builds: %v", builds, err)
	}
}
