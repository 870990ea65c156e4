package world

import (
	"errors"
	"fmt"
	"strings"

	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/cublaslt"
)

// What computes matrix products on a GPU, as --gemm takes it.
const (
	ownGemm  = "mlc"
	Cublaslt = "cublaslt"
)

// ByLibrary says whether a library is asked for, and which file it is; "" for one that is found.
func (f *Flags) ByLibrary() (by bool, path string, err error) {
	name, path, named := strings.Cut(f.Gemm, "=")
	switch {
	case f.Gemm == "" || f.Gemm == ownGemm:
		return false, "", nil
	case name != Cublaslt || named && path == "":
		return false, "", Usagef("unknown --gemm %q: want %s, %s or %s=PATH", f.Gemm, ownGemm, Cublaslt, Cublaslt)
	case f.Device != "auto" && f.Device != "cuda":
		return false, "", Usagef("--gemm %s is for a GPU of NVIDIA's, and the device is %s: use --device cuda, or --gemm %s", Cublaslt, f.Device, ownGemm)
	}
	return true, path, nil
}

// multiplier opens the library that is asked for; nil if none is.
func (f *Flags) multiplier(a App, d cuda.Driver) (cuda.Multiplier, error) {
	by, path, err := f.ByLibrary()
	if err != nil || !by {
		return nil, err
	}
	open := cublaslt.Open
	if a.Library != nil {
		open = a.Library
	}
	m, err := open(d, path)
	if err != nil {
		return nil, fmt.Errorf("--gemm %s: %w", f.Gemm, errors.Join(err, d.Close()))
	}
	return m, nil
}
