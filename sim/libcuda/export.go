//go:build linux && cgo

package main

/*
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// The layout of CUlaunchConfig.
typedef struct {
	unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, shared;
	uintptr_t stream;
	void *attributes;
	unsigned count;
} launch_config;
*/
import "C"

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"unsafe"

	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/sim/simulated"
)

// library is what a library of C has one of. Its lock guards everything.
var library struct {
	sync.Mutex
	driver
	message *C.char // why the last call failed
	texts   map[string]*C.char
}

// call runs a function of the library and returns its result.
func call(f func(d *driver) error) C.int {
	return locked(func(d *driver) error {
		if d.devices == nil {
			return fail(notInitialized, "use the driver before cuInit", nil)
		}
		return f(d)
	})
}

// locked is call before cuInit, too.
func locked(f func(d *driver) error) C.int {
	library.Lock()
	defer library.Unlock()
	err := f(&library.driver)
	if err == nil {
		return 0
	}
	C.free(unsafe.Pointer(library.message))
	library.message = C.CString(err.Error())
	code := cuda.LaunchFailed
	if e := (*cuda.Error)(nil); errors.As(err, &e) {
		code = e.Code
	}
	return C.int(code)
}

// constant returns text that C may keep.
func constant(text string) *C.char {
	library.Lock()
	defer library.Unlock()
	if library.texts == nil {
		library.texts = map[string]*C.char{}
	}
	if library.texts[text] == nil {
		library.texts[text] = C.CString(text)
	}
	return library.texts[text]
}

// setting reads a number from the environment as it is now. Go's own copy is from the start of
// the process.
func setting(name string, otherwise int) (int, error) {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	text := C.getenv(c)
	if text == nil {
		return otherwise, nil
	}
	n, err := strconv.Atoi(C.GoString(text))
	if err != nil {
		return 0, fail(invalidValue, "read "+name, err)
	}
	return n, nil
}

//export cuInit
func cuInit(flags C.uint) C.int {
	return locked(func(d *driver) error {
		if d.devices != nil {
			return nil
		}
		arch, err := setting("SIM_ARCH", 90)
		if err != nil {
			return err
		}
		devices, err := setting("SIM_DEVICES", 1)
		if err != nil {
			return err
		}
		return d.open(devices, arch)
	})
}

//export cuDriverGetVersion
func cuDriverGetVersion(version *C.int) C.int {
	return locked(func(*driver) error {
		d, err := simulated.Open(ptxsim.Options{})
		if err == nil {
			*version = C.int(d.Info().Version)
		}
		return err
	})
}

//export cuDeviceGetCount
func cuDeviceGetCount(count *C.int) C.int {
	return call(func(d *driver) error {
		*count = C.int(len(d.devices))
		return nil
	})
}

//export cuDeviceGet
func cuDeviceGet(device *C.int, ordinal C.int) C.int {
	return call(func(d *driver) error {
		*device = ordinal
		_, err := d.device(int(ordinal))
		return err
	})
}

//export cuDeviceGetName
func cuDeviceGetName(name *C.char, bytes, device C.int) C.int {
	return call(func(d *driver) error {
		trim(unsafe.Slice((*byte)(unsafe.Pointer(name)), bytes), d.info.Name)
		_, err := d.device(int(device))
		return err
	})
}

//export cuDeviceGetAttribute
func cuDeviceGetAttribute(value *C.int, attribute, device C.int) C.int {
	return call(func(d *driver) error {
		v, ok := attributes(d.info)[int(attribute)]
		if !ok {
			return fail(invalidValue, fmt.Sprintf("ask for attribute %d of a device", attribute), nil)
		}
		*value = C.int(v)
		_, err := d.device(int(device))
		return err
	})
}

//export cuDevicePrimaryCtxRetain
func cuDevicePrimaryCtxRetain(context *C.uintptr_t, device C.int) C.int {
	return call(func(d *driver) error {
		c, err := d.retain(int(device))
		*context = C.uintptr_t(c)
		return err
	})
}

//export cuDevicePrimaryCtxRelease
func cuDevicePrimaryCtxRelease(device C.int) C.int {
	return call(func(d *driver) error { return d.release(int(device)) })
}

//export cuDevicePrimaryCtxRelease_v2
func cuDevicePrimaryCtxRelease_v2(device C.int) C.int { return cuDevicePrimaryCtxRelease(device) }

//export cuCtxGetCurrent
func cuCtxGetCurrent(context *C.uintptr_t) C.int {
	return call(func(*driver) error {
		*context = C.uintptr_t(current())
		return nil
	})
}

//export cuCtxSetCurrent
func cuCtxSetCurrent(context C.uintptr_t) C.int {
	return call(func(d *driver) error {
		if context != 0 {
			if _, err := d.context(handle(context)); err != nil {
				return err
			}
		}
		setCurrent(handle(context))
		return nil
	})
}

