//go:build unix

package interrupt

import (
	"os"
	"syscall"
)

// signals ask a program to end: Ctrl-C, kill, a closed terminal, two signals that cluster
// schedulers send some time before they kill, and the soft limit of processor time, which
// repeats every second.
var signals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGXCPU}
