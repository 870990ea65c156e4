//go:build nogpu || !(linux && (amd64 || arm64))

package mpi

import (
	"fmt"
	"runtime"

	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/comm/launch"
)

// Open returns the error of a program built without support for MPI.
func Open(launch.Launch) (comm.World, error) {
	return nil, fmt.Errorf("this program cannot use MPI (%s/%s, perhaps built with -tags nogpu): it can on Linux", runtime.GOOS, runtime.GOARCH)
}
