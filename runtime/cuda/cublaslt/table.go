//go:build !nogpu && linux && (amd64 || arm64)

package cublaslt

import (
	"fmt"

	"github.com/ebitengine/purego"
)

// A symbol is a function of the library.
type symbol int

const (
	ltCreate symbol = iota
	ltDestroy
	ltGetVersion
	ltMatmulDescCreate
	ltMatmulDescDestroy
	ltMatmulDescSetAttribute
	ltMatrixLayoutCreate
	ltMatrixLayoutDestroy
	ltMatrixLayoutSetAttribute
	ltMatmulPreferenceCreate
	ltMatmulPreferenceDestroy
	ltMatmulPreferenceSetAttribute
	ltMatmulAlgoGetHeuristic
	ltMatmul
	numSymbols
)

// names are the functions' names in the library.
var names = [numSymbols]string{
	ltCreate:                       "cublasLtCreate",
	ltDestroy:                      "cublasLtDestroy",
	ltGetVersion:                   "cublasLtGetVersion",
	ltMatmulDescCreate:             "cublasLtMatmulDescCreate",
	ltMatmulDescDestroy:            "cublasLtMatmulDescDestroy",
	ltMatmulDescSetAttribute:       "cublasLtMatmulDescSetAttribute",
	ltMatrixLayoutCreate:           "cublasLtMatrixLayoutCreate",
	ltMatrixLayoutDestroy:          "cublasLtMatrixLayoutDestroy",
	ltMatrixLayoutSetAttribute:     "cublasLtMatrixLayoutSetAttribute",
	ltMatmulPreferenceCreate:       "cublasLtMatmulPreferenceCreate",
	ltMatmulPreferenceDestroy:      "cublasLtMatmulPreferenceDestroy",
	ltMatmulPreferenceSetAttribute: "cublasLtMatmulPreferenceSetAttribute",
	ltMatmulAlgoGetHeuristic:       "cublasLtMatmulAlgoGetHeuristic",
	ltMatmul:                       "cublasLtMatmul",
}

// table is an opened library: the addresses of its functions.
type table struct {
	path    string
	address [numSymbols]uintptr
}

func openTable(path string) (*table, error) {
	library, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	t := &table{path: path}
	for s, name := range names {
		if t.address[s], err = purego.Dlsym(library, name); err != nil {
			return nil, fmt.Errorf("%s has no function %s: it is no cuBLASLt, or one before CUDA 11", path, name)
		}
	}
	return t, nil
}

// call calls a function with integers and addresses. The memory of an argument stays in place
// during the call if the conversion to uintptr is in the argument.
//
//go:uintptrescapes
func (t *table) call(s symbol, args ...uintptr) status {
	result, _, _ := purego.SyscallN(t.address[s], args...)
	return status(int32(result))
}

// version prints 120903 as 12.9.3.
func (t *table) version() string {
	v, _, _ := purego.SyscallN(t.address[ltGetVersion])
	return fmt.Sprintf("%d.%d.%d", v/10000, v/100%100, v%100)
}
