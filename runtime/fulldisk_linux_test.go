package runtime

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/arithlang/mlc/runtime/program"
)

func TestFullDisk(t *testing.T) {
	t.Run("plain", func(t *testing.T) { fullDisk(t, toyModel(), sameRun) })
	t.Run("tested", func(t *testing.T) { fullDisk(t, testedToy(), sameTests) })
}

// fullDisk trains until the disk is full, and continues to the same bytes when there is more
// room.
func fullDisk(t *testing.T, m program.Model, same func(t *testing.T, want, got string)) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=44k"); err != nil {
		t.Skip("cannot mount a small disk: ", err)
	}
	defer syscall.Unmount(disk, syscall.MNT_DETACH)
	s := call(t, m, "", "train", "--out", filepath.Join(disk, "run"), "--steps", "40", "--save", "1ns")
	if s.code != 1 || !strings.Contains(s.err, "no space left") || !strings.Contains(s.err, "continue with: ./toy train --resume") {
		t.Fatalf("exit %d\n%s", s.code, s.err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size=1M"); err != nil {
		t.Fatal(err)
	}
	if s := call(t, m, "", "train", "--resume", "--out", filepath.Join(disk, "run")); s.code != 0 {
		t.Fatal(s.err)
	}
	same(t, trained(t, m, "--steps", "40"), filepath.Join(disk, "run"))
}
