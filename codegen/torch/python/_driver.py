"""Launches the kernels of this package through CUDA's driver library.

The library is opened and initialised at the first launch, never at import, so a process may
import the package and then fork. Modules are loaded once a device, into the primary context that
PyTorch uses, and stay loaded. Memory comes from PyTorch, launches go to PyTorch's current stream,
and nothing waits for the device.

Environment:
    MLC_LIBCUDA         the path of the driver library, instead of libcuda.so.1
    MLC_LIBCUDA_MEMORY  for tests: "cpu" makes tensors of the CPU the memory of that library. A
                        library that exports simRegister(void *, size_t) hears of each tensor
                        before the launches of a program, and simForget(void *) after them. Errors
                        contain the text of const char *simMessage().
"""

import ctypes
import json
import os
import struct
import threading
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

#: The type of devices whose tensors are memory of the driver library.
memory = "cpu" if os.environ.get("MLC_LIBCUDA_MEMORY") == "cpu" else "cuda"

_OUT_OF_SHARED = 48 << 10  # bytes of a block that need no attribute
_MOST_PARAMETERS = 4096  # bytes of an entry's parameters
_MOST_REPLICAS = 65535  # of a grid
_MOST_BLOCKS = (1 << 31) - 1
_SCRATCH_BLOCKS = 4  # blocks of a multiprocessor whose scratch is global memory

# Attributes of devices and functions, and options of cuModuleLoadDataEx, as in cuda.h.
_MULTIPROCESSORS, _MAJOR, _MINOR, _SHARED = 16, 75, 76, 97
_DYNAMIC_SHARED = 8
_ERROR_LOG, _ERROR_LOG_BYTES = 5, 6

_REMEDIES = {
    2: "the GPU's memory is full: use a smaller batch, or torch.cuda.empty_cache()",
    3: "a process that was forked after CUDA was used cannot use it: start processes by the method 'spawn'",
    100: "no GPU is visible: see nvidia-smi and CUDA_VISIBLE_DEVICES",
    209: "the GPU's architecture is not supported",
    218: "the driver cannot compile the kernels: update it, or write the package again",
    222: "the driver is older than the kernels: update it",
    700: "an earlier kernel of this process may have failed: find it with CUDA_LAUNCH_BLOCKING=1",
    **dict.fromkeys(
        range(900, 909),
        "a CUDA graph is being captured: call attention once on this device before the capture",
    ),
}


class _Driver:
    """The driver library, and what it has loaded on each device."""

    def __init__(self) -> None:
        path = os.environ.get("MLC_LIBCUDA") or ("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
        try:
            self.library = ctypes.CDLL(path)
        except OSError as error:
            remedy = "install NVIDIA's driver, or set MLC_LIBCUDA to the path of its library"
            if torch.version.hip:
                remedy = "this PyTorch is for ROCm, and the kernels are for NVIDIA's GPUs: compute on the CPU"
            raise RuntimeError(f"attention: cannot open CUDA's driver library: {error}: {remedy}") from None
        self.devices: Dict[int, _Device] = {}
        self.launch = self.library.cuLaunchKernel
        self.current = self.library.cuCtxGetCurrent
        self.register = getattr(self.library, "simRegister", None)
        self.forget: Any = getattr(self.library, "simForget", None)
        self.message = getattr(self.library, "simMessage", None)
        if self.message is not None:
            self.message.restype = ctypes.c_char_p
        self.check(self.library.cuInit(0), "cuInit")

    def check(self, status: int, doing: str) -> None:
        """Raises an error unless the status is 0."""
        if status == 0:
            return
        said = self.message().decode(errors="replace") if self.message is not None else ""
        texts = []
        for function in (self.library.cuGetErrorName, self.library.cuGetErrorString):
            text = ctypes.c_char_p()
            function(status, ctypes.byref(text))
            texts.append((text.value or b"unknown").decode())
        if said:
            texts[1] += f" ({said})"
        remedy = _REMEDIES.get(status)
        raise RuntimeError(f"attention: {doing}: {texts[0]} ({status}): {texts[1]}" + (f": {remedy}" if remedy else ""))

    def attribute(self, which: int, device: int) -> int:
        value = ctypes.c_int()
        self.check(self.library.cuDeviceGetAttribute(ctypes.byref(value), which, device), "cuDeviceGetAttribute")
        return value.value


class _Device:
    """A device: its primary context, its limits, and its modules."""

    def __init__(self, driver: _Driver, index: int) -> None:
        device, context = ctypes.c_int(), ctypes.c_void_p()
        driver.check(driver.library.cuDeviceGet(ctypes.byref(device), index), f"cuDeviceGet of device {index}")
        driver.check(
            driver.library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device.value), "cuDevicePrimaryCtxRetain"
        )
        self.driver, self.index, self.context = driver, index, context
        self.arch = 10 * driver.attribute(_MAJOR, device.value) + driver.attribute(_MINOR, device.value)
        self.multiprocessors = driver.attribute(_MULTIPROCESSORS, device.value)
        self.shared = driver.attribute(_SHARED, device.value)
        self.modules: Dict[str, _Module] = {}

    def enter(self) -> Optional[ctypes.c_void_p]:
        """Makes the device's context current, and returns the one before it, None if it was current.
        A thread of autograd may have no context, or another device's."""
        before = _parameters.context
        self.driver.check(self.driver.current(_parameters.context_at), "cuCtxGetCurrent")
        if before.value == self.context.value:
            return None
        self.driver.check(self.driver.library.cuCtxSetCurrent(self.context), "cuCtxSetCurrent")
        return ctypes.c_void_p(before.value)

    def leave(self, before: Optional[ctypes.c_void_p]) -> None:
        """Returns to the context that enter returned."""
        if before is not None:
            self.driver.check(self.driver.library.cuCtxSetCurrent(before), "cuCtxSetCurrent")


