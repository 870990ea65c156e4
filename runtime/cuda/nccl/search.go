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

// sonames are what the library is called.
var sonames = []string{"libnccl.so.2", "libnccl.so"}

// Find says which library Open would open: the one at a path, or see Options.Library.
func Find(path string) (Library, error) {
	t, err := find(path)
	if err != nil {
		return Library{}, err
	}
	return Library{t.path, t.version()}, nil
}

// find opens the library at a path, which MLC_LIBNCCL names if the path is empty, or else the
// first of those that are found which has what is needed.
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
			if !place.Loader || errors.As(err, new(*unfit)) { // a name that the loader does not know is no library
				failed = append(failed, err)
			}
		}
	}
	if failed == nil {
		return nil, missing(places)
	}
	return nil, fmt.Errorf("NCCL cannot be loaded: %w; name another file with MLC_LIBNCCL, or use --ranks mpi", errors.Join(failed...))
}

// missing says that there is no library, and what to do.
func missing(places []libraries.Place) error {
	var where []string
	for _, p := range places {
		where = append(where, p.What)
	}
	return fmt.Errorf("NCCL is not found: there is no %s in %s; install it (pip install nvidia-nccl-cu12), "+
		"name its file with MLC_LIBNCCL, or let the host carry gradients with --ranks mpi", sonames[0], strings.Join(where, "; "))
}
