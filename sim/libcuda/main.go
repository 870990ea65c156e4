// Command libcuda is a libcuda.so for tests. Programs that use NVIDIA's driver by dlopen, such as
// Python by ctypes, run their kernels on the simulator with it, where every access is checked:
//
//	go build -buildmode=c-shared -o libcuda.so ./sim/libcuda
//
// The memory of the caller is the memory of the devices. Four functions are not NVIDIA's:
//
//	simRegister(address, bytes)  makes a range of memory known, as an allocation would
//	simForget(address)           makes it unknown again
//	simMessage()                 explains the last error, in text that holds until the next call
//	simLaunches()                counts the launches that ended without a fault
//
// A launch copies each range that a parameter points into to a simulated device, runs the kernel,
// and copies the range back. Only parameters of the type .u64 are looked at. A kernel cannot reach
// other memory, and all memory of a range counts as written.
//
// Launches end before cuLaunchKernel returns, so it returns the errors of the kernel itself. A
// fault leaves the memory and the context as they were, unlike on a GPU. Warnings of the simulator
// are faults, too.
//
// cuInit reads two environment variables. SIM_ARCH is the architecture, 90 by default, and
// SIM_DEVICES the number of devices, 1 by default.
//
// The functions exist on Linux with cgo. Elsewhere the program is empty.
package main

func main() {}
