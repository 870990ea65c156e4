//go:build !nogpu && linux && (amd64 || arm64)

package cublaslt

import (
	"fmt"
	"strings"

	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/libraries"
)

// sonames are the library's file names by the version of CUDA, the newest first.
var sonames = []string{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", "libcublasLt.so"}

// missing is the error that there is no library, with a remedy.
func missing(places []libraries.Place) error {
	var where []string
	for _, p := range places {
		where = append(where, p.What)
	}
	return fmt.Errorf("cuBLASLt is not found: there is no %s in %s; install it (pip install nvidia-cublas-cu12, or the CUDA toolkit), "+
		"name its file with MLC_CUBLASLT or --gemm cublaslt=PATH, or leave products to mlc's kernels with --gemm mlc", strings.Join(sonames, ", "), strings.Join(where, "; "))
}

// notGPU is the error of a device without a stream for the library.
func notGPU(d cuda.Driver) error {
	return fmt.Errorf("cuBLASLt needs a GPU of NVIDIA's, and the device is %s: use --gemm mlc", d.Info().Name)
}
