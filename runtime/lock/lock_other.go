//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package lock

import "github.com/arithlang/mlc/runtime/damage"

// Held returns false: this system has no locks.
func Held(dir damage.Path) bool { return false }

// Try locks nothing: this system has no locks.
func Try(path string) (*Dir, error) { return Watch(path) }

// TryHere locks nothing: this system has no locks.
func TryHere(path string) (*Dir, error) { return Watch(path) }

// Wait locks nothing: this system has no locks.
func Wait(path string) (*Dir, error) { return Watch(path) }
