"""Calls each function of the library as a Python program does: driver.py LIBRARY KERNELS."""

import ctypes
import os
import struct
import sys
import threading
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p

os.environ["SIM_ARCH"] = "86"  # after the start of the process
os.environ["SIM_DEVICES"] = "2"
cu = ctypes.CDLL(sys.argv[1])
cu.simMessage.restype = c_char_p
cu.simLaunches.restype = c_uint64
for name, types in {
    "simRegister": [c_void_p, c_size_t],
    "simForget": [c_void_p],
    "cuCtxSetCurrent": [c_void_p],
    "cuModuleLoadData": [c_void_p, c_char_p],
    "cuModuleLoadDataEx": [c_void_p, c_char_p, c_uint, c_void_p, c_void_p],
    "cuModuleGetFunction": [c_void_p, c_void_p, c_char_p],
    "cuModuleUnload": [c_void_p],
    "cuFuncGetAttribute": [c_void_p, c_int, c_void_p],
    "cuFuncSetAttribute": [c_void_p, c_int, c_int],
    "cuLaunchKernel": [c_void_p] + [c_uint] * 7 + [c_void_p] * 3,
    "cuLaunchKernelEx": [c_void_p] * 4,
    "cuStreamSynchronize": [c_void_p],
    "cuStreamIsCapturing": [c_void_p, c_void_p],
}.items():
    getattr(cu, name).argtypes = types


def want(name, *args, code="CUDA_SUCCESS", text=""):
    """Calls a function, and checks its result and the message of the library."""
    result = getattr(cu, name)(*args)
    got, words = c_char_p(), c_char_p()
    assert cu.cuGetErrorName(result, byref(got)) == 0, result
    assert cu.cuGetErrorString(result, byref(words)) == 0 and words.value, result
    message = cu.simMessage().decode()
    assert got.value.decode() == code, f"{name} returned {got.value}, want {code}: {message}"
    assert text in message, f"{name}: {message!r} lacks {text!r}"


def attribute(number):
    value = c_int()
    want("cuDeviceGetAttribute", byref(value), number, device)
    return value.value


def extra(block):
    """Returns the argument `extra` of a launch, and what it needs to stay alive."""
    size = c_size_t(len(block))
    words = (c_void_p * 5)(1, ctypes.cast(block, c_void_p), 2, ctypes.addressof(size), None)
    return words, (block, size)


def launch(function, grid, threads, shared, layout, *args, **wanted):
    block = ctypes.create_string_buffer(struct.pack(layout, *args), struct.calcsize(layout))
    words, _keep = extra(block)
    want("cuLaunchKernel", function, *grid, threads, 1, 1, shared, stream, None, words, **wanted)


version = c_int()
want("cuDriverGetVersion", byref(version))
assert version.value >= 12000
count, device = c_int(), c_int()
want("cuDeviceGetCount", byref(count), code="CUDA_ERROR_NOT_INITIALIZED", text="before cuInit")

memory = (c_float * 1000)(*range(1000))
base = ctypes.addressof(memory)
want("simRegister", base, ctypes.sizeof(memory))

want("cuInit", 0)
want("cuInit", 0)
want("cuDeviceGetCount", byref(count))
assert count.value == 2
want("cuDeviceGet", byref(device), 2, code="CUDA_ERROR_INVALID_DEVICE")
want("cuDeviceGet", byref(device), 0)
name = ctypes.create_string_buffer(100)
want("cuDeviceGetName", name, 100, device)
assert name.value == b"simulated sm_86", name.value
assert (attribute(75), attribute(76), attribute(97)) == (8, 6, 99 << 10)
assert attribute(16) > 0
want("cuDeviceGetAttribute", byref(count), 9999, device, code="CUDA_ERROR_INVALID_VALUE", text="attribute 9999")

kernels = open(sys.argv[2], "rb").read()
module, function, context, other = c_void_p(), c_void_p(), c_void_p(), c_void_p()
stream = 7
want("cuCtxGetCurrent", byref(context))
assert context.value is None
want("cuCtxGetDevice", byref(device), code="CUDA_ERROR_INVALID_CONTEXT")
want("cuCtxSynchronize", code="CUDA_ERROR_INVALID_CONTEXT")
want("cuModuleLoadData", byref(module), kernels, code="CUDA_ERROR_INVALID_CONTEXT")
want("cuDevicePrimaryCtxRetain", byref(context), 0)
want("cuDevicePrimaryCtxRetain", byref(other), 1)
want("cuCtxSetCurrent", 5, code="CUDA_ERROR_INVALID_CONTEXT", text="0x5 is no context")
want("cuCtxSetCurrent", context)
want("cuCtxGetDevice", byref(device))
assert device.value == 0 and context.value != other.value
want("cuCtxGetCurrent", byref(module))
assert module.value == context.value

