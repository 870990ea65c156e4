package emit

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
		x := NarrowFormat
		if way >= 12 {
			x = SplitFormat
		}
		downLeft, downRight := way/3&1 != 0, way/6&1 != 0
		t.Run(fmt.Sprintf("%d bytes, %d columns, k down left %t, right %t", x.ElementBytes, wide, downLeft, downRight), func(t *testing.T) {
			a, b := make([]int, rows*depth), make([]int, depth*cols)
			for i := range a {
				a[i], b[i] = (i*i*7+i/3)%5-2, (i*i*11+i/7)%5-2
			}
			w := &oneWarp{Format: x, out: make([]byte, 4*rows*cols)}
			stats := w.run(t, wide, a, b, downLeft, downRight)
			want := product32(a, b)
			if x == NarrowFormat {
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
	Format
	device *ptxsim.Device
	out    []byte
}

// run launches the warp: the matrices are in the last columns of tiles of this width.
func (b *oneWarp) run(t *testing.T, wide int, x, y []int, downLeft, downRight bool) ptxsim.Stats {
	t.Helper()
	b.device = ptxsim.New(ptxsim.Options{Count: true})
	m := &asm.Module{}
	f := asm.NewFunc("fragments", WarpThreads)
	p := &Builder{F: f}
	p.Lane = f.Special("%tid.x")
	words := b.ElementBytes == WordBytes
	left := p.copied(f.Param("u64", "x"), "left", Swizzled{Cols: wide, Format: b.Format, Twos: words && downLeft})
	right := p.copied(f.Param("u64", "y"), "right", Swizzled{Cols: wide, Format: b.Format, Twos: words && downRight})
	f.CommitCopies()
	f.WaitCopies(0)
	f.Barrier()
	zero, last := asm.Int(0), asm.Int(wide-32)
	a, c := p.FactorOf(left, true, !downLeft, zero, last, 32), p.FactorOf(right, false, !downRight, zero, last, 32)
	acc := p.Zeros(32, 32)
	for k := 0; k < 32; k += b.Deep() {
		lefts, rights := slices.Concat(p.Fragment(a, 0, k), p.Fragment(a, 16, k)), slices.Concat(p.Fragment(c, 0, k), p.Fragment(c, 16, k))
		acc.Multiply(f, b.Format, lefts, rights)
	}
	if b.Format == NarrowFormat {
		first := acc
		acc = p.Zeros(32, 32)
		for k := 0; k < 32; k += FragmentDeep {
			j := k / FragmentCols
			lefts := [][]asm.Value{p.LeftOf(first[0][j], first[0][j+1]), p.LeftOf(first[1][j], first[1][j+1])}
			acc.Add(f, lefts, [][]asm.Value{p.Fragment(c, 0, k), p.Fragment(c, 16, k)})
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
	stats, err := k.Launch(ptxsim.Launch{Grid: [3]int{1, 1, 1}, Block: [3]int{WarpThreads, 1, 1}, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.device.Read(b.out, out); err != nil {
		t.Fatal(err)
	}
	return stats
}

// matrix puts a matrix of 32 x 32, or its transpose, into the last columns of a wider one.
func (b *oneWarp) matrix(t *testing.T, x []int, wide int, Transposed bool) ptxsim.Ptr {
	t.Helper()
	data := make([]byte, b.ElementBytes*32*wide)
	for i, v := range x {
		row, col := i/32, i%32
		if Transposed {
			row, col = col, row
		}
		at := data[b.ElementBytes*(row*wide+wide-32+col):]
		if word := math.Float32bits(float32(v)); b.ElementBytes == WordBytes {
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
func (p *Builder) copied(from asm.Value, name string, s Swizzled) Swizzled {
	f := p.F
	s.Address = asm.Shared.At(name, f.SharedArray(name, s.RowBytes()*32))
	units := s.Cols / s.Unit()
	for i := 0; i < 32*units; i += WarpThreads {
		n := f.Do("add.s32", p.Lane, asm.Int(i))
		row, Unit := p.Divide(n, asm.Int(units))
		at := asm.Global.At(name, f.Do("mad.wide.s32", n, asm.Int(UnitBytes), from))
		f.CopyAsync(p.UnitOf(s, row, Unit), at, asm.Int(UnitBytes))
	}
	return s
}

// storeFours writes accumulators of 32 x 32, row after row.
func (p *Builder) storeFours(out asm.Value, acc Accumulators) {
	f := p.F
	g, four := f.Do("shr.u32", p.Lane, asm.Int(2)), f.Do("and.b32", p.Lane, asm.Int(3))
	odd := f.Do("and.b32", p.Lane, asm.Int(1))
	row := f.Do("mad.lo.s32", odd, asm.Int(8), g)
	at := f.Do("mad.lo.s32", row, asm.Int(32), f.Do("shl.b32", f.Do("shr.u32", four, asm.Int(1)), asm.Int(2)))
	base := asm.Global.At("out", f.Do("mad.wide.s32", at, asm.Int(4), out))
	for i := range acc {
		for j, c := range acc[i] {
			f.Store(base.Plus(4*(i*FragmentRows*32+j*FragmentCols)), p.Fours(c, f.Do("setp.eq.s32", odd, asm.Int(0)))...)
		}
	}
}
