//go:build nogpu || !(linux && (amd64 || arm64))

package nccl

import (
	"fmt"
	"runtime"
)

// Open says that this program was built without support for the library.
func Open(Options) (*Communicator, error) { return nil, unavailable() }

// Find returns the same error.
func Find(string) (Library, error) { return Library{}, unavailable() }

func unavailable() error {
	return fmt.Errorf("this program cannot use NCCL (%s/%s, perhaps built with -tags nogpu): use --ranks mpi", runtime.GOOS, runtime.GOARCH)
}
