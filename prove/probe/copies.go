package probe

import (
	"bytes"
	"errors"
	"fmt"
)

const (
	copied      = 64 << 20 // bytes: more than a cache holds
	fewCopied   = 64 << 10
	copiesTimed = 8 // in a round within the device
)

// runCopies copies bytes to the device, within it, and back.
func runCopies(b *bench) (err error) {
	free, _, err := b.MemInfo()
	if err != nil {
		return err
	}
	n := b.pick(int(min(copied, free/4)), fewCopied)
	from, err := b.AllocHost(n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.FreeHost(from)) }()
	back, err := b.AllocHost(n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.FreeHost(back)) }()
	x, err := b.Alloc(int64(n))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Free(x)) }()
	y, err := b.Alloc(int64(n))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Free(y)) }()
	for i := range from {
		from[i] = byte(i ^ i>>8 ^ i>>16)
	}
	pageable := bytes.Clone(from)
	clear(back)
	size := float64(n) / 1e9
	within := b.pick(copiesTimed, 1)
	for _, c := range []struct {
		name string
		size float64
		by   clock
		call func() error
	}{
		{"to the device, pageable memory", size, b.host, func() error { return b.ToDevice(x, pageable) }},
		{"to the device, pinned memory", size, b.device, func() error { return b.ToDevice(x, from) }},
		{"within the device, read and written", 2 * size * float64(within), b.device, func() (err error) {
			for range within {
				err = errors.Join(err, b.Copy(y, x, int64(n)))
			}
			return err
		}},
		{"to the host, pinned memory", size, b.device, func() error { return b.ToHost(back, y) }},
	} {
		if err := b.rate(c.name, "GB/s", c.size, c.by, c.call); err != nil {
			return err
		}
	}
	if i := different(from, back); i >= 0 {
		return fmt.Errorf("copies are wrong: byte %d of %d is %#02x, want %#02x", i, n, back[i], from[i])
	}
	return nil
}

// different returns the first index at which two slices of equal length differ, or -1.
func different(x, y []byte) int {
	if bytes.Equal(x, y) {
		return -1
	}
	for i := range x {
		if x[i] != y[i] {
			return i
		}
	}
	return len(x)
}
