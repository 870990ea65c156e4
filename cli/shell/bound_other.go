//go:build !linux

package shell

import "syscall"

// Bound is OwnGroup: a child outlives this process here.
func Bound() *syscall.SysProcAttr { return OwnGroup() }
