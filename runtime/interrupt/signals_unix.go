//go:build unix

package interrupt

import (
	"os"
	"syscall"
)

// signals ask a program to end: Ctrl-C, kill, a terminal that is closed, and what
// schedulers of clusters send some time before they kill.
var signals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1}
