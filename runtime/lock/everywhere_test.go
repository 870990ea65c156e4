//go:build linux

package lock

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/arithlang/mlc/runtime/damage"
)

// TestFile locks only the file of a directory, as another NFS client or the server does. Then
// nobody else gets the directory.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	other, err := guard(filepath.Join(dir, File), false, lockFile)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Try(dir); !errors.Is(err, ErrTaken) {
		t.Errorf("beside a lock of the file: %v", err)
	}
	if !Held(damage.At(dir)) {
		t.Error("nobody is said to have it")
	}
	if who := Owner(dir); who != me() {
		t.Errorf("owned by %q, want %q", who, me())
	}
	here, err := TryHere(dir)
	if err != nil {
		t.Errorf("a lock of only this machine: %v", err)
	}
	here.Close()
	other.Close() // like a killed process: the file stays
	if Held(damage.At(dir)) {
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

// TestNoLocks refuses a shared file system without locks, and accepts a local one.
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
