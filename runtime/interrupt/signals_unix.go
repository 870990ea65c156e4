//go:build unix

package interrupt

import (
	"os"
	"syscall"
)

// signals ask a program to end: Ctrl-C, kill, and a closed terminal. Cluster schedulers send
// SIGUSR1 or SIGUSR2 some time before they kill. SIGXCPU is the soft limit of processor time,
// and repeats every second.
var signals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGXCPU}
