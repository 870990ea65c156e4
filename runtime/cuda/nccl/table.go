//go:build !nogpu && linux && (amd64 || arm64)

package nccl

import (
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"
)

// A symbol is a function of the library.
type symbol int

const (
	getVersion symbol = iota
	getUniqueId
	getErrorString
	getLastError
	commInitRankConfig
	commGetAsyncError
	commFinalize
	commDestroy
	commAbort
	groupStart
	groupEnd
	send
	recv
	allGather
	broadcast
	// The following functions are optional.
	commInitRankScalable
	numSymbols

	numNeeded = commInitRankScalable
)

// names are the functions' names in the library.
var names = [numSymbols]string{
	getVersion:           "ncclGetVersion",
	getUniqueId:          "ncclGetUniqueId",
	getErrorString:       "ncclGetErrorString",
	getLastError:         "ncclGetLastError",
	commInitRankConfig:   "ncclCommInitRankConfig",
	commGetAsyncError:    "ncclCommGetAsyncError",
	commFinalize:         "ncclCommFinalize",
	commDestroy:          "ncclCommDestroy",
	commAbort:            "ncclCommAbort",
	groupStart:           "ncclGroupStart",
	groupEnd:             "ncclGroupEnd",
	send:                 "ncclSend",
	recv:                 "ncclRecv",
	allGather:            "ncclAllGather",
	broadcast:            "ncclBroadcast",
	commInitRankScalable: "ncclCommInitRankScalable",
}

// oldest is the first version with communicators that do not block.
const oldest = 21400

// table is an opened library: the addresses of its functions.
type table struct {
	path    string
	address [numSymbols]uintptr
	number  int // of the version: 22809 is 2.28.9
}

// unfit is the error of a library that lacks something.
type unfit struct{ path, why string }

func (e *unfit) Error() string { return e.path + " " + e.why }

func openTable(path string) (*table, error) {
	library, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	t := &table{path: path}
	if t.address[getVersion], err = purego.Dlsym(library, names[getVersion]); err != nil {
		return nil, &unfit{path, "has no function " + names[getVersion] + ": it is no NCCL"}
	}
	var number int32
	if r := t.call(getVersion, uintptr(unsafe.Pointer(&number))); r != success {
		return nil, &unfit{path, fmt.Sprintf("does not say its version: result %d", int32(r))}
	}
	if t.number = int(number); t.number < oldest {
		return nil, &unfit{path, fmt.Sprintf("is NCCL %s, and %s or later is needed: install a newer one (pip install nvidia-nccl-cu12)", t.version(), versionText(oldest))}
	}
	for s, name := range names {
		if t.address[s], err = purego.Dlsym(library, name); err != nil && symbol(s) < numNeeded {
			return nil, &unfit{path, "has no function " + name + ": it is a damaged NCCL; install it again"}
		}
	}
	return t, nil
}

// call calls a function with integers and addresses. The memory of an argument stays in place
// during the call if the conversion to uintptr is in the argument.
//
//go:uintptrescapes
func (t *table) call(s symbol, args ...uintptr) result {
	r, _, _ := purego.SyscallN(t.address[s], args...)
	return result(int32(r))
}

func (t *table) version() string { return versionText(t.number) }

// versionText prints 22809 as 2.28.9, and 2804, the format before 2.9, as 2.8.4.
func versionText(v int) string {
	const grew = 10000
	if v < grew {
		return fmt.Sprintf("%d.%d.%d", v/1000, v/100%10, v%100)
	}
	return fmt.Sprintf("%d.%d.%d", v/10000, v/100%100, v%100)
}
