package main

import "github.com/arithlang/mlc/runtime/cuda"

// The codes that package cuda does not need.
const (
	success        cuda.Code = 0
	invalidValue   cuda.Code = 1
	notInitialized cuda.Code = 3
	invalidContext cuda.Code = 201
	invalidHandle  cuda.Code = 400
	notSupported   cuda.Code = 801
)

// codes are the results of the library, with the names and texts of NVIDIA's driver.
var codes = map[cuda.Code]struct{ name, text string }{
	success:                {"CUDA_SUCCESS", "no error"},
	invalidValue:           {"CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	cuda.OutOfMemory:       {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	notInitialized:         {"CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
	cuda.NoDevice:          {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
	cuda.InvalidDevice:     {"CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
	invalidContext:         {"CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	cuda.InvalidPTX:        {"CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
	invalidHandle:          {"CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
	cuda.NotFound:          {"CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	cuda.IllegalAddress:    {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
	cuda.MisalignedAddress: {"CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
	cuda.LaunchFailed:      {"CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
	notSupported:           {"CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
}

// attributes are those of a device, by the numbers of CUdevice_attribute.
func attributes(i cuda.Info) map[int]int {
	return map[int]int{
		1: 1024,                                                   // threads of a block
		2: 1024, 3: 1024, 4: 64, 5: 1<<31 - 1, 6: 65535, 7: 65535, // of a block and of a grid, by dimension
		8: i.Shared, 9: 64 << 10, 10: 32, // shared and constant memory, lanes of a warp
		12: i.SMRegisters, 16: i.SMs, 39: i.SMThreads, 75: i.Major, 76: i.Minor,
		81: i.SMShared, 82: i.SMRegisters, 97: i.SharedOptIn, 106: i.SMBlocks,
		111: i.SMShared - i.SharedOptIn, // reserved by the driver in each block
	}
}
