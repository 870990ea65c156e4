package ptxtest

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/ptxsim"
)

// multiply is a module with one warp's INSTRUCTION, by registers of each lane.
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
INSTRUCTION {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4};
st.global.v4.f32 [%d1+48], {%f1, %f2, %f3, %f4};
ret;
}`

// An instruction multiplies fragments.
type instruction struct {
	name    string
	depth   int
	of      func(elements []float32) uint32 // a word
	drawn   func(x float32) float32         // an element of x
	factors func(a, b []float32) [][2][]float32
	sum     func(add *kernel.Sums, sum float32, a, b []float32) float32
}

var instructions = []instruction{
	{"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 16,
		func(x []float32) uint32 { return math.Float32bits(x[1])&0xffff0000 | math.Float32bits(x[0])>>16 },
		func(x float32) float32 { return math.Float32frombits(math.Float32bits(x) & 0xffff0000) },
		func(a, b []float32) [][2][]float32 { return [][2][]float32{{a, b}} },
		(*kernel.Sums).Add},
	{"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 8,
		func(x []float32) uint32 { return math.Float32bits(x[0]) },
		func(x float32) float32 { return x },
		func(a, b []float32) [][2][]float32 {
			aHigh, aLow := halves(a)
			bHigh, bLow := halves(b)
			return [][2][]float32{{aLow, bHigh}, {aHigh, bLow}, {aHigh, bHigh}}
		},
		(*kernel.Sums).AddSplit},
}

func halves(x []float32) (high, low []float32) {
	for _, v := range x {
		h, l := kernel.Halves(v)
		high, low = append(high, h), append(low, l)
	}
	return high, low
}

const rows, cols, lanes, laneBytes = 16, 8, 32, 64

// TestTensorCore compares ptx.Entry.Sums, which tests of kernels rely on, with the simulator's
// instruction, on numbers of any size.
func TestTensorCore(t *testing.T) {
	for _, op := range instructions {
		g := rand.New(rand.NewPCG(1, 2))
		for _, arch := range []int{80, 89, 90} {
			device := ptxsim.New(ptxsim.Options{Arch: arch})
			module, err := device.Load([]byte(strings.ReplaceAll(multiply, "INSTRUCTION", op.name)))
			if err != nil {
				t.Fatal(err)
			}
			k, err := module.Kernel("multiply")
			if err != nil {
				t.Fatal(err)
			}
			at, err := device.Alloc(lanes * laneBytes)
			if err != nil {
				t.Fatal(err)
			}
			tensor := ptx.Entry{Tensor: true}
			core := tensor.Sums(arch)
			for round := range 100 {
				spread := []int{1, 12, 126}[round%3]
				a, b, c := op.matrix(g, rows, spread), op.matrix(g, cols, spread), make([]float32, rows*cols)
				for i := range c {
					c[i] = float32(math.Ldexp(g.Float64()*2-1, g.IntN(2*spread+1)-spread))
				}
				want := make([]float32, rows*cols)
				for i := range want {
					want[i] = op.sum(core, c[i], a[i/cols], b[i%cols])
				}
				got := append([]float32(nil), c...)
				for _, x := range op.terms(a, b) {
					memory := op.laid(x[0], x[1], got)
					if err := device.Write(at, memory); err != nil {
						t.Fatal(err)
					}
					if _, err := k.Launch(ptxsim.Launch{Grid: [3]int{1, 1, 1}, Block: [3]int{lanes, 1, 1}, Args: binary.LittleEndian.AppendUint64(nil, uint64(at))}); err != nil {
						t.Fatal(err)
					}
					if err := device.Read(memory, at); err != nil {
						t.Fatal(err)
					}
					got = sums(memory)
				}
				for i := range got {
					if math.Float32bits(got[i]) != math.Float32bits(want[i]) && (got[i] == got[i] || want[i] == want[i]) {
						t.Fatalf("%s, sm_%d, spread %d: %g + %v * %v is %g, want %g", op.name, arch, spread, c[i], a[i/cols], b[i%cols], got[i], want[i])
					}
				}
			}
		}
	}
}

// matrix draws the elements along k of some rows or columns.
func (op instruction) matrix(g *rand.Rand, n, spread int) [][]float32 {
	all := make([][]float32, n)
	for i := range all {
		for range op.depth {
			all[i] = append(all[i], op.drawn(drawn(g, spread)))
		}
	}
	return all
}

// terms returns the matrices to multiply one after another.
func (op instruction) terms(a, b [][]float32) [][2][][]float32 {
	all := make([][2][][]float32, len(op.factors(nil, nil)))
	for side, x := range [][][]float32{a, b} {
		for _, row := range x {
			for i, f := range op.factors(row, row) {
				all[i][side] = append(all[i][side], f[side])
			}
		}
	}
	return all
}

// laid returns the registers of all lanes.
func (op instruction) laid(a, b [][]float32, c []float32) []byte {
	memory := make([]byte, lanes*laneBytes)
	wide := op.depth / 8 // elements of a word
	for lane := range lanes {
		words, row, col := memory[lane*laneBytes:], lane/4, lane%4*wide
		for r := range 4 {
			binary.LittleEndian.PutUint32(words[4*r:], op.of(a[row+8*(r&1)][col+op.depth/2*(r>>1):]))
			binary.LittleEndian.PutUint32(words[32+4*r:], math.Float32bits(c[place(lane, r)]))
		}
		for r := range 2 {
			binary.LittleEndian.PutUint32(words[16+4*r:], op.of(b[row][col+op.depth/2*r:]))
		}
	}
	return memory
}

// place is which sum a register of a lane is.
func place(lane, r int) int { return (lane/4+8*(r>>1))*cols + lane%4*2 + r&1 }

// sums returns the sums of all lanes.
func sums(memory []byte) []float32 {
	c := make([]float32, rows*cols)
	for lane := range lanes {
		for r := range 4 {
			c[place(lane, r)] = math.Float32frombits(binary.LittleEndian.Uint32(memory[lane*laneBytes+48+4*r:]))
		}
	}
	return c
}

// drawn returns a number, sometimes 0, subnormal, or infinite.
func drawn(g *rand.Rand, spread int) float32 {
	x := math.Ldexp(g.Float64()*2-1, g.IntN(2*spread+1)-spread)
	switch n := g.IntN(5000); {
	case n < 100:
		x = 0
	case n < 200:
		x = math.Ldexp(x, -126)
	case n == 200 && spread > 100:
		x = math.Inf(1)
	}
	return float32(x)
}
