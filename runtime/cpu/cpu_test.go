package cpu

import (
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/arithlang/mlc/runtime/device"
)

func TestWorker(t *testing.T) {
	var mem Memory
	mem.F32[device.Work] = []float32{1, 2, 3, 4}
	mem.Ints = []int32{5, 6, 7}
	var tiles [][]float32
	double := Kernel{Name: "double", Run: func(w *Worker, e *device.Env, a []device.Ref) {
		x, ids := w.F32(a[0]), w.I32(a[1])
		tile := w.Tile(e.N)
		tiles = append(tiles, tile)
		for i := range tile {
			tile[i] = 2 * x[i]
		}
		copy(x, tile)
		ids[0]++
	}}
	var q device.Launcher = NewWorker([]Kernel{{}, double}, Go, mem)
	q.Launch(1, &device.Env{N: 2}, device.Ref{Space: device.Work, Off: 1}, device.Ref{Space: device.Ints, Off: 2})
	q.Launch(1, &device.Env{N: 2}, device.Ref{Space: device.Work, Off: 1}, device.Ref{Space: device.Ints, Off: 2})
	if want := []float32{1, 8, 12, 4}; !slices.Equal(mem.F32[device.Work], want) {
		t.Errorf("work is %v, want %v", mem.F32[device.Work], want)
	}
	if &tiles[0][0] != &tiles[1][0] {
		t.Error("a launch does not reuse the scratch of the launch before")
	}
	q.Zero(device.Ref{Space: device.Work, Off: 2}, 1)
	q.Zero(device.Ref{Space: device.Ints}, 2)
	if want := []float32{1, 8, 0, 4}; !slices.Equal(mem.F32[device.Work], want) {
		t.Errorf("work is %v, want %v", mem.F32[device.Work], want)
	}
	if want := []int32{0, 0, 9}; !slices.Equal(mem.Ints, want) {
		t.Errorf("ints are %v, want %v", mem.Ints, want)
	}
}

// TestU16 wants two 16-bit elements in each word, the lower half first.
func TestU16(t *testing.T) {
	var mem Memory
	mem.F32[device.Work] = []float32{0, 1, -2}
	w := NewWorker(nil, Go, mem)
	got := w.U16(device.Ref{Space: device.Work, Off: 1})
	if want := []uint16{0, 0x3f80, 0, 0xc000}; !slices.Equal(got, want) {
		t.Errorf("elements %04x, want %04x", got, want)
	}
	if end := w.U16(device.Ref{Space: device.Work, Off: 3}); len(end) != 0 {
		t.Errorf("%d elements after the last word", len(end))
	}
}

// TestRound rounds each widened 16-bit number back to the same bits.
func TestRound(t *testing.T) {
	for i := range 1 << 16 {
		bits := uint16(i)
		if x := WidenBF16(bits); x == x && RoundBF16(x) != bits || x != x && RoundBF16(x) != 0x7fff {
			t.Fatalf("bfloat16 %04x is %v and becomes %04x", bits, x, RoundBF16(x))
		}
		if x := WidenF16(bits); x == x && RoundF16(x) != bits || x != x && RoundF16(x) != 0x7fff {
			t.Fatalf("binary16 %04x is %v and becomes %04x", bits, x, RoundF16(x))
		}
	}
}

// TestScratch wants tiles not to share memory until they are released, even when scratch grows.
func TestScratch(t *testing.T) {
	w := NewWorker(nil, Go, Memory{})
	var tiles [][]uint32
	for i := range 20 {
		tile := w.TileU32(i)
		for j := range tile {
			tile[j] = uint32(i)
		}
		tiles = append(tiles, tile)
	}
	for i, tile := range tiles {
		if len(tile) != i || slices.ContainsFunc(tile, func(x uint32) bool { return x != uint32(i) }) {
			t.Errorf("tile %d is %v", i, tile)
		}
	}
	mark := w.Mark()
	a, half := w.TileI32(3), w.TileU16(3)
	w.Release(mark)
	if b := w.TileI32(3); &a[0] != &b[0] || &half[0] != &w.TileU16(3)[0] {
		t.Error("released scratch is not used again")
	}
}

// TestAlignment wants tiles and the frame to begin on cache lines.
func TestAlignment(t *testing.T) {
	w := NewWorker(nil, Go, Memory{})
	for i := range 40 {
		tile, half := w.Tile(i+1), w.TileU16(i+1)
		for _, first := range []unsafe.Pointer{unsafe.Pointer(&tile[0]), unsafe.Pointer(&half[0])} {
			if uintptr(first)%64 != 0 {
				t.Errorf("a tile of %d elements is at %#x", i+1, uintptr(first))
			}
		}
	}
	if at := uintptr(unsafe.Pointer(w.Frame())); at%64 != 0 {
		t.Errorf("the frame is at %#x", at)
	}
}

func TestParseISA(t *testing.T) {
	for i := Go; i < numISA; i++ {
		got, err := ParseISA(i.String())
		switch {
		case i.supported() && (err != nil || got != i):
			t.Errorf("%s: %v, %v", i, got, err)
		case !i.supported() && (err == nil || !strings.Contains(err.Error(), i.String())):
			t.Errorf("%s, which this machine lacks: error %v", i, err)
		}
	}
	if got, err := ParseISA("auto"); got != Detect() || err != nil {
		t.Errorf("auto: %v, %v", got, err)
	}
	if _, err := ParseISA("sse"); err == nil || !strings.Contains(err.Error(), "avx512") {
		t.Errorf("sse: error %v does not list the names", err)
	}
}
