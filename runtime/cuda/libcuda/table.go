//go:build !nogpu && (linux || windows) && (amd64 || arm64)

package libcuda

import (
	"fmt"

	"github.com/ebitengine/purego"

	"github.com/arithlang/mlc/runtime/cuda"
)

// symbol is a function of the library.
type symbol int

const (
	cuInit symbol = iota
	cuDriverGetVersion
	cuGetErrorName
	cuGetErrorString
	// The following functions are looked up if the driver is new enough.
	cuDeviceGetCount
	cuDeviceGet
	cuDeviceGetName
	cuDeviceTotalMem
	cuDeviceGetAttribute
	cuDevicePrimaryCtxRetain
	cuDevicePrimaryCtxRelease
	cuCtxSetCurrent
	cuStreamCreate
	cuStreamDestroy
	cuStreamSynchronize
	cuStreamQuery
	cuMemAlloc
	cuMemFree
	cuMemGetInfo
	cuMemHostAlloc
	cuMemFreeHost
	cuMemcpyHtoDAsync
	cuMemcpyDtoHAsync
	cuMemcpyDtoDAsync
	cuMemsetD8Async
	cuModuleLoadDataEx
	cuModuleUnload
	cuModuleGetFunction
	cuFuncGetAttribute
	cuFuncSetAttribute
	cuLaunchKernel
	cuStreamBeginCapture
	cuStreamEndCapture
	cuGraphInstantiateWithFlags
	cuGraphDestroy
	cuGraphExecDestroy
	cuGraphLaunch
	cuEventCreate
	cuEventRecord
	cuEventSynchronize
	cuEventElapsedTime
	cuEventDestroy
	// The following functions are looked up at their first use.
	cuTensorMapEncodeTiled
	numSymbols

	numEarly  = cuDeviceGetCount
	numNeeded = cuTensorMapEncodeTiled
)

// names are the functions' names in the library.
var names = [numSymbols]string{
	cuInit:                      "cuInit",
	cuDriverGetVersion:          "cuDriverGetVersion",
	cuGetErrorName:              "cuGetErrorName",
	cuGetErrorString:            "cuGetErrorString",
	cuDeviceGetCount:            "cuDeviceGetCount",
	cuDeviceGet:                 "cuDeviceGet",
	cuDeviceGetName:             "cuDeviceGetName",
	cuDeviceTotalMem:            "cuDeviceTotalMem_v2",
	cuDeviceGetAttribute:        "cuDeviceGetAttribute",
	cuDevicePrimaryCtxRetain:    "cuDevicePrimaryCtxRetain",
	cuDevicePrimaryCtxRelease:   "cuDevicePrimaryCtxRelease_v2",
	cuCtxSetCurrent:             "cuCtxSetCurrent",
	cuStreamCreate:              "cuStreamCreate",
	cuStreamDestroy:             "cuStreamDestroy_v2",
	cuStreamSynchronize:         "cuStreamSynchronize",
	cuStreamQuery:               "cuStreamQuery",
	cuMemAlloc:                  "cuMemAlloc_v2",
	cuMemFree:                   "cuMemFree_v2",
	cuMemGetInfo:                "cuMemGetInfo_v2",
	cuMemHostAlloc:              "cuMemHostAlloc",
	cuMemFreeHost:               "cuMemFreeHost",
	cuMemcpyHtoDAsync:           "cuMemcpyHtoDAsync_v2",
	cuMemcpyDtoHAsync:           "cuMemcpyDtoHAsync_v2",
	cuMemcpyDtoDAsync:           "cuMemcpyDtoDAsync_v2",
	cuMemsetD8Async:             "cuMemsetD8Async",
	cuModuleLoadDataEx:          "cuModuleLoadDataEx",
	cuModuleUnload:              "cuModuleUnload",
	cuModuleGetFunction:         "cuModuleGetFunction",
	cuFuncGetAttribute:          "cuFuncGetAttribute",
	cuFuncSetAttribute:          "cuFuncSetAttribute",
	cuLaunchKernel:              "cuLaunchKernel",
	cuStreamBeginCapture:        "cuStreamBeginCapture_v2",
	cuStreamEndCapture:          "cuStreamEndCapture",
	cuGraphInstantiateWithFlags: "cuGraphInstantiateWithFlags",
	cuGraphDestroy:              "cuGraphDestroy",
	cuGraphExecDestroy:          "cuGraphExecDestroy",
	cuGraphLaunch:               "cuGraphLaunch",
	cuEventCreate:               "cuEventCreate",
	cuEventRecord:               "cuEventRecord",
	cuEventSynchronize:          "cuEventSynchronize",
	cuEventElapsedTime:          "cuEventElapsedTime",
	cuEventDestroy:              "cuEventDestroy_v2",
	cuTensorMapEncodeTiled:      "cuTensorMapEncodeTiled",
}

// table is an opened library: the addresses of its functions.
type table struct {
	library uintptr
	path    string
	address [numSymbols]uintptr
}

func openTable(path string) (*table, error) {
	library, err := openLibrary(path)
	if err != nil {
		return nil, fmt.Errorf("%w: the driver's library cannot be loaded (%v); install NVIDIA's driver, "+
			"or set MLC_LIBCUDA to the path of its %s", cuda.ErrUnavailable, err, systemLibrary)
	}
	t := &table{library: library, path: path}
	return t, t.find(0, numEarly)
}

// find looks up a range of functions.
func (t *table) find(from, to symbol) error {
	for s := from; s < to; s++ {
		address, err := lookup(t.library, names[s])
		if err != nil {
			return fmt.Errorf("%s has no function %s: it is no driver library of NVIDIA's, or a damaged one; reinstall the driver",
				t.path, names[s])
		}
		t.address[s] = address
	}
	return nil
}

// call calls a function with integers and addresses. The memory of an argument stays in place
// during the call if the conversion to uintptr is in the argument.
//
//go:uintptrescapes
func (t *table) call(s symbol, args ...uintptr) cuda.Code {
	result, _, _ := purego.SyscallN(t.address[s], args...)
	return cuda.Code(int32(result))
}
