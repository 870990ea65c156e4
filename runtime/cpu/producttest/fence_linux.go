package producttest

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Fence is memory between two inaccessible pages.
type Fence struct {
	t      *testing.T
	mapped []byte
}

const fencePages = 64

// NewFence returns a Fence for one test.
func NewFence(t *testing.T) *Fence {
	t.Helper()
	page := unix.Getpagesize()
	all, err := unix.Mmap(-1, 0, (fencePages+2)*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(all) })
	for _, edge := range [][]byte{all[:page], all[len(all)-page:]} {
		if err := unix.Mprotect(edge, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return &Fence{t, all[page : len(all)-page]}
}

// Fenced copies s to the end of a Fence, or to its beginning.
func Fenced[T any](f *Fence, s []T, atEnd bool) []T {
	var zero T
	bytes := len(s) * int(unsafe.Sizeof(zero))
	if bytes > len(f.mapped) {
		f.t.Fatalf("%d bytes are more than a fence has", bytes)
	}
	place := f.mapped[:bytes]
	if atEnd {
		place = f.mapped[len(f.mapped)-bytes:]
	}
	to := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(place))), len(s))
	copy(to, s)
	return to
}

// Touches runs f, which must not touch inaccessible memory. The test must have called
// debug.SetPanicOnFault.
func Touches(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if err := recover(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}()
	f()
}
