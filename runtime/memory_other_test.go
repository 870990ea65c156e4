//go:build !linux

package runtime

import "os"

// inMemory is a folder for temporary files.
func inMemory() string { return os.TempDir() }
