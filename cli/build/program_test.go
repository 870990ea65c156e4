package build

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/codegen"
)

// TestWriteError wants advice for each error of writing, even on machines that cannot cause
// it.
func TestWriteError(t *testing.T) {
	for err, want := range map[error]string{
		syscall.ENOSPC:        "the disk is full",
		syscall.EDQUOT:        "quota",
		syscall.EROFS:         "the disk is read-only",
		syscall.EACCES:        "choose a folder that you may write to with -o",
		syscall.ENOTDIR:       "a part of that path is a file",
		fs.ErrClosed:          "",
		syscall.Errno(0xffff): "",
	} {
		got := writeError("x", &fs.PathError{Op: "write", Path: "x/plan.go", Err: err}).Error()
		before, advice, _ := strings.Cut(got, "; ")
		if before != fmt.Sprintf("cannot write the program to x: write x/plan.go: %v", err) || !strings.Contains(advice, want) || (want == "") != (advice == "") {
			t.Errorf("%v: %q, want advice %q", err, got, want)
		}
	}
}

// TestWriteProgram writes missing and stale files, removes left-over ones, and keeps the
// files of others.
func TestWriteProgram(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "program")
	write := func(ctx context.Context, files ...string) ([]string, error) {
		var all []codegen.File
		for _, f := range files {
			name, text, _ := strings.Cut(f, "=")
			all = append(all, codegen.File{Path: name, Data: []byte(generatedMark + text)})
		}
		return New(&shell.Shell{Context: ctx, Err: t.Output()}, nil, Maker{}).writeProgram(dir, all)
	}
	there := func() (all []string) {
		filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && path != dir {
				name, _ := filepath.Rel(dir, path)
				all = append(all, filepath.ToSlash(name))
			}
			return nil
		})
		return all
	}

	// A program that cannot be written completely leaves nothing, not even folders.
	if changed, err := write(t.Context(), "a/b=1", "a/b/c=2"); err == nil || len(changed) > 0 {
		t.Errorf("a file that is a folder: %v, %v", changed, err)
	}
	if paths.Exists(dir) {
		t.Errorf("a failure leaves %v", there())
	}

	for _, c := range []struct {
		name          string
		files         []string
		changed, left []string
	}{
		{"new", []string{"a.go=1", "first/b.go=1"}, []string{"a.go", "first/b.go"}, []string{"a.go", "first", "first/b.go"}},
		{"stale", []string{"a.go=2", "first/b.go=1"}, []string{"a.go"}, []string{"a.go", "first", "first/b.go"}},
		{"with another stage", []string{"a.go=2", "second/b.go=1"}, []string{"second/b.go", "first/b.go"}, []string{"a.go", "second", "second/b.go"}},
	} {
		changed, err := write(t.Context(), c.files...)
		if got := there(); err != nil || !slices.Equal(changed, c.changed) || !slices.Equal(got, c.left) {
			t.Errorf("%s: %v changed, want %v; %v are there, want %v; %v", c.name, changed, c.changed, got, c.left, err)
		}
	}

	// The unfinished files of a killed process go, and the files of others stay.
	for _, name := range []string{paths.Unfinished + "12", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	changed, err := write(t.Context(), "a.go=2", "second/b.go=1")
	if got := there(); err != nil || !slices.Equal(changed, []string{paths.Unfinished + "12"}) || !slices.Equal(got, []string{"a.go", "notes.txt", "second", "second/b.go"}) {
		t.Errorf("%v changed, %v are there, %v", changed, got, err)
	}

	// A current program is not locked: no process waits for another that holds the folder.
	held, err := paths.Hold(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	ended, end := context.WithCancel(t.Context())
	end()
	if changed, err := write(ended, "a.go=2", "second/b.go=1"); err != nil || len(changed) > 0 {
		t.Errorf("fresh: %v, %v", changed, err)
	}
	if _, err := write(ended, "a.go=3", "second/b.go=1"); err == nil {
		t.Error("a stale program is written though another process has the folder")
	}
	held.Close()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := write(t.Context(), "a.go=3", "second/b.go=1"); err == nil || !strings.Contains(err.Error(), "was not written by mlc") {
		t.Errorf("a file of the user's: %v", err)
	}
}
