package main

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/arithlang/mlc/ptxsim/ptx"
)

// A list of C has words that are numbers or pointers. Go must not hold a number as a pointer.
type list struct{ base unsafe.Pointer }

const word = unsafe.Sizeof(uintptr(0))

func (l list) number(i int) uintptr { return *(*uintptr)(unsafe.Add(l.base, i*int(word))) }

func (l list) setNumber(i int, n uintptr) { *(*uintptr)(unsafe.Add(l.base, i*int(word))) = n }

func (l list) pointer(i int) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Add(l.base, i*int(word)))
}

// gather returns the parameter block of a launch. The caller gives a pointer to each argument, or
// the block itself in extra.
func gather(params []*ptx.Var, pointers, extra list) ([]byte, error) {
	const (
		doing         = "read the arguments of a launch"
		end           = 0
		bufferPointer = 1
		bufferSize    = 2
	)
	block := make([]byte, size(params))
	switch {
	case pointers.base != nil && extra.base != nil:
		return nil, fail(invalidValue, doing+", which has kernelParams and extra", nil)
	case pointers.base != nil:
		for i, p := range params {
			copy(block[p.Offset:][:p.Size], unsafe.Slice((*byte)(pointers.pointer(i)), p.Size))
		}
		return block, nil
	case extra.base == nil:
		if len(params) > 0 {
			return nil, fail(invalidValue, doing+", which has none", nil)
		}
		return block, nil
	}
	var given unsafe.Pointer
	var bytes uintptr
	for i := 0; extra.number(i) != end; i += 2 {
		switch extra.number(i) {
		case bufferPointer:
			given = extra.pointer(i + 1)
		case bufferSize:
			bytes = *(*uintptr)(extra.pointer(i + 1))
		default:
			return nil, fail(invalidValue, doing+": extra has an unknown key", nil)
		}
	}
	// What follows the last parameter is the padding of a struct in C.
	if padded := (uintptr(len(block)) + word - 1) / word * word; given == nil || bytes < uintptr(len(block)) || bytes > padded {
		return nil, fail(invalidValue, doing, fmt.Errorf("extra has %d bytes of parameters, the kernel has %d", bytes, len(block)))
	}
	copy(block, unsafe.Slice((*byte)(given), len(block)))
	return block, nil
}

// report writes text to the logs of a compilation that the caller asks for.
func report(options []int32, values list, text string) {
	const errorLog, errorLogBytes = 5, 6
	log, bytes := slices.Index(options, errorLog), slices.Index(options, errorLogBytes)
	if log < 0 || bytes < 0 {
		return
	}
	values.setNumber(bytes, uintptr(trim(unsafe.Slice((*byte)(values.pointer(log)), values.number(bytes)), text)))
}
