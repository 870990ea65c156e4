package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/arithlang/mlc/compiler/check"
)

// settle is how long files must be left alone before they are compiled: editors
// write in several steps.
const settle = 100 * time.Millisecond

// watch calls build, and again whenever one of the files has changed that files
// lists afterwards. Folders are watched and not files, since editors replace files.
// It ends with Ctrl-C.
func (a *app) watch(build func() error, files func() ([]string, error)) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		switch err := build(); {
		case a.ctx.Err() != nil:
			return context.Cause(a.ctx)
		case err != nil && !errors.Is(err, errShown):
			fmt.Fprintf(a.err, "mlc: %v\n", err)
		}
		now, err := await(a, files)
		if err != nil {
			return err
		}
		for _, f := range now {
			if err := w.Add(filepath.Dir(f)); err != nil {
				return fmt.Errorf("cannot watch %s: %w", fromHere(f), err)
			}
		}
		a.say("watching %s", listed(now))
		if err := a.awaitChange(w, now); err != nil {
			return err
		}
	}
}

// filesOf lists the files that specs are read from, those that cannot be read too.
// Paths are absolute.
func (p project) filesOf(specs, set []string) ([]string, error) {
	var files []string
	for _, f := range specs {
		s, err := findSource(f, p.root)
		if err != nil {
			return nil, err
		}
		check.Resolve(check.Options{Path: s.name, Set: set, Read: func(name string) ([]byte, error) {
			files = append(files, s.path(name))
			return s.read(name)
		}})
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// awaitChange returns when one of the files has changed and none has for a moment.
func (a *app) awaitChange(w *fsnotify.Watcher, files []string) error {
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	for {
		select {
		case <-a.ctx.Done():
			return context.Cause(a.ctx)
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

// listed names files as seen from the current directory.
func listed(files []string) string {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = filepath.ToSlash(fromHere(f))
	}
	return strings.Join(names, ", ")
}