class _Plan:
    """The launches of a program for the numbers of a call, ready to be packed."""

    def __init__(self, program: "_Program", numbers: Dict[str, int], replicas: int) -> None:
        self.temporaries = [(name, dtype, elements(**numbers)) for name, dtype, elements in program.temporaries]
        self.launches: List[Tuple[Any, ...]] = []
        self.scratch = 0  # bytes of global memory
        for launch in program.launches:
            blocks = min(launch.blocks(**numbers), _MOST_BLOCKS)
            if blocks <= 0:
                continue
            shared = scratch = 0
            if launch.scratch is not None:
                scratch = (launch.scratch(**numbers) + 15) // 16 * 16
                if launch.static + scratch <= program.device.shared:
                    shared = scratch
                else:
                    most = _SCRATCH_BLOCKS * program.device.multiprocessors // replicas
                    blocks = min(blocks, max(1, most))
                    self.scratch = max(self.scratch, blocks * replicas * scratch)
            values = {"P": 0, "N": 0, "layer": 0, **numbers}
            scalars: List[int] = []
            for name in launch.scalars:
                scalars += [0, 0] if name == "example" else [values[name]]
            self.launches.append((launch, blocks, shared, scratch, scalars))


class _Launch:
    """A row of the table, with its function."""

    def __init__(self, row: Dict[str, Any], packed: bool, function: ctypes.c_void_p) -> None:
        self.entry, self.threads, self.static, self.function = row["entry"], row["threads"], row["static"], function
        self.blocks = formula(row["blocks"])
        self.scratch = formula(row["scratch"]) if row["scratch"] else None
        self.arguments, self.scalars = row["arguments"], row["scalars"]
        self.once = packed and "example_start" not in self.arguments  # for the rows of all replicas
        words = len(self.scalars) + self.scalars.count("example")
        layout = f"={2 * len(self.arguments)}Q{words}I"
        if self.scratch is not None:
            layout += f"{words % 2 * 4}x2Q"
        self.block = struct.Struct(layout)


class _Program:
    """A program of a module, loaded on a device."""

    def __init__(self, device: _Device, row: Dict[str, Any], function: Callable[[str], ctypes.c_void_p]) -> None:
        self.device = device
        self.temporaries = [(t["name"], getattr(torch, t["type"]), formula(t["elements"])) for t in row["temporaries"]]
        self.packed = row["packed"]
        self.launches = [_Launch(launch, self.packed, function(launch["entry"])) for launch in row["launches"]]
        self.plans: Dict[Tuple[int, ...], _Plan] = {}

    def plan(self, numbers: Dict[str, int], replicas: int) -> _Plan:
        key = (*numbers.values(), replicas)
        plan = self.plans.get(key)
        if plan is None:
            if len(self.plans) >= 1024:
                self.plans.clear()
            plan = self.plans[key] = _Plan(self, numbers, replicas)
        return plan


