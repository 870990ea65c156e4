//go:build unix

package interrupt

import (
	"os"
	"syscall"
)

// signals ask a program to end: Ctrl-C, kill, a terminal that is closed, the two that
// schedulers of clusters send some time before they kill, and that of a soft limit of
// processor time, which comes again with each further second.
var signals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGXCPU}
