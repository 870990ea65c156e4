//go:build !nogpu && linux && (amd64 || arm64)

package cublaslt

import (
	"fmt"
	"unsafe"
)

// A status is a cublasStatus_t.
type status int32

const success status = 0

// statuses has the names of statuses by their numbers in cublas_api.h.
var statuses = map[status]string{
	1: "NOT_INITIALIZED", 3: "ALLOC_FAILED", 7: "INVALID_VALUE", 8: "ARCH_MISMATCH", 11: "MAPPING_ERROR", 13: "EXECUTION_FAILED",
	14: "INTERNAL_ERROR", notSupported: "NOT_SUPPORTED", 16: "LICENSE_ERROR",
}

const notSupported status = 15

func (s status) Error() string {
	if name := statuses[s]; name != "" {
		return "CUBLAS_STATUS_" + name
	}
	return fmt.Sprintf("cuBLAS status %d", int32(s))
}

// Numbers of NVIDIA's headers.
const (
	real32F  = 0  // cudaDataType, library_types.h
	real16BF = 14 // cudaDataType, library_types.h

	compute32F = 68 // cublasComputeType_t, cublas_api.h: sums in float32, factors as they are
	opN        = 0  // cublasOperation_t, cublas_api.h
	opT        = 1  // cublasOperation_t, cublas_api.h

	// The following are of cublasLt.h.
	descTransA = 3 // cublasLtMatmulDescAttributes_t
	descTransB = 4 // cublasLtMatmulDescAttributes_t

	layoutBatchCount = 5 // cublasLtMatrixLayoutAttribute_t: int32
	layoutBatchStep  = 6 // cublasLtMatrixLayoutAttribute_t: int64, elements

	preferWorkspace = 1 // cublasLtMatmulPreferenceAttributes_t: uint64, bytes at most
	preferReduction = 3 // cublasLtMatmulPreferenceAttributes_t: uint32, a mask
	preferAlignA    = 5 // cublasLtMatmulPreferenceAttributes_t: uint32, bytes; B, C and D follow

	reduceInCompute = 2 // parts of a sum are added in the type of sums
)

// A heuristic is a cublasLtMatmulHeuristicResult_t of cublasLt.h, of 96 bytes.
type heuristic struct {
	algo      [8]uint64 // cublasLtMatmulAlgo_t
	workspace uint64
	state     status
	waves     float32
	_         [4]int32
}

// A handle is an address in the library's memory.
type handle uintptr

func (t *table) create() (h handle, s status) {
	s = t.call(ltCreate, uintptr(unsafe.Pointer(&h)))
	return h, s
}

func (t *table) destroy(h handle) status { return t.call(ltDestroy, uintptr(h)) }

func (t *table) descCreate() (h handle, s status) {
	s = t.call(ltMatmulDescCreate, uintptr(unsafe.Pointer(&h)), compute32F, real32F)
	return h, s
}

func (t *table) descSet(h handle, attribute uintptr, value int32) status {
	return t.call(ltMatmulDescSetAttribute, uintptr(h), attribute, uintptr(unsafe.Pointer(&value)), unsafe.Sizeof(value))
}

func (t *table) layoutCreate(typ uintptr, rows, cols, ld int) (h handle, s status) {
	s = t.call(ltMatrixLayoutCreate, uintptr(unsafe.Pointer(&h)), typ, uintptr(rows), uintptr(cols), uintptr(ld))
	return h, s
}

func (t *table) layoutBatch(h handle, count int32, step int64) status {
	s := t.call(ltMatrixLayoutSetAttribute, uintptr(h), layoutBatchCount, uintptr(unsafe.Pointer(&count)), unsafe.Sizeof(count))
	if s == success {
		s = t.call(ltMatrixLayoutSetAttribute, uintptr(h), layoutBatchStep, uintptr(unsafe.Pointer(&step)), unsafe.Sizeof(step))
	}
	return s
}

func (t *table) preferenceCreate() (h handle, s status) {
	s = t.call(ltMatmulPreferenceCreate, uintptr(unsafe.Pointer(&h)))
	return h, s
}

func (t *table) preferWords(h handle, attribute uintptr, value uint32) status {
	return t.call(ltMatmulPreferenceSetAttribute, uintptr(h), attribute, uintptr(unsafe.Pointer(&value)), unsafe.Sizeof(value))
}

func (t *table) preferRoom(h handle, bytes uint64) status {
	return t.call(ltMatmulPreferenceSetAttribute, uintptr(h), preferWorkspace, uintptr(unsafe.Pointer(&bytes)), unsafe.Sizeof(bytes))
}

// heuristic returns the algorithm that the library expects to be the fastest.
func (t *table) heuristic(lt, desc handle, layouts [4]handle, preference handle) (h *heuristic, s status) {
	h = new(heuristic)
	var n int32
	const one = 1
	s = t.call(ltMatmulAlgoGetHeuristic, uintptr(lt), uintptr(desc), uintptr(layouts[0]), uintptr(layouts[1]), uintptr(layouts[2]), uintptr(layouts[3]),
		uintptr(preference), one, uintptr(unsafe.Pointer(h)), uintptr(unsafe.Pointer(&n)))
	switch {
	case s == success && n == 0:
		s = notSupported
	case s == success:
		s = h.state
	}
	return h, s
}
