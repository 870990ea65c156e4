//go:build !linux

package runtime

import "os"

// inMemory returns a folder for temporary files.
func inMemory() string { return os.TempDir() }
