//go:build !nogpu && (amd64 || arm64)

package libcuda

import "github.com/ebitengine/purego"

// systemLibrary is installed by the driver. libcuda.so without a number may be the toolkit's stub.
const systemLibrary = "libcuda.so.1"

func openLibrary(name string) (uintptr, error) {
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
}

func lookup(library uintptr, name string) (uintptr, error) {
	return purego.Dlsym(library, name)
}