class _Module:
    """A module of the table, loaded on a device with all of its functions."""

    def __init__(self, device: _Device, row: Dict[str, Any]) -> None:
        self.device, driver = device, device.driver
        if device.arch < row["arch"]:
            raise RuntimeError(
                f"attention: the GPU {device.index} has compute capability {device.arch / 10}, and the kernels need "
                f"{row['arch'] / 10} or more: move the tensors to a newer GPU, or to the CPU"
            )
        with open(os.path.join(os.path.dirname(__file__), row["file"]), "rb") as file:
            text = file.read() + b"\0"
        log = ctypes.create_string_buffer(8192)
        options = (ctypes.c_int * 2)(_ERROR_LOG, _ERROR_LOG_BYTES)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
        self.handle = ctypes.c_void_p()
        status = driver.library.cuModuleLoadDataEx(ctypes.byref(self.handle), text, 2, options, values)
        said = log.value.decode(errors="replace").strip()
        driver.check(status, f"cuModuleLoadDataEx of {row['file']}" + (f" ({said})" if said else ""))
        functions: Dict[str, ctypes.c_void_p] = {}
        self.programs: Dict[str, _Program] = {}

        def function(entry: str) -> ctypes.c_void_p:
            if entry not in functions:
                found = functions[entry] = ctypes.c_void_p()
                status = driver.library.cuModuleGetFunction(ctypes.byref(found), self.handle, entry.encode())
                driver.check(status, f"cuModuleGetFunction of {entry}")
            return functions[entry]

        for name, program in row["programs"].items():
            self.programs[name] = _Program(device, program, function)
            # Each function may have all shared memory from the start, since captures of a graph may follow.
            for launch in self.programs[name].launches:
                room = device.shared - launch.static
                if launch.scratch is not None and device.shared > _OUT_OF_SHARED:
                    status = driver.library.cuFuncSetAttribute(launch.function, _DYNAMIC_SHARED, room)
                    driver.check(status, f"cuFuncSetAttribute of {launch.entry}")


def formula(text: str) -> Callable[..., int]:
    """Compiles a formula of the table over B, T, S, C, R and RK. P, the first position of a query, is 0."""
    compiled: Callable[..., int] = eval(
        "lambda B=0, T=0, S=0, C=0, R=0, RK=0, P=0, **_: " + text, {"__builtins__": {}, "min": min, "max": max}
    )
    return compiled


class _Parameters(threading.local):
    """A thread's memory for the parameters of a launch, as cuLaunchKernel takes it."""

    def __init__(self) -> None:
        self.bytes = ctypes.create_string_buffer(_MOST_PARAMETERS)
        self.size = ctypes.c_size_t()
        self.extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(self.bytes), 2, ctypes.addressof(self.size), None)
        self.context = ctypes.c_void_p()
        self.context_at = ctypes.byref(self.context)


_lock = threading.RLock()
_parameters = _Parameters()
_driver: Optional[_Driver] = None
_forked = False


def _after_fork() -> None:
    global _forked, _lock, _parameters
    _forked, _lock, _parameters = _driver is not None, threading.RLock(), _Parameters()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def load_table() -> Dict[str, Any]:
    """Reads kernels.json."""
    with open(os.path.join(os.path.dirname(__file__), "kernels.json"), encoding="utf-8") as file:
        table: Dict[str, Any] = json.load(file)
    if table["version"] != 2:
        raise ImportError(
            f"kernels.json has version {table['version']}, and this package reads version 2: "
            f"write it again: {table.get('command', 'mlc attention')}"
        )
    return table


def _capturing() -> bool:
    return memory == "cuda" and torch.cuda.is_current_stream_capturing()


def _stream(index: int) -> int:
    """Returns PyTorch's current stream of a device."""
    if memory != "cuda":
        return 0
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return raw(index) if raw is not None else torch.cuda.current_stream(index).cuda_stream


