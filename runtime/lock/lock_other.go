//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package lock

// Try locks nothing where there is no flock.
func Try(path string) (*Dir, error) { return Watch(path) }

// Wait locks nothing where there is no flock.
func Wait(path string) (*Dir, error) { return Watch(path) }
