package ptx

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/ptxsim"
)

// TestFragments multiplies matrices of small integers, which no sum rounds, from tiles of each
// width and direction. It wants left x right. For BF16 it multiplies the rounded result by right
// again.
func TestFragments(t *testing.T) {
	const rows, cols, depth = 32, 32, 32
	for way := range 24 {
		wide := []int{32, 64, 128}[way%3]
		x := narrowFormat
		if way >= 12 {
			x = splitFormat
		}
		downLeft, downRight := way/3&1 != 0, way/6&1 != 0
		t.Run(fmt.Sprintf("%d bytes, %d columns, k down left %t, right %t", x.bytes, wide, downLeft, downRight), func(t *testing.T) {
			a, b := make([]int, rows*depth), make([]int, depth*cols)
			for i := range a {
				a[i], b[i] = (i*i*7+i/3)%5-2, (i*i*11+i/7)%5-2
			}
			w := &oneWarp{format: x, out: make([]byte, 4*rows*cols)}
			stats := w.run(t, wide, a, b, downLeft, downRight)
			want := product32(a, b)
			if x == narrowFormat {
				want = product32(want, b)
			}
			for i := range want {
				if got := math.Float32frombits(binary.LittleEndian.Uint32(w.out[4*i:])); got != float32(want[i]) {
					t.Fatalf("element %d, %d: %v, want %d", i/cols, i%cols, got, want[i])
				}
			}
			if n := stats.Counts.Shared().Conflicts; n != 0 {
				t.Errorf("%d bank conflicts", n)
			}
		})
	}
}

// product32 multiplies two matrices of 32 x 32.
func product32(x, y []int) []int {
	z := make([]int, 32*32)
	for i := range z {
		for k := range 32 {
			z[i] += x[i/32*32+k] * y[k*32+i%32]
		}
	}
	return z
}

// A oneWarp is a warp on the simulator that multiplies from swizzled tiles.
type oneWarp struct {
	format
	device *ptxsim.Device
	out    []byte
}

// run launches the warp: the matrices are in the last columns of tiles of this width.
func (b *oneWarp) run(t *testing.T, wide int, x, y []int, downLeft, downRight bool) ptxsim.Stats {
	t.Helper()
	b.device = ptxsim.New(ptxsim.Options{Count: true})
	m := &asm.Module{}
	f := asm.NewFunc("fragments", warpThreads)
	p := &printer{f: f}
	p.lane = f.Special("%tid.x")
	words := b.bytes == wordBytes
	left := p.copied(f.Param("u64", "x"), "left", swizzled{cols: wide, format: b.format, twos: words && downLeft})
	right := p.copied(f.Param("u64", "y"), "right", swizzled{cols: wide, format: b.format, twos: words && downRight})
	f.CommitCopies()
	f.WaitCopies(0)
	f.Barrier()
	zero, last := asm.Int(0), asm.Int(wide-32)
	a, c := p.factorOf(left, true, !downLeft, zero, last, 32), p.factorOf(right, false, !downRight, zero, last, 32)
	acc := p.zeros(32, 32)
	for k := 0; k < 32; k += b.deep() {
		lefts, rights := slices.Concat(p.fragment(a, 0, k), p.fragment(a, 16, k)), slices.Concat(p.fragment(c, 0, k), p.fragment(c, 16, k))
		acc.multiply(f, b.format, lefts, rights)
	}
	if b.format == narrowFormat {
		first := acc
		acc = p.zeros(32, 32)
		for k := 0; k < 32; k += fragmentDeep {
			j := k / fragmentCols
			lefts := [][]asm.Value{p.leftOf(first[0][j], first[0][j+1]), p.leftOf(first[1][j], first[1][j+1])}
			acc.add(f, lefts, [][]asm.Value{p.fragment(c, 0, k), p.fragment(c, 16, k)})
		}
	}
	p.storeFours(f.Param("u64", "out"), acc)
	f.Return()
	f.Optimize()
	if err := asm.Verify(f); err != nil {
		t.Fatal(err)
	}
	m.Add(f)
	module, err := b.device.Load(m.Text())
	if err != nil {
		t.Fatal(err)
	}
	k, err := module.Kernel("fragments")
	if err != nil {
		t.Fatal(err)
	}
	out, err := b.device.Alloc(int64(len(b.out)))
	if err != nil {
		t.Fatal(err)
	}
	var args []byte
	for _, at := range []ptxsim.Ptr{b.matrix(t, x, wide, downLeft), b.matrix(t, y, wide, !downRight), out} {
		args = binary.LittleEndian.AppendUint64(args, uint64(at))
	}
	stats, err := k.Launch(ptxsim.Launch{Grid: [3]int{1, 1, 1}, Block: [3]int{warpThreads, 1, 1}, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.device.Read(b.out, out); err != nil {
		t.Fatal(err)
	}
	return stats
}

// matrix puts a matrix of 32 x 32, or its transpose, into the last columns of a wider one.
func (b *oneWarp) matrix(t *testing.T, x []int, wide int, transposed bool) ptxsim.Ptr {
	t.Helper()
	data := make([]byte, b.bytes*32*wide)
	for i, v := range x {
		row, col := i/32, i%32
		if transposed {
			row, col = col, row
		}
		at := data[b.bytes*(row*wide+wide-32+col):]
		if word := math.Float32bits(float32(v)); b.bytes == wordBytes {
			binary.LittleEndian.PutUint32(at, word)
		} else {
			binary.LittleEndian.PutUint16(at, uint16(word>>16))
		}
	}
	at, err := b.device.Alloc(int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.device.Write(at, data); err != nil {
		t.Fatal(err)
	}
	return at
}

// copied begins to copy a matrix of 32 rows to shared memory, 16 bytes a lane.
func (p *printer) copied(from asm.Value, name string, s swizzled) swizzled {
	f := p.f
	s.Address = asm.Shared.At(name, f.SharedArray(name, s.rowBytes()*32))
	units := s.cols / s.unit()
	for i := 0; i < 32*units; i += warpThreads {
		n := f.Do("add.s32", p.lane, asm.Int(i))
		row, unit := p.divide(n, asm.Int(units))
		at := asm.Global.At(name, f.Do("mad.wide.s32", n, asm.Int(unitBytes), from))
		f.CopyAsync(p.unitOf(s, row, unit), at, asm.Int(unitBytes))
	}
	return s
}

// storeFours writes accumulators of 32 x 32, row after row.
func (p *printer) storeFours(out asm.Value, acc accumulators) {
	f := p.f
	g, four := f.Do("shr.u32", p.lane, asm.Int(2)), f.Do("and.b32", p.lane, asm.Int(3))
	odd := f.Do("and.b32", p.lane, asm.Int(1))
	row := f.Do("mad.lo.s32", odd, asm.Int(8), g)
	at := f.Do("mad.lo.s32", row, asm.Int(32), f.Do("shl.b32", f.Do("shr.u32", four, asm.Int(1)), asm.Int(2)))
	base := asm.Global.At("out", f.Do("mad.wide.s32", at, asm.Int(4), out))
	for i := range acc {
		for j, c := range acc[i] {
			f.Store(base.Plus(4*(i*fragmentRows*32+j*fragmentCols)), p.fours(c, f.Do("setp.eq.s32", odd, asm.Int(0)))...)
		}
	}
}
