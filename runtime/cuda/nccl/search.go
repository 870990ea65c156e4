//go:build !nogpu && linux && (amd64 || arm64)

package nccl

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/arithlang/mlc/runtime/cuda/libraries"
)

// sonames are the library's file names.
var sonames = []string{"libnccl.so.2", "libnccl.so"}

// Find returns the library that Open would open: the one at path, or see Options.Library.
func Find(path string) (Library, error) {
	t, err := find(path)
	if err != nil {
		return Library{}, err
	}
	return Library{t.path, t.version()}, nil
}

// find opens the library at a path. If the path is empty, MLC_LIBNCCL names it. Otherwise find
// opens the first library found that has all functions.
func find(path string) (*table, error) {
	if path = cmp.Or(path, os.Getenv("MLC_LIBNCCL")); path != "" {
		t, err := openTable(path)
		if err != nil {
			return nil, fmt.Errorf("NCCL cannot be loaded: %w", err)
		}
		return t, nil
	}
	python, _ := exec.LookPath("python3")
	places := libraries.Places(sonames, os.Getenv, python)
	var failed []error
	for _, place := range places {
		for _, candidate := range place.Candidates() {
			t, err := openTable(candidate)
			if err == nil {
				return t, nil
			}
			if !place.Loader || errors.As(err, new(*unfit)) { // if the loader does not know a name, there is no such library
				failed = append(failed, err)
			}
		}
	}
	if failed == nil {
		return nil, missing(places)
	}
	return nil, fmt.Errorf("NCCL cannot be loaded: %w; name another file with MLC_LIBNCCL, or use --ranks mpi", errors.Join(failed...))
}

// missing is the error that there is no library, with a remedy.
func missing(places []libraries.Place) error {
	var where []string
	for _, p := range places {
		where = append(where, p.What)
	}
	return fmt.Errorf("NCCL is not found: there is no %s in %s; install it (pip install nvidia-nccl-cu12), "+
		"name its file with MLC_LIBNCCL, or let the host carry gradients with --ranks mpi", sonames[0], strings.Join(where, "; "))
}
