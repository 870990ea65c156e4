package ptxsim

import (
	"encoding/binary"
	"math/bits"
)

// The places of the state spaces among generic addresses. Shared, local, constant and parameter
// memory also have addresses of their own, starting at 0.
const (
	sharedWindow = 1 << 40
	localWindow  = 2 << 40
	constWindow  = 3 << 40
	paramWindow  = 4 << 40
	windowSize   = 1 << 40
	globalBase   = 0x70 << 40

	granule = 1 << 20 // allocations of global memory start in a new granule
	margin  = 4096    // between the start of a granule and a buffer
)

// buffer is a range of memory within which addresses may move.
type buffer struct {
	name     string
	start    uint64 // address of data[0]
	data     []byte
	init     bitmap  // bytes that were written; nil: all
	vague    bitmap  // bytes that hold an undefined value; nil: none
	shadow   *shadow // nil: races are not checked
	private  int     // bytes per lane, in local memory
	stride   int     // from one lane to the next, a multiple of the largest access
	global   bool
	freed    bool
	fixed    bool // not allocated by Alloc
	readOnly bool
}

// space finds buffers by address.
type space struct {
	base  uint64
	table []*buffer // by granule
}

// add places a buffer after all others and returns its address.
func (s *space) add(b *buffer) uint64 {
	b.start = s.base + uint64(len(s.table))*granule + margin
	b.global = true
	for n := margin + len(b.data) + margin; n > 0; n -= granule {
		s.table = append(s.table, b)
	}
	return b.start
}

// find returns the buffer at or near an address, or nil.
func (s *space) find(addr uint64) *buffer {
	if i := (addr - s.base) / granule; addr >= s.base && i < uint64(len(s.table)) {
		return s.table[i]
	}
	return nil
}

// poisonWord is the content of unwritten memory: a NaN in every width.
const poisonWord = 0x7fffdead

func poison(data []byte) {
	for len(data) >= 4 {
		binary.LittleEndian.PutUint32(data, poisonWord)
		data = data[4:]
	}
	for i := range data {
		data[i] = 0xff
	}
}

// bitmap has one bit per byte. In a nil bitmap all bits are set.
type bitmap []uint64

func newBitmap(n int64) bitmap { return make(bitmap, (n+63)/64) }

// has reports whether the n bytes at off are set. n is a power of two up to 32, and off a
// multiple of it.
func (b bitmap) has(off, n int) bool {
	want := uint64(1)<<n - 1
	return b[off>>6]>>(off&63)&want == want
}

func (b bitmap) any(off, n int) bool { return b[off>>6]>>(off&63)&(uint64(1)<<n-1) != 0 }

func (b bitmap) set(off, n int) { b[off>>6] |= (uint64(1)<<n - 1) << (off & 63) }

func (b bitmap) unset(off, n int) { b[off>>6] &^= (uint64(1)<<n - 1) << (off & 63) }

// words calls f with each word of a range and a mask of the range's bits.
func (b bitmap) words(off, n int, f func(i int, mask uint64) bool) {
	for n > 0 {
		k := min(64-off&63, n)
		if !f(off>>6, ^uint64(0)>>(64-k)<<(off&63)) {
			return
		}
		off, n = off+k, n-k
	}
}

func (b bitmap) setRange(off, n int) {
	if b == nil {
		return
	}
	b.words(off, n, func(i int, mask uint64) bool { b[i] |= mask; return true })
}

// firstClear returns the first byte of a range that is not set, or -1.
func (b bitmap) firstClear(off, n int) int {
	at := -1
	if b == nil {
		return at
	}
	b.words(off, n, func(i int, mask uint64) bool {
		if miss := mask &^ b[i]; miss != 0 {
			at = i*64 + bits.TrailingZeros64(miss)
		}
		return at < 0
	})
	return at
}

// loadBits reads 1, 2, 4 or 8 bytes.
func loadBits(data []byte, off, size int) uint64 {
	switch size {
	case 1:
		return uint64(data[off])
	case 2:
		return uint64(binary.LittleEndian.Uint16(data[off:]))
	case 4:
		return uint64(binary.LittleEndian.Uint32(data[off:]))
	}
	return binary.LittleEndian.Uint64(data[off:])
}

func storeBits(data []byte, off, size int, v uint64) {
	switch size {
	case 1:
		data[off] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(data[off:], uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(data[off:], uint32(v))
	default:
		binary.LittleEndian.PutUint64(data[off:], v)
	}
}

// clearShadows forgets all accesses.
func (s *space) clearShadows() {
	for _, b := range s.table {
		if b.shadow != nil {
			b.shadow.clear()
		}
	}
}
