package build

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/shell"
)

// settle is how long files must be unchanged before they are compiled, since editors write
// in several steps.
const settle = 100 * time.Millisecond

// Watch calls build, and calls it again when one of the files that files lists has changed,
// also if it changed while build ran. It watches folders, since editors replace files. It
// ends with a signal or an error, but not with an error of build.
func Watch(sh *shell.Shell, build func() error, files func() ([]string, error)) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		now, err := shell.Await(sh, files)
		if err != nil {
			return err
		}
		for _, f := range now {
			if err := w.Add(filepath.Dir(f)); err != nil {
				return fmt.Errorf("cannot watch %s: %w", paths.FromHere(f), err)
			}
		}
		switch err := build(); {
		case sh.Context.Err() != nil:
			return context.Cause(sh.Context)
		case err != nil && !errors.Is(err, shell.ErrShown):
			fmt.Fprintf(sh.Err, "mlc: %v\n", err)
		}
		sh.Say("watching %s", listed(now))
		if err := awaitChange(sh, w, now); err != nil {
			return err
		}
	}
}

// awaitChange waits until one of the files has changed and all are unchanged for a moment.
func awaitChange(sh *shell.Shell, w *fsnotify.Watcher, files []string) error {
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	for {
		select {
		case <-sh.Context.Done():
			return context.Cause(sh.Context)
		case err := <-w.Errors:
			return err
		case e := <-w.Events:
			if slices.Contains(files, e.Name) && e.Op != fsnotify.Chmod {
				quiet.Reset(settle)
			}
		case <-quiet.C:
			return nil
		}
	}
}

// listed names files relative to the current directory.
func listed(files []string) string {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = filepath.ToSlash(paths.FromHere(f))
	}
	return strings.Join(names, ", ")
}