def _load(table: Dict[str, Any], module: str, device: torch.device) -> _Module:
    """Returns a module, loaded on a device. It opens the driver library first, if need be."""
    global _driver
    if _forked:
        raise RuntimeError(
            "attention: CUDA was used before this process was forked: start processes by the method 'spawn'"
        )
    if _capturing():
        raise RuntimeError(
            "attention: kernels cannot be loaded while a CUDA graph is captured: call attention once on "
            f"{device} with tensors of type {module} before the capture"
        )
    index = device.index or 0
    with _lock:
        if _driver is None:
            _driver = _Driver()
        found = _driver.devices.get(index)
        if found is None:
            found = _driver.devices[index] = _Device(_driver, index)
        if module not in found.modules:
            before = found.enter()
            try:
                found.modules[module] = _Module(found, table["modules"][module])
            finally:
                found.leave(before)
        return found.modules[module]


class Session:
    """Runs programs of a module on the device of a tensor, whose context is current inside."""

    def __init__(self, table: Dict[str, Any], module: str, device: torch.device) -> None:
        index = device.index or 0
        found = None if _driver is None or _forked else _driver.devices.get(index)
        loaded = None if found is None else found.modules.get(module)
        self.module = loaded or _load(table, module, device)
        self.device, self.driver, self.torch_device = self.module.device, self.module.device.driver, device
        self.stream = ctypes.c_void_p(_stream(index))

    def __enter__(self) -> "Session":
        self.before = self.device.enter()
        return self

    def __exit__(self, *_: object) -> None:
        self.device.leave(self.before)

    def run(
        self,
        program: str,
        numbers: Dict[str, int],
        buffers: Dict[str, Tuple[torch.Tensor, int, int]],
        replicas: int = 1,
    ) -> None:
        """Launches a program. A buffer is a tensor, the bytes to skip in it, and the bytes from one
        replica's buffer to the next. Replicas of a packed program share all rows."""
        loaded = self.module.programs[program]
        most = min(replicas, _MOST_REPLICAS)
        if loaded.plan(numbers, most).scratch:
            most = min(most, _SCRATCH_BLOCKS * self.device.multiprocessors)  # so scratch memory has a bound
        plan = loaded.plan(numbers, most)
        at = {name: (tensor.data_ptr() + skip, step) for name, (tensor, skip, step) in buffers.items()}
        kept = []  # the memory of this program
        for name, dtype, elements in plan.temporaries:
            count = elements if loaded.packed else replicas * elements
            tensor = torch.empty(max(1, count), dtype=dtype, device=self.torch_device)
            kept.append(tensor)
            at[name] = (tensor.data_ptr(), 0 if loaded.packed else elements * tensor.element_size())
        scratch_at = 0
        if plan.scratch:
            kept.append(torch.empty(plan.scratch, dtype=torch.uint8, device=self.torch_device))
            scratch_at = kept[-1].data_ptr()
        driver = self.driver
        if driver.register is None:
            self._launch(plan, replicas, most, at, scratch_at)
            return
        known = {}
        for tensor in [b[0] for b in buffers.values()] + kept:
            storage = tensor.untyped_storage()
            known[storage.data_ptr()] = storage.nbytes()
        for address, bytes_ in known.items():
            driver.check(driver.register(ctypes.c_void_p(address), ctypes.c_size_t(bytes_)), "simRegister")
        try:
            self._launch(plan, replicas, most, at, scratch_at)
        finally:
            for address in known:
                driver.forget(ctypes.c_void_p(address))

    def _launch(self, plan: _Plan, replicas: int, most: int, at: Dict[str, Tuple[int, int]], scratch_at: int) -> None:
        driver, parameters = self.driver, _parameters
        for launch, blocks, shared, scratch, scalars in plan.launches:
            all_ = 1 if launch.once else replicas
            for first in range(0, all_, most):
                count = min(all_ - first, most)
                values: List[int] = []
                for name in launch.arguments:
                    address, step = at[name]
                    values += (address + first * step, step)
                values += scalars
                if launch.scratch is not None:
                    values += (0 if shared else scratch_at, scratch)
                launch.block.pack_into(parameters.bytes, 0, *values)
                parameters.size.value = launch.block.size
                status = driver.launch(
                    launch.function, blocks, count, 1, launch.threads, 1, 1, shared, self.stream, None, parameters.extra
                )
                if status:
                    driver.check(status, f"launch of {launch.entry}, {blocks} by {count} blocks")
