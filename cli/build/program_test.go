package build

import (
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

// TestWriteError makes sure that each error of writing comes with advice, also on
// machines that cannot provoke it.
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
