package shell

import "syscall"

// Bound is OwnGroup for a child that is asked to end when this process is killed. The thread
// that starts the child must exist until then (runtime.LockOSThread).
func Bound() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
