//go:build unix

package prove

import (
	"os/exec"
	"syscall"
)

// ownGroup makes a process end with all that it has started, and keeps the terminal's
// signals from it: who has started it decides.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
