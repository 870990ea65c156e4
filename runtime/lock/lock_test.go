package lock

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/arithlang/mlc/runtime/damage"
)

func TestLock(t *testing.T) {
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

// TestMoved notices a directory that is gone, and another one in its place.
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
	if err := os.Rename(dir, dir+"2"); err != nil && runtime.GOOS == "windows" {
		return // Windows does not move open directories
	} else if err != nil {
		t.Fatal(err)
	}
	check(false)
	if err := os.Rename(dir+"2", dir); err != nil {
		t.Fatal(err)
	}
	check(true)
	for range 20 { // a freed inode is often reused at once
		os.RemoveAll(dir)
		os.Mkdir(dir, 0o755)
		check(false)
	}
}

// TestUnseen does not mistake an unreadable directory for a missing one.
func TestUnseen(t *testing.T) {
	dir, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	} else if runtime.GOOS == "windows" {
		t.Skip("Windows checks the directory, not the link")
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

// TestHeld asks whether a directory is locked, and by whom: while it is locked everywhere or
// only on this machine, and when it is not.
func TestHeld(t *testing.T) {
	dir := t.TempDir()
	for name, lock := range map[string]func(string) (*Dir, error){"everywhere": Try, "here": TryHere, "patiently": Wait} {
		held, err := lock(dir)
		if err != nil {
			t.Fatal(err)
		}
		if !Held(damage.At(dir)) {
			t.Errorf("%s: nobody is said to have it", name)
		}
		if who := Owner(dir); name != "here" && who != me() {
			t.Errorf("%s: owned by %q, want %q", name, who, me())
		}
		for _, again := range []func(string) (*Dir, error){Try, TryHere} {
			if _, err := again(dir); !errors.Is(err, ErrTaken) {
				t.Errorf("%s: a second lock: %v", name, err)
			}
		}
		held.Close()
		if Held(damage.At(dir)) {
			t.Errorf("%s: somebody is said to have it", name)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: %v is left", name, left)
		}
	}
}

// TestKilled wants the lock of a killed process to end with it.
func TestKilled(t *testing.T) {
	if dir := os.Getenv("LOCK_TEST_DIR"); dir != "" {
		if _, err := Try(dir); err != nil {
			t.Fatal(err)
		}
		me, _ := os.FindProcess(os.Getpid())
		me.Kill()
		select {}
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), "LOCK_TEST_DIR="+dir)
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Fatalf("it was not killed: %s", out)
	}
	if _, err := os.Stat(filepath.Join(dir, File)); err != nil {
		t.Error("it had no lock")
	}
	held, err := Try(dir)
	if err != nil {
		t.Fatal(err)
	}
	held.Close()
}

// TestAsked locks a directory while others ask whether it is locked.
func TestAsked(t *testing.T) {
	dir := t.TempDir()
	done := make(chan struct{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					Held(damage.At(dir))
					time.Sleep(100 * time.Microsecond)
				}
			}
		})
	}
	for range 200 {
		held, err := Try(dir)
		if err != nil {
			t.Error(err)
			break
		}
		held.Close()
	}
	close(done)
	all.Wait()
}
