//go:build nogpu || !(linux && (amd64 || arm64))

package cublaslt

import (
	"fmt"
	"runtime"

	"github.com/arithlang/mlc/runtime/cuda"
)

// Open says that this program was built without support for the library.
func Open(cuda.Driver, string) (cuda.Multiplier, error) {
	return nil, fmt.Errorf("this program cannot use cuBLASLt (%s/%s, perhaps built with -tags nogpu): use --gemm mlc", runtime.GOOS, runtime.GOARCH)
}
