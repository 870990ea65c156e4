//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package lock

// Held is never known where there is no flock.
func Held(path string) bool { return false }

// Try locks nothing where there is no flock.
func Try(path string) (*Dir, error) { return Watch(path) }

// TryHere locks nothing where there is no flock.
func TryHere(path string) (*Dir, error) { return Watch(path) }

// Wait locks nothing where there is no flock.
func Wait(path string) (*Dir, error) { return Watch(path) }