log = ctypes.create_string_buffer(200)
values = (c_void_p * 2)(ctypes.addressof(log), len(log))
options = (c_int * 2)(5, 6)
newer = kernels.replace(b"sm_80", b"sm_90")
want("cuModuleLoadDataEx", byref(module), newer, 2, options, values, code="CUDA_ERROR_INVALID_PTX", text="is for sm_90, the device is sm_86")
assert b"is for sm_90" in log.value and values[1] == len(log.value) + 1, (log.value, values[1])
want("cuModuleLoadData", byref(module), b"no PTX", code="CUDA_ERROR_INVALID_PTX", text="line 1")
want("cuModuleLoadDataEx", byref(module), kernels, 2, options, values)
want("cuModuleGetFunction", byref(function), module, b"missing", code="CUDA_ERROR_NOT_FOUND", text="no kernel missing")

# Two replicas of 200 floats, from behind the start of a range into the same range.
want("cuModuleGetFunction", byref(function), module, b"add")
arguments = base + 400, 800, base + 2000, 800, base, 200
launch(function, (2, 2, 1), 128, 0, "QQQQQI", *arguments)
assert cu.simLaunches() == 1
assert list(memory) == [i + (i - 400 if 500 <= i < 900 else 0) for i in range(1000)]

# The same by a pointer to each argument, with cuLaunchKernelEx.
cells = [c_uint64(a) for a in arguments[:5]] + [c_uint(arguments[5])]
pointers = (c_void_p * 6)(*map(ctypes.addressof, cells))
config = struct.pack("7IQQI", 2, 2, 1, 128, 1, 1, 0, stream, 0, 0)
want("cuLaunchKernelEx", config, function, pointers, None)
assert memory[899] == 899 + 2 * 499 and memory[900] == 900, memory[899]
config = struct.pack("7IQQI", 2, 2, 1, 128, 1, 1, 0, stream, 0, 1)
want("cuLaunchKernelEx", config, function, pointers, None, code="CUDA_ERROR_NOT_SUPPORTED")

# What a test wants to find.
launch(function, (2, 2, 1), 128, 0, "QQQQQI", base, 0, base + 2800, 800, 0, 200, code="CUDA_ERROR_ILLEGAL_ADDRESS", text="out of bounds: kernel add")
launch(function, (2, 2, 1), 128, 0, "QQQQQI", base + 400, 800, 0, 800, 0, 200, code="CUDA_ERROR_ILLEGAL_ADDRESS")
launch(function, (2, 2, 1), 128, 0, "QQQ", base, base, base, code="CUDA_ERROR_INVALID_VALUE", text="the kernel has 44")
launch(function, (2, 2, 1), 128, 1 << 16, "QQQQQI", *arguments, code="CUDA_ERROR_INVALID_VALUE", text="49152 are allowed")
want("cuModuleGetFunction", byref(function), module, b"race")
launch(function, (1, 1, 1), 128, 0, "Q", base, code="CUDA_ERROR_LAUNCH_FAILED", text="data race: kernel race")
assert cu.simLaunches() == 2

# More than 48 KiB of shared memory, in a thread of its own, which starts without a context.
want("cuModuleGetFunction", byref(function), module, b"reverse")
want("cuFuncSetAttribute", function, 8, 99 << 10, code="CUDA_ERROR_INVALID_VALUE", text="256 bytes of static shared memory")
want("cuFuncSetAttribute", function, 8, 64 << 10)
static = c_int()
want("cuFuncGetAttribute", byref(static), 1, function)
assert static.value == 256
failed = []


def reverse():
    try:
        launch(function, (1, 1, 1), 128, 64 << 10, "Q", base, code="CUDA_ERROR_INVALID_CONTEXT")
        want("cuCtxSetCurrent", other)
        launch(function, (1, 1, 1), 128, 64 << 10, "Q", base, code="CUDA_ERROR_INVALID_HANDLE", text="loaded in another context")
        want("cuCtxSetCurrent", context)
        launch(function, (1, 1, 1), 128, 64 << 10, "Q", base)
    except BaseException as e:
        failed.append(e)


thread = threading.Thread(target=reverse)
thread.start()
thread.join()
if failed:
    raise failed[0]
assert list(memory)[:128] == list(range(127, -1, -1))

status = c_int(1)
want("cuStreamIsCapturing", stream, byref(status))
want("cuStreamSynchronize", stream)
assert status.value == 0
want("simForget", base)
want("simForget", base, code="CUDA_ERROR_INVALID_VALUE", text="no range starts")
launch(function, (1, 1, 1), 128, 64 << 10, "Q", base, code="CUDA_ERROR_ILLEGAL_ADDRESS")
want("cuModuleUnload", module)
launch(function, (1, 1, 1), 128, 64 << 10, "Q", base, code="CUDA_ERROR_INVALID_HANDLE")
want("cuDevicePrimaryCtxRelease_v2", 1)
want("cuDevicePrimaryCtxRelease", 1, code="CUDA_ERROR_INVALID_CONTEXT")
want("cuCtxSetCurrent", None)
want("cuCtxSynchronize", code="CUDA_ERROR_INVALID_CONTEXT")
