//go:build unix

package prove

import (
	"os/exec"
	"syscall"
)

// ownGroup lets a process end with all its children, and keeps the terminal's signals from it:
// its parent decides when it ends.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
