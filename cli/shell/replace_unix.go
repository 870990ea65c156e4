//go:build unix

package shell

import (
	"fmt"
	"os"
	"syscall"
)

const ExeSuffix = ""

// OwnGroup keeps the terminal's signals from a child, which gets them handed on.
func OwnGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// signalGroup sends a signal to a child and its children, as a terminal does.
func signalGroup(p *os.Process, s syscall.Signal) error { return syscall.Kill(-p.Pid, s) }

// Replace runs a program in place of this one, which gets all further signals
// and whose exit code is the exit code. It returns only when that fails.
func Replace(path string, argv, env []string) error {
	return fmt.Errorf("cannot run %s: %w", path, syscall.Exec(path, argv, env))
}
