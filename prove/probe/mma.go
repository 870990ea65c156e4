package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// A shape is one form of mma.sync: D = A B + C with A of 16 by k, B of k by 8. The PTX ISA,
// section "Warp-level matrix fragments", defines the registers of a warp. Let g = lane/4 and t =
// lane%4. A register holds rows g or g+8 of A. Its columns are t (if 32 bits wide) or 2t and 2t+1
// (if 16), or these plus k/2.
type shape struct {
	name  string // of the entry
	op    string
	k     int
	each  int                    // elements in a register
	bits  func(x float32) uint32 // bits of an element
	about string                 // name of the figure
}

var bf16 = shape{"mma_bf16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 16, 2,
	func(x float32) uint32 { return math.Float32bits(x) >> 16 }, "mma.sync bf16"}

var tf32 = shape{"mma_tf32", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 8, 1, math.Float32bits, "mma.sync tf32"}

const (
	rows, columns = 16, 8
	chains        = 8 // independent products of a warp
	mmaThreads    = 256
	blocksPerSM   = 2    // 16 warps: as many products in flight as the latency needs
	mmaTurns      = 8192 // with chains products each: sums stay below 2^22, so they are exact
	mmaLaunches   = 20   // timed together, so that the time of launching is negligible
)

// run multiplies two matrices of small integers repeatedly, and checks every sum.
func (s shape) run(b *bench) error {
	x, y := operands(s.k)
	blocks, turns := b.pick(b.Info().SMs*blocksPerSM, 2), b.pick(mmaTurns, 2)
	out, err := b.multiply(product{
		about: s.about, source: s.source(), entry: s.name, in: s.fragments(x, y), out: blocks * mmaThreads * 16, blocks: blocks, turns: turns,
		flops: mmaThreads / 32 * chains * 2 * rows * columns * s.k,
	})
	if err != nil {
		return err
	}
	return check(out, x, y, s.k, float32(turns*chains))
}

// A product is a kernel that multiplies operands in its registers or shared memory. Its
// parameters are the addresses of operands and sums, and the number of turns of its loop.
type product struct {
	about         string // name of the figure
	source, entry string
	in            []byte
	out           int // bytes
	blocks, turns int
	flops         int // FLOP of a block in one turn
}

