//go:build unix

package shell

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const ExeSuffix = ""

// OwnGroup keeps the terminal's signals from a child. mlc passes them on.
func OwnGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// signalGroup sends a signal to a child and its children, as a terminal does.
func signalGroup(p *os.Process, s syscall.Signal) error { return syscall.Kill(-p.Pid, s) }

// Stops sends a value when the terminal asks this process to stop (Ctrl-Z).
func Stops() (c <-chan os.Signal, stop func()) {
	to := make(chan os.Signal, 1)
	if !signal.Ignored(syscall.SIGTSTP) {
		signal.Notify(to, syscall.SIGTSTP)
	}
	return to, func() { signal.Stop(to) }
}

// Suspend stops a child with its children, then this process. When this process continues, so do
// they.
func Suspend(p *os.Process) {
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGCONT)
	defer signal.Stop(again)
	signalGroup(p, syscall.SIGSTOP) // it may have just ended
	syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	<-again
	signalGroup(p, syscall.SIGCONT)
}

// Replace replaces this process by a program, which gets all further signals and sets the
// exit code. It returns only if that fails.
func Replace(path string, argv, env []string) error {
	return fmt.Errorf("cannot run %s: %w", path, syscall.Exec(path, argv, env))
}
