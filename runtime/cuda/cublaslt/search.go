//go:build !nogpu && linux && (amd64 || arm64)

package cublaslt

import (
	"fmt"
	"strings"

	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/libraries"
)

// sonames are what the library is called, by the version of CUDA, the newest first.
var sonames = []string{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", "libcublasLt.so"}

// missing says that there is no library, and what to do.
func missing(places []libraries.Place) error {
	var where []string
	for _, p := range places {
		where = append(where, p.What)
	}
	return fmt.Errorf("cuBLASLt is not found: there is no %s in %s; install it (pip install nvidia-cublas-cu12, or the CUDA toolkit), "+
		"name its file with MLC_CUBLASLT or --gemm cublaslt=PATH, or leave products to mlc's kernels with --gemm mlc", strings.Join(sonames, ", "), strings.Join(where, "; "))
}

// notGPU says that a device has no stream for the library.
func notGPU(d cuda.Driver) error {
	return fmt.Errorf("cuBLASLt needs a GPU of NVIDIA's, and the device is %s: use --gemm mlc", d.Info().Name)
}
