package world

import (
	"errors"
	"fmt"
	"strings"

	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/cublaslt"
)

// The choices of --gemm.
const (
	ownGemm  = "mlc"
	Cublaslt = "cublaslt"
)

// ByLibrary reports whether a library computes products, and which file; path "" searches for
// the library.
func (f *Flags) ByLibrary() (by bool, path string, err error) {
	name, path, named := strings.Cut(f.Gemm, "=")
	switch {
	case f.Gemm == "" || f.Gemm == ownGemm:
		return false, "", nil
	case name != Cublaslt || named && path == "":
		return false, "", Usagef("unknown --gemm %q: want %s, %s or %s=PATH", f.Gemm, ownGemm, Cublaslt, Cublaslt)
	case f.Device != "auto" && f.Device != "cuda":
		return false, "", Usagef("--gemm %s needs an NVIDIA GPU, and the device is %s: use --device cuda, or --gemm %s", Cublaslt, f.Device, ownGemm)
	}
	return true, path, nil
}

// multiplier opens the chosen library, or returns nil if none is chosen.
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
