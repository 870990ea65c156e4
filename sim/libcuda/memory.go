package main

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/ptxsim/ptx"
)

// ranges is the registered memory of the caller. No two ranges overlap.
type ranges [][]byte

func address(r []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(r)))) }

// add registers a range. It replaces ranges that it overlaps: their memory has been freed, or the
// caller could not have got it again.
func (all *ranges) add(r []byte) {
	if len(r) == 0 {
		return
	}
	low, high := address(r), address(r)+uint64(len(r))
	*all = slices.DeleteFunc(*all, func(old []byte) bool {
		return address(old) < high && low < address(old)+uint64(len(old))
	})
	*all = append(*all, r)
}

// forget removes the range that starts at an address.
func (all *ranges) forget(at uint64) error {
	i := slices.IndexFunc(*all, func(r []byte) bool { return address(r) == at })
	if i < 0 {
		return fail(invalidValue, fmt.Sprintf("forget memory at %#x, where no range starts", at), nil)
	}
	*all = slices.Delete(*all, i, i+1)
	return nil
}

// find returns the index of the range with an address, or -1.
func (all ranges) find(at uint64) int {
	return slices.IndexFunc(all, func(r []byte) bool { return at-address(r) < uint64(len(r)) })
}

// moved is the memory of a launch: where each range lies on the device.
type moved struct {
	ranges ranges
	at     map[int]ptxsim.Ptr // by index of the range
}

// move copies every range that a parameter points into to a device, and rewrites these parameters
// in the arguments.
func (all ranges) move(d *ptxsim.Device, params []*ptx.Var, args []byte) (moved, error) {
	m := moved{all, map[int]ptxsim.Ptr{}}
	for _, p := range params {
		end := p.Offset + p.Size
		if p.Type != ptx.U64 || p.Size != 8 || end > int64(len(args)) {
			continue
		}
		word := args[p.Offset:end]
		pointer := binary.LittleEndian.Uint64(word)
		i := all.find(pointer)
		if i < 0 {
			continue
		}
		if m.at[i] == 0 {
			at, err := d.Alloc(int64(len(all[i])))
			if err != nil {
				return m, err
			}
			m.at[i] = at
			if err := d.Write(at, all[i]); err != nil {
				return m, err
			}
		}
		binary.LittleEndian.PutUint64(word, uint64(m.at[i])+pointer-address(all[i]))
	}
	return m, nil
}

// back copies the ranges from the device.
func (m moved) back(d *ptxsim.Device) error {
	for i, at := range m.at {
		if err := d.Read(m.ranges[i], at); err != nil {
			return err
		}
	}
	return nil
}

func (m moved) free(d *ptxsim.Device) {
	for _, at := range m.at {
		if err := d.Free(at); err != nil {
			panic("BUG: " + err.Error())
		}
	}
}
