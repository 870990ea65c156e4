package lock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestLock(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no locks")
	}
	dir := t.TempDir()
	held, err := Try(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Try(dir); !errors.Is(err, ErrTaken) {
		t.Errorf("a second lock: %v", err)
	}
	held.Close()
	if held, err = Try(dir); err != nil {
		t.Fatalf("after unlocking: %v", err)
	}
	held.Close()
	for _, f := range []func(string) (*Dir, error){Try, Wait, Watch} {
		if _, err := f(filepath.Join(dir, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a directory that is not there: %v", err)
		}
	}

	var count, both atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				held, err := Wait(dir)
				if err != nil {
					t.Error(err)
					return
				}
				if count.Add(1) > 1 {
					both.Add(1)
				}
				count.Add(-1)
				held.Close()
			}
		})
	}
	all.Wait()
	if n := both.Load(); n > 0 {
		t.Errorf("%d times there were two with the same lock", n)
	}
}

// TestMoved notices a directory that is gone, and one that is made in its place.
func TestMoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	held, err := Try(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	check := func(there bool) {
		t.Helper()
		if err := held.Check(); (err == nil) != there {
			t.Error(err)
		}
	}
	check(true)
	if err := os.Rename(dir, dir+"2"); err != nil {
		t.Fatal(err)
	}
	check(false)
	if err := os.Rename(dir+"2", dir); err != nil {
		t.Fatal(err)
	}
	check(true)
	for range 20 { // a freed inode is often the next that is given out
		os.RemoveAll(dir)
		os.Mkdir(dir, 0o755)
		check(false)
	}
}

// TestUnseen does not take a directory for gone that cannot be looked at.
func TestUnseen(t *testing.T) {
	dir, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	held, err := Watch(link)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	os.Remove(link)
	os.Symlink(link, link)
	if err := held.Check(); err == nil || strings.Contains(err.Error(), "removed") {
		t.Error(err)
	}
}
