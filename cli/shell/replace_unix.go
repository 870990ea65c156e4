//go:build unix

package shell

import (
	"fmt"
	"os"
	"syscall"
)

const ExeSuffix = ""

// OwnGroup keeps the terminal's signals from a child. mlc passes them on.
func OwnGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// signalGroup sends a signal to a child and its children, as a terminal does.
func signalGroup(p *os.Process, s syscall.Signal) error { return syscall.Kill(-p.Pid, s) }

// Replace replaces this process by a program, which gets all further signals and sets the
// exit code. It returns only if that fails.
func Replace(path string, argv, env []string) error {
	return fmt.Errorf("cannot run %s: %w", path, syscall.Exec(path, argv, env))
}
