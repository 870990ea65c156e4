package paths

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestPut writes new files and replaces old ones. Modes and symbolic links stay, and no temporary
// file is left.
func TestPut(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.WriteFile(at("old"), []byte("old"), 0o600), os.Symlink("old", at("link")), os.Mkdir(at("folder"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, file string
		mode       fs.FileMode
	}{
		{"new", "new", 0o644},
		{"old", "old", 0o600},
		{"link", "old", 0o600},
		{"folder/new", "folder/new", 0o644},
	} {
		if err := Put(t.Context(), at(c.name), []byte(c.name)); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(at(c.file))
		if err != nil || string(text) != c.name {
			t.Errorf("%s has %q, %v", c.name, text, err)
		}
		if info, err := os.Stat(at(c.file)); err != nil || info.Mode() != c.mode {
			t.Errorf("%s is %v, want %v, %v", c.file, info.Mode(), c.mode, err)
		}
	}
	if to, err := os.Readlink(at("link")); err != nil || to != "old" {
		t.Errorf("the link names %s, %v", to, err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 4 {
		t.Errorf("%v, %v", all, err)
	}
	if err := Replace(at("absent"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent file is replaced: %v", err)
	}
	if err := Put(t.Context(), at("absent/new"), nil); err == nil {
		t.Error("a file is written without its folder")
	}
}

// TestPutIntoAPipe writes to what is no regular file, and stops waiting for a reader.
func TestPutIntoAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := makePipe(path); err != nil {
		t.Skip(err)
	}
	read := make(chan string)
	go func() {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		read <- string(text)
	}()
	if err := Put(t.Context(), path, []byte("text")); err != nil {
		t.Fatal(err)
	}
	if got := <-read; got != "text" {
		t.Errorf("the pipe has %q", got)
	}
	ended := errors.New("ended")
	ctx, end := context.WithCancelCause(t.Context())
	end(ended)
	if err := Put(ctx, path, []byte("text")); err != ended {
		t.Errorf("without a reader: %v", err)
	}
}