//export cuCtxGetDevice
func cuCtxGetDevice(device *C.int) C.int {
	return call(func(d *driver) error {
		_, err := d.context(current())
		*device = C.int(current() - firstContext)
		return err
	})
}

//export cuCtxSynchronize
func cuCtxSynchronize() C.int {
	return call(func(d *driver) error {
		_, err := d.context(current())
		return err
	})
}

//export cuStreamSynchronize
func cuStreamSynchronize(stream C.uintptr_t) C.int { return cuCtxSynchronize() }

//export cuStreamIsCapturing
func cuStreamIsCapturing(stream C.uintptr_t, status *C.int) C.int {
	*status = 0
	return cuCtxSynchronize()
}

//export cuModuleLoadData
func cuModuleLoadData(module *C.uintptr_t, image *C.char) C.int {
	return cuModuleLoadDataEx(module, image, 0, nil, nil)
}

//export cuModuleLoadDataEx
func cuModuleLoadDataEx(module *C.uintptr_t, image *C.char, count C.uint, options *C.int, values unsafe.Pointer) C.int {
	return call(func(d *driver) error {
		m, err := d.load(current(), C.GoString(image))
		*module = C.uintptr_t(m)
		if err != nil {
			report(unsafe.Slice((*int32)(options), count), list{values}, err.Error())
		}
		return err
	})
}

//export cuModuleUnload
func cuModuleUnload(module C.uintptr_t) C.int {
	return call(func(d *driver) error { return d.unload(handle(module)) })
}

//export cuModuleGetFunction
func cuModuleGetFunction(function *C.uintptr_t, module C.uintptr_t, name *C.char) C.int {
	return call(func(d *driver) error {
		f, err := d.find(handle(module), C.GoString(name))
		*function = C.uintptr_t(f)
		return err
	})
}

//export cuFuncGetAttribute
func cuFuncGetAttribute(value *C.int, attribute C.int, function C.uintptr_t) C.int {
	return call(func(d *driver) error {
		f, err := d.function(handle(function))
		if err != nil {
			return err
		}
		v, err := f.attribute(int(attribute))
		*value = C.int(v)
		return err
	})
}

//export cuFuncSetAttribute
func cuFuncSetAttribute(function C.uintptr_t, attribute, value C.int) C.int {
	return call(func(d *driver) error {
		f, err := d.function(handle(function))
		if err != nil {
			return err
		}
		return f.setAttribute(int(attribute), int(value))
	})
}

//export cuLaunchKernel
func cuLaunchKernel(function C.uintptr_t, gridX, gridY, gridZ, blockX, blockY, blockZ, shared C.uint,
	stream C.uintptr_t, arguments, extra unsafe.Pointer) C.int {
	return call(func(d *driver) error {
		f, err := d.function(handle(function))
		if err != nil {
			return err
		}
		args, err := gather(f.Params(), list{arguments}, list{extra})
		if err != nil {
			return err
		}
		return d.launch(current(), f, ptxsim.Launch{
			Grid: [3]int{int(gridX), int(gridY), int(gridZ)}, Block: [3]int{int(blockX), int(blockY), int(blockZ)},
			Shared: int(shared), Args: args,
		})
	})
}

//export cuLaunchKernelEx
func cuLaunchKernelEx(config *C.launch_config, function C.uintptr_t, arguments, extra unsafe.Pointer) C.int {
	if config.count > 0 {
		return call(func(*driver) error { return fail(notSupported, "launch a kernel with attributes", nil) })
	}
	return cuLaunchKernel(function, config.gridX, config.gridY, config.gridZ, config.blockX, config.blockY, config.blockZ,
		config.shared, config.stream, arguments, extra)
}

//export cuGetErrorName
func cuGetErrorName(code C.int, name **C.char) C.int {
	return describe(code, name, codes[cuda.Code(code)].name)
}

//export cuGetErrorString
func cuGetErrorString(code C.int, text **C.char) C.int {
	return describe(code, text, codes[cuda.Code(code)].text)
}

func describe(code C.int, to **C.char, text string) C.int {
	if text == "" {
		*to = nil
		return C.int(invalidValue)
	}
	*to = constant(text)
	return 0
}

//export simRegister
func simRegister(at unsafe.Pointer, bytes C.size_t) C.int {
	return locked(func(d *driver) error {
		d.ranges.add(unsafe.Slice((*byte)(at), bytes))
		return nil
	})
}

//export simForget
func simForget(at C.uintptr_t) C.int {
	return locked(func(d *driver) error { return d.ranges.forget(uint64(at)) })
}

//export simMessage
func simMessage() *C.char {
	library.Lock()
	defer library.Unlock()
	if library.message == nil {
		library.message = C.CString("")
	}
	return library.message
}

//export simLaunches
func simLaunches() (n C.uint64_t) {
	locked(func(d *driver) error {
		n = C.uint64_t(d.launches)
		return nil
	})
	return n
}
