package lock

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

func TestLock(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no locks")
	}
	dir := t.TempDir()
	unlock, err := Try(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Try(dir); !errors.Is(err, ErrTaken) {
		t.Errorf("a second lock: %v", err)
	}
	unlock()
	if unlock, err = Try(dir); err != nil {
		t.Fatalf("after unlocking: %v", err)
	}
	unlock()
	for _, f := range []func(string) (func(), error){Try, Wait} {
		if _, err := f(filepath.Join(dir, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a directory that is not there: %v", err)
		}
	}

	var count, both atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				unlock, err := Wait(dir)
				if err != nil {
					t.Error(err)
					return
				}
				if count.Add(1) > 1 {
					both.Add(1)
				}
				count.Add(-1)
				unlock()
			}
		})
	}
	all.Wait()
	if n := both.Load(); n > 0 {
		t.Errorf("%d times there were two with the same lock", n)
	}
}
