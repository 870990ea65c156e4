//go:build unix

package cli

import (
	"fmt"
	"syscall"
)

const exeSuffix = ""

// ownGroup keeps the terminal's signals from a child, which gets them handed on.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// replace runs a program in place of this one, which gets all further signals
// and whose exit code is the exit code. It returns only when that fails.
func replace(path string, argv, env []string) error {
	return fmt.Errorf("cannot run %s: %w", path, syscall.Exec(path, argv, env))
}
