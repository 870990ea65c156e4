//go:build !nogpu && (amd64 || arm64)

package libcuda

import "golang.org/x/sys/windows"

const systemLibrary = "nvcuda.dll"

func openLibrary(name string) (uintptr, error) {
	flags := uintptr(windows.LOAD_LIBRARY_SEARCH_SYSTEM32)
	if name != systemLibrary {
		flags = windows.LOAD_WITH_ALTERED_SEARCH_PATH
	}
	h, err := windows.LoadLibraryEx(name, 0, flags)
	return uintptr(h), err
}

func lookup(library uintptr, name string) (uintptr, error) {
	return windows.GetProcAddress(windows.Handle(library), name)
}
