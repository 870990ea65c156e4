//go:build linux

package lock

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestFile locks only the file of a directory, as a machine does that serves it by NFS or
// is another client: nobody else gets the directory then.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	other, err := guard(dir, false, lockFile)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Try(dir); !errors.Is(err, ErrTaken) {
		t.Errorf("beside a lock of the file: %v", err)
	}
	if !Held(dir) {
		t.Error("nobody is said to have it")
	}
	if who := Owner(dir); who != me() {
		t.Errorf("owned by %q, want %q", who, me())
	}
	here, err := TryHere(dir)
	if err != nil {
		t.Errorf("a lock of this machine alone: %v", err)
	}
	here.Close()
	other.Close() // as one that was killed: the file stays
	if Held(dir) {
		t.Error("somebody is said to have it")
	}
	held, err := Try(dir)
	if err != nil {
		t.Fatal(err)
	}
	held.Close()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// TestKilled wants the lock of a killed process to end with it.
func TestKilled(t *testing.T) {
	if dir := os.Getenv("LOCK_TEST_DIR"); dir != "" {
		if _, err := Try(dir); err != nil {
			t.Fatal(err)
		}
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
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

// TestNoLocks refuses a file system of several machines without locks, and takes one of this
// machine.
func TestNoLocks(t *testing.T) {
	without := func(*os.File, bool) error { return syscall.ENOLCK }
	held, err := everywhere(t.TempDir(), syscall.LOCK_NB, system{without, network})
	if err != nil {
		t.Errorf("on this machine: %v", err)
	} else {
		held.Close()
	}
	nfs := func(string) string { return describe(0x6969) }
	if _, err := everywhere(t.TempDir(), syscall.LOCK_NB, system{without, nfs}); !errors.Is(err, syscall.ENOLCK) || !strings.Contains(err.Error(), "NFS") {
		t.Errorf("on NFS: %v", err)
	}
	for number, want := range map[int64]string{0x6969: "NFS", 0x0bd00bd0: "Lustre", -0xacb2be: "CIFS", 0xEF53: ""} {
		if got := describe(number); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%#x is %q, want %s", number, got, want)
		}
	}
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
					Held(dir)
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
