package probe

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// A block multiplies A of tall by deep and B of deep by wide, both in its shared memory. Each of
// its two warp groups handles half the rows of A. The registers of a multiprocessor suffice for
// one block.
const (
	tall, wide, deep = 128, 256, 64
	line             = 2 * deep // bytes of a row of A, or a column of B: one period of the swizzle
	wgmmaImage       = (tall + wide) * line
	wgmmaTurns       = 8192 // a turn adds at most 256: sums stay within 2^21, so they are exact
)

// runWgmma multiplies two matrices of small integers repeatedly.
func runWgmma(b *bench) error {
	if i := b.Info(); i.Major != 9 || i.Minor != 0 {
		return fmt.Errorf("%w: wgmma needs compute capability 9.0, and %s has %d.%d", ErrAbsent, i.Name, i.Major, i.Minor)
	}
	m := lines()
	blocks, turns := b.pick(b.Info().SMs, 2), b.pick(wgmmaTurns, 2)
	out, err := b.multiply(product{
		about: "wgmma bf16 m64n256k16", source: wgmmaSource(), entry: "wgmma_bf16", in: image(m), out: blocks * tall * wide * 4, blocks: blocks, turns: turns,
		flops: 2 * tall * wide * deep,
	})
	if err != nil {
		return err
	}
	return checkWgmma(out, m, float32(turns))
}

// lines draws the rows of A followed by the columns of B, like operands.
func lines() []float32 {
	rng := rand.New(rand.NewPCG(1, deep))
	m := make([]float32, (tall+wide)*deep)
	for i := range m {
		m[i] = float32(rng.IntN(5) - 2)
	}
	return m
}

// image returns the shared memory that wgmma reads with a swizzle of 128 bytes: consecutive
// lines. Each line has its 16-byte chunks exchanged by its number among eight.
func image(m []float32) []byte {
	out := make([]byte, wgmmaImage)
	for i, x := range m {
		at := 2*i ^ 2*i/line%8*16
		binary.LittleEndian.PutUint16(out[at:], uint16(math.Float32bits(x)>>16))
	}
	return out
}

// checkWgmma checks that every block has times the product. Accumulators come in fours: two
// neighbours of a row, and the two that are eight rows below. The first four of all threads come
// before the second four of any.
func checkWgmma(out []byte, m []float32, times float32) error {
	want := make([]float32, tall*wide)
	for i := range want {
		for k := range deep {
			want[i] += m[i/wide*deep+k] * m[(tall+i%wide)*deep+k] * times
		}
	}
	for i := range len(out) / 4 {
		c, thread, four, block := i%4, i/4%mmaThreads, i/4/mmaThreads%(wide/8), i/(tall*wide)
		row, col := thread/32*16+thread%32/4+c/2*8, four*8+thread%4*2+c%2
		if got := math.Float32frombits(binary.LittleEndian.Uint32(out[4*i:])); got != want[row*wide+col] {
			return fmt.Errorf("wgmma is wrong: element %d, %d of block %d is %v, want %v", row, col, block, got, want[row*wide+col])
		}
	}
	return nil
}

// wgmmaSource returns the probe in PTX. A step of 16 along k is 32 bytes further in both
// matrices.
func wgmmaSource() string {
	var d []string
	var move, begin, steps, store strings.Builder
	for at := 0; at < wgmmaImage; at += 16 * mmaThreads {
		fmt.Fprintf(&move, "\tld.global.v4.b32 {%[1]s}, [%%in+%[2]d];\n\tst.shared.v4.b32 [%%own+%[2]d], {%[1]s};\n", "%w0, %w1, %w2, %w3", at)
	}
	for i := range wide / 2 {
		d = append(d, fmt.Sprintf("%%d%d", i))
		fmt.Fprintf(&begin, "\tmov.f32 %%d%d, 0f00000000;\n", i)
	}
	for i := range deep / 16 {
		fmt.Fprintf(&begin, "\tadd.u64 %%a%d, %%a, %[2]d;\n\tadd.u64 %%b%[1]d, %%b, %[2]d;\n", i, 2*i)
		fmt.Fprintf(&steps, "\twgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {%s}, %%a%d, %%b%[2]d, %%keep, 1, 1, 0, 0;\n", strings.Join(d, ", "), i)
	}
	for i := range wide / 8 {
		fmt.Fprintf(&store, "\tst.global.v4.f32 [%%out+%d], {%s};\n", i*16*mmaThreads, strings.Join(d[4*i:4*i+4], ", "))
	}
	return fmt.Sprintf(wgmmaText, move.String(), begin.String(), steps.String(), store.String())
}

// wgmmaText has descriptors with a stride of 1024 bytes between groups of eight lines and the
// code of the swizzle. The swizzle does not use the other stride. Addresses in descriptors count
// 16 bytes: the half of A for a group is 512, and B begins at 1024.
const wgmmaText = `.version 8.0
.target sm_90a
.address_size 64
.visible .entry wgmma_bf16(.param .u64 in, .param .u64 out, .param .u32 turns)
.reqntid 256
{
	.shared .align 1024 .b8 tile[49152];
	.reg .pred %%more, %%keep;
	.reg .b32 %%turn, %%thread, %%block, %%group, %%tile, %%own, %%w<4>;
	.reg .b64 %%in, %%out, %%a, %%b, %%a<4>, %%b<4>;
	.reg .f32 %%d<128>;
	ld.param.u64 %%in, [in];
	ld.param.u64 %%out, [out];
	ld.param.u32 %%turn, [turns];
	mov.u32 %%thread, %%tid.x;
	mov.u32 %%block, %%ctaid.x;
	mov.u32 %%tile, tile;
	mad.lo.u32 %%own, %%thread, 16, %%tile;
	mad.wide.u32 %%in, %%thread, 16, %%in;
	mad.wide.u32 %%out, %%thread, 16, %%out;
	mad.wide.u32 %%out, %%block, 131072, %%out;
%s	fence.proxy.async;
	bar.sync 0;
	bfe.u32 %%tile, %%tile, 4, 14;
	cvt.u64.u32 %%b, %%tile;
	or.b64 %%b, %%b, 0x4000004000010000;
	shr.u32 %%group, %%thread, 7;
	mad.wide.u32 %%a, %%group, 512, %%b;
	add.u64 %%b, %%b, 1024;
	setp.ne.u32 %%keep, 1, 0;
%sLOOP:
	wgmma.fence.sync.aligned;
%s	wgmma.commit_group.sync.aligned;
	wgmma.wait_group.sync.aligned 1;
	sub.u32 %%turn, %%turn, 1;
	setp.ne.u32 %%more, %%turn, 0;
	@%%more bra LOOP;
	wgmma.wait_group.sync.aligned 0;
%s	ret;
}
`
