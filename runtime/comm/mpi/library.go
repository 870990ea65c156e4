//go:build !nogpu && linux && (amd64 || arm64)

package mpi

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// functions are the functions that a World needs.
var functions = []string{
	"MPI_Init_thread", "MPI_Finalize", "MPI_Abort", "MPI_Comm_rank", "MPI_Comm_size", "MPI_Get_library_version",
	"MPI_Isend", "MPI_Irecv", "MPI_Testall", "MPI_Ibcast", "MPI_Iallgatherv", "MPI_Iallreduce", "MPI_Ibarrier",
}

// A library is an open library: its functions and constants.
type library struct {
	path                   string
	dl                     uintptr
	abi                    *abi
	address                map[string]uintptr
	world, byte, long, max uintptr
	aborting               atomic.Bool // waits end at once
}

// open opens a library that has the functions.
func open(path string, family *abi) (*library, error) {
	// UCX, under some of these libraries, takes SIGSEGV, which Go needs to make panics.
	if os.Getenv("UCX_ERROR_SIGNALS") == "" {
		os.Setenv("UCX_ERROR_SIGNALS", "")
	}
	dl, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, err
	}
	l := &library{path: path, dl: dl, abi: family, address: map[string]uintptr{}}
	for _, name := range functions {
		if l.address[name], err = purego.Dlsym(dl, name); err != nil {
			return nil, fmt.Errorf("it has no %s: use a library of MPI 3 or later", name)
		}
	}
	return l, l.resolve()
}

func (l *library) has(symbol string) bool {
	at, err := purego.Dlsym(l.dl, symbol)
	return err == nil && at != 0
}

// resolve finds the constants that are addresses.
func (l *library) resolve() error {
	for _, h := range []struct {
		from handle
		to   *uintptr
	}{{l.abi.world, &l.world}, {l.abi.byte, &l.byte}, {l.abi.long, &l.long}, {l.abi.max, &l.max}} {
		*h.to = h.from.value
		if h.from.symbol == "" {
			continue
		}
		at, err := purego.Dlsym(l.dl, h.from.symbol)
		if err != nil {
			return fmt.Errorf("%s has no %s, unlike Open MPI", l.path, h.from.symbol)
		}
		*h.to = at
	}
	return nil
}

// call calls a function with integers and addresses. Memory behind an argument stays alive
// during the call if the conversion to uintptr is in the argument.
//
//go:uintptrescapes
func (l *library) call(name string, args ...uintptr) error {
	result, _, _ := purego.SyscallN(l.address[name], args...)
	if code := int32(result); code != 0 {
		return fmt.Errorf("%s of %s failed with code %d", name, l.path, code)
	}
	return nil
}

// version returns the first line of the library's version text, without dates.
func (l *library) version() string {
	const most = 8192 // MPI_MAX_LIBRARY_VERSION_STRING of all families
	text := make([]byte, most)
	var n int32
	if l.call("MPI_Get_library_version", address(text), uintptr(unsafe.Pointer(&n))) != nil || n < 0 || n > most {
		return l.path
	}
	line, _, _ := strings.Cut(strings.TrimRight(string(text[:n]), "\x00\n"), "\n")
	line, _, _ = strings.Cut(line, ",")
	return strings.Join(strings.Fields(strings.Replace(line, "Version:", "", 1)), " ")
}

func address[T any](x []T) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(x))) }

// requests are operations under way: an array of MPI_Requests.
type requests struct {
	l    *library
	n    int
	data []uint64 // aligned; a request may be half a word
}

func (l *library) begin(n int) *requests {
	return &requests{l: l, data: make([]uint64, (n*l.abi.request+7)/8)}
}

// next returns the place of the next request.
func (r *requests) next() uintptr {
	at := unsafe.Add(unsafe.Pointer(unsafe.SliceData(r.data)), r.n*r.l.abi.request)
	r.n++
	return uintptr(at)
}

var errAborting = errors.New("this process ends the training of all ranks")

// The times of polling. Ranks poll eagerly for longer than most waits of equally fast ranks.
// After that they sleep for a part of the time waited so far, to leave the core to computing
// threads.
const (
	eager   = 2 * time.Millisecond
	part    = 40
	longest = 2 * time.Millisecond
)

// wait returns when all requests have completed.
func (r *requests) wait() error {
	start := time.Now()
	for {
		var done int32
		if err := r.l.call("MPI_Testall", uintptr(r.n), address(r.data), uintptr(unsafe.Pointer(&done)), r.l.abi.ignore); err != nil || done != 0 {
			runtime.KeepAlive(r.data)
			return err
		}
		if r.l.aborting.Load() {
			return errAborting
		}
		if waited := time.Since(start); waited < eager {
			unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
		} else {
			time.Sleep(min(waited/part, longest))
		}
	}
}
