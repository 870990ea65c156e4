//go:build !unix

package interrupt

import (
	"os"
	"syscall"
)

// signals ask a program to end: Ctrl-C and kill.
var signals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