// multiply times launches of a product and returns the sums.
func (b *bench) multiply(p product) (out []byte, err error) {
	f, unload, err := b.function(p.source, p.entry)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unload()) }()
	from, err := b.Alloc(int64(len(p.in)))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Free(from)) }()
	to, err := b.Alloc(int64(p.out))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Free(to)) }()
	if err := errors.Join(b.ToDevice(from, p.in), b.Zero(to, int64(p.out))); err != nil {
		return nil, err
	}
	args := binary.LittleEndian.AppendUint64(nil, uint64(from))
	args = binary.LittleEndian.AppendUint64(args, uint64(to))
	args = binary.LittleEndian.AppendUint32(args, uint32(p.turns))
	launches := b.pick(mmaLaunches, 1)
	work := float64(launches*p.blocks*p.turns) * float64(p.flops)
	err = b.rate(p.about, "TFLOP/s", work/1e12, b.device, func() error {
		for range launches {
			if err := f.Launch([3]int{p.blocks, 1, 1}, [3]int{mmaThreads, 1, 1}, 0, args); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out = make([]byte, p.out)
	return out, b.ToHost(out, to)
}

// operands returns matrices of integers from -2 to 2, row-major. The data is nearly random,
// because a card's power, and so its clock, depends on it.
func operands(k int) (x, y []float32) {
	rng := rand.New(rand.NewPCG(1, uint64(k)))
	draw := func(n int) []float32 {
		m := make([]float32, n)
		for i := range m {
			m[i] = float32(rng.IntN(5) - 2)
		}
		return m
	}
	return draw(rows * k), draw(k * columns)
}

// fragments returns the registers of each lane: four of A and two of B.
func (s shape) fragments(x, y []float32) []byte {
	var out []byte
	pack := func(at func(i int) float32) {
		word := uint32(0)
		for i := range s.each {
			word |= s.bits(at(i)) << (32 / s.each * i)
		}
		out = binary.LittleEndian.AppendUint32(out, word)
	}
	for lane := range 32 {
		g, t := lane/4, lane%4*s.each
		for r := range 4 {
			row, col := g+r%2*8, t+r/2*s.k/2
			pack(func(i int) float32 { return x[row*s.k+col+i] })
		}
		for r := range 2 {
			row := t + r*s.k/2
			pack(func(i int) float32 { return y[(row+i)*columns+g] })
		}
	}
	return out
}

// check checks that every warp has times the product.
func check(out []byte, x, y []float32, k int, times float32) error {
	for i := range len(out) / 4 {
		lane, c := i/4%32, i%4
		row, col := lane/4+c/2*8, lane%4*2+c%2
		want := float32(0)
		for j := range k {
			want += x[row*k+j] * y[j*columns+col]
		}
		want *= times
		if got := math.Float32frombits(binary.LittleEndian.Uint32(out[4*i:])); got != want {
			return fmt.Errorf("mma.sync is wrong: element %d, %d of warp %d is %v, want %v", row, col, i/128, got, want)
		}
	}
	return nil
}

// source returns the probe in PTX.
func (s shape) source() string {
	var zero, products, sum strings.Builder
	for i := range chains {
		fmt.Fprintf(&products, "\t%s {%[2]s}, {%%a0, %%a1, %%a2, %%a3}, {%%b0, %%b1}, {%[2]s};\n", s.op, quad(i))
		for c := range 4 {
			fmt.Fprintf(&zero, "\tmov.f32 %%c%d_%d, 0f00000000;\n", i, c)
			if i > 0 {
				fmt.Fprintf(&sum, "\tadd.f32 %%c0_%d, %%c0_%[1]d, %%c%d_%[1]d;\n", c, i)
			}
		}
	}
	var accumulators []string
	for i := range chains {
		accumulators = append(accumulators, quad(i))
	}
	return fmt.Sprintf(mmaText, s.name, strings.Join(accumulators, ", "), zero.String(), products.String(), sum.String())
}

// quad lists the four accumulators of a chain.
func quad(i int) string { return fmt.Sprintf("%%c%d_0, %%c%[1]d_1, %%c%[1]d_2, %%c%[1]d_3", i) }

const mmaText = `.version 7.8
.target sm_80
.address_size 64

.visible .entry %s(.param .u64 in, .param .u64 out, .param .u32 turns)
.reqntid 256
{
	.reg .pred %%more;
	.reg .b32 %%turn, %%thread, %%lane, %%block, %%a<4>, %%b<2>;
	.reg .b64 %%in, %%out, %%offset;
	.reg .f32 %s;
	ld.param.u64 %%in, [in];
	ld.param.u64 %%out, [out];
	ld.param.u32 %%turn, [turns];
	mov.u32 %%thread, %%tid.x;
	and.b32 %%lane, %%thread, 31;
	mul.wide.u32 %%offset, %%lane, 24;
	add.u64 %%in, %%in, %%offset;
	ld.global.v2.u32 {%%a0, %%a1}, [%%in];
	ld.global.v2.u32 {%%a2, %%a3}, [%%in+8];
	ld.global.v2.u32 {%%b0, %%b1}, [%%in+16];
%sLOOP:
%s	sub.u32 %%turn, %%turn, 1;
	setp.ne.u32 %%more, %%turn, 0;
	@%%more bra LOOP;
%s	mov.u32 %%block, %%ctaid.x;
	mad.lo.u32 %%thread, %%block, 256, %%thread;
	mul.wide.u32 %%offset, %%thread, 16;
	add.u64 %%out, %%out, %%offset;
	st.global.v4.f32 [%%out], {%%c0_0, %%c0_1, %%c0_2, %%c0_3};
	ret;
}
`
