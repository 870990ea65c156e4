//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package lock

// Try does nothing where there is no flock.
func Try(string) (unlock func(), err error) { return func() {}, nil }

// Wait does nothing where there is no flock.
func Wait(string) (unlock func(), err error) { return func() {}, nil }
