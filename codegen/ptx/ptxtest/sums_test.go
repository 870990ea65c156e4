package ptxtest

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/runtime/cuda/sim"
)

// multiply is a module with one warp's mma.m16n8k16, by registers of each lane.
const multiply = `.version 7.8
.target sm_80
.address_size 64
.visible .entry multiply(.param .u64 at) .reqntid 32 {
.reg .b64 %d<4>; .reg .b32 %r<9>; .reg .f32 %f<9>;
ld.param.u64 %d1, [at];
mov.u32 %r1, %tid.x;
mul.wide.u32 %d2, %r1, 64;
add.u64 %d1, %d1, %d2;
ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%d1];
ld.global.v2.b32 {%r5, %r6}, [%d1+16];
ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%d1+32];
mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4};
st.global.v4.f32 [%d1+48], {%f1, %f2, %f3, %f4};
ret;
}`

// TestTensorCore holds the sums that kernels for tensor cores are compared with to the
// simulator's instruction, on numbers of any size.
func TestTensorCore(t *testing.T) {
	const rows, cols, depth, lanes = 16, 8, 16, 32
	g := rand.New(rand.NewPCG(1, 2))
	for _, arch := range []int{80, 89, 90} {
		device := sim.New(sim.Options{Arch: arch})
		module, err := device.Load([]byte(multiply))
		if err != nil {
			t.Fatal(err)
		}
		k, err := module.Kernel("multiply")
		if err != nil {
			t.Fatal(err)
		}
		at, err := device.Alloc(lanes * 64)
		if err != nil {
			t.Fatal(err)
		}
		for round := range 100 {
			var a [rows][depth]float32
			var b [cols][depth]float32
			var c [rows][cols]float32
			spread := []int{1, 12, 126}[round%3]
			for i := range a {
				for j := range a[i] {
					a[i][j] = drawNarrow(g, spread)
				}
				for j := range c[i] {
					c[i][j] = float32(math.Ldexp(g.Float64()*2-1, g.IntN(2*spread+1)-spread))
				}
			}
			for i := range b {
				for j := range b[i] {
					b[i][j] = drawNarrow(g, spread)
				}
			}
			memory := make([]byte, lanes*64)
			for lane := range lanes {
				words := memory[lane*64:]
				row, col := lane/4, lane%4*2
				for r := range 4 {
					put(words[4*r:], a[row+8*(r&1)][col+8*(r>>1)], a[row+8*(r&1)][col+8*(r>>1)+1])
					binary.LittleEndian.PutUint32(words[32+4*r:], math.Float32bits(c[row+8*(r>>1)][col+r&1]))
				}
				for r := range 2 {
					put(words[16+4*r:], b[row][col+8*r], b[row][col+8*r+1])
				}
			}
			if err := device.Write(at, memory); err != nil {
				t.Fatal(err)
			}
			if _, err := k.Launch(sim.Launch{Grid: [3]int{1, 1, 1}, Block: [3]int{lanes, 1, 1}, Args: binary.LittleEndian.AppendUint64(nil, uint64(at))}); err != nil {
				t.Fatal(err)
			}
			if err := device.Read(memory, at); err != nil {
				t.Fatal(err)
			}
			for lane := range lanes {
				for r := range 4 {
					row, col := lane/4+8*(r>>1), lane%4*2+r&1
					got := math.Float32frombits(binary.LittleEndian.Uint32(memory[lane*64+48+4*r:]))
					want := kernel.TensorCore(arch, false).Add(c[row][col], a[row][:], b[col][:])
					if math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
						t.Fatalf("sm_%d, spread %d: %g + %v * %v is %g, want %g", arch, spread, c[row][col], a[row], b[col], got, want)
					}
				}
			}
		}
	}
}

// put writes two BF16 as a word.
func put(to []byte, low, high float32) {
	binary.LittleEndian.PutUint32(to, math.Float32bits(high)&0xffff0000|math.Float32bits(low)>>16)
}

// drawNarrow draws a BF16, now and then one of the least, or no number.
func drawNarrow(g *rand.Rand, spread int) float32 {
	x := math.Ldexp(g.Float64()*2-1, g.IntN(2*spread+1)-spread)
	switch n := g.IntN(5000); {
	case n < 100:
		x = 0
	case n < 200:
		x = math.Ldexp(x, -126)
	case n == 200 && spread > 100:
		x = math.Inf(1)
	}
	return math.Float32frombits(math.Float32bits(float32(x)) & 0xffff0000)
}
