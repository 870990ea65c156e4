package fragment

import (
	"fmt"
	"strings"
)

// group is the number of threads in a warp group, which executes wgmma.
const group = 4 * warp

// swizzles maps the period of a row's pattern in bytes to the code in a descriptor; 0 is no
// swizzle.
var swizzles = map[int]uint64{0: 0, 128: 1, 64: 2, 32: 3}

// descriptor describes a matrix in shared memory to wgmma, without its address: the strides in
// bytes between its parts, and the swizzle (PTX ISA 8.4, "Matrix Descriptor Format").
func descriptor(leading, stride, swizzle int) uint64 {
	return uint64(leading>>4)<<16 | uint64(stride>>4)<<32 | swizzles[swizzle]<<62
}

// imageForm is a probe of where wgmma reads its matrices. A is at the beginning of shared memory,
// B from bAt on. Both hold small integers whose sums are exact, so the results show which
// elements were read.
type imageForm struct {
	swizzle           int
	leading, stride   int // of A, bytes
	bLeading, bStride int // the same strides of B, bytes
	start             int // offset in bytes at which both descriptors begin
	transA, transB    int
}

const (
	bAt        = 8 << 10
	imageBytes = 10 << 10
)

// imageForms have, for each swizzle and order of elements, both orders of the two strides, so
// that their meanings can be told apart.
var imageForms = []imageForm{
	{0, 128, 256, 128, 256, 0, 0, 0}, {0, 1024, 128, 1024, 128, 0, 0, 0},
	{32, 16, 256, 16, 256, 0, 0, 0},
	{64, 16, 512, 16, 512, 0, 0, 0}, {64, 16, 512, 16, 512, 32, 0, 0},
	{128, 16, 1024, 16, 1024, 0, 0, 0}, {128, 16, 1024, 16, 1024, 32, 0, 0}, {128, 16, 1024, 16, 1024, 64, 0, 0}, {128, 16, 1024, 16, 1024, 96, 0, 0},
	{0, 128, 1024, 128, 256, 0, 1, 0}, {0, 1024, 128, 128, 256, 0, 1, 0},
	{32, 256, 1024, 16, 256, 0, 1, 0}, {32, 512, 256, 16, 256, 0, 1, 0},
	{64, 512, 1024, 16, 512, 0, 1, 0}, {64, 1024, 512, 16, 512, 0, 1, 0},
	{128, 1024, 2048, 16, 1024, 0, 1, 0}, {128, 2048, 1024, 16, 1024, 0, 1, 0},
	{0, 128, 256, 128, 1024, 0, 0, 1}, {0, 128, 256, 1024, 128, 0, 0, 1},
}

func wgmmaProbes() []*Probe {
	var all []*Probe
	for _, f := range imageForms {
		all = append(all, f.probe())
	}
	for _, f := range groupForms {
		all = append(all, f.probe())
	}
	return all
}

func (f *imageForm) probe() *Probe {
	words := imageBytes / (4 * group)
	p := &Probe{
		Name: fmt.Sprintf("wgmma.m64n8k16.f32.bf16.bf16 swizzle %d start %d trans %d%d strides %d %d, %d %d",
			f.swizzle, f.start, f.transA, f.transB, f.leading, f.stride, f.bLeading, f.bStride),
		Group: "wgmma", Doc: "which elements of shared memory a product takes, by its descriptors", model: f.model, Target: "sm_90a", Version: "8.0",
		Threads: group, In: repeat(typesOf("bf16x2")[0], words), Out: typesOf("4*f32"), thin: 4, draw: draw{"small integers", integers},
	}
	p.body = wgmmaShared(imageBytes, 0, words) + matrixAddress("da", f.start, descriptor(f.leading, f.stride, f.swizzle)) +
		matrixAddress("db", bAt+f.start, descriptor(f.bLeading, f.bStride, f.swizzle)) +
		wgmmaRun(fmt.Sprintf("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 %s, %%da, %%db, %%keep, 1, 1, %d, %d;",
			registers("d", 0, 4), f.transA, f.transB), "0")
	for i := range 4 {
		p.body = fmt.Sprintf("mov.b32 %%d%d, 0;\n", i) + p.body
	}
	p.complete()
	return p
}

// integers draws floats that are integers from -8 to 8.
func integers(p *Probe, s *source, number int, in [][]uint64) {
	for k, t := range p.In {
		for thread := range in[k] {
			var elements []uint64
			for range t.count {
				elements = append(elements, t.nearest(float64(s.Intn(17)-8)))
			}
			in[k][thread] = t.pack(elements)
		}
	}
}

// groupForm is a probe of the arithmetic of wgmma. A and C are in registers. B is in shared
// memory without swizzle, its two parts along k consecutive.
type groupForm struct {
	k       int
	d, a, b string // C is in D's registers
	scales  string // scales of A and B, and trans-b, if the form has them
}

var groupForms = []groupForm{
	{16, "f32", "bf16", "bf16", ", 1, 1, 0"}, {16, "f32", "bf16", "bf16", ", -1, 1, 0"},
	{16, "f32", "f16", "f16", ", 1, 1, 0"}, {16, "f16", "f16", "f16", ", 1, 1, 0"},
	{8, "f32", "tf32", "tf32", ", 1, 1"},
	{32, "f32", "e4m3", "e4m3", ", 1, 1"}, {32, "f32", "e5m2", "e4m3", ", 1, 1"}, {32, "f16", "e4m3", "e4m3", ", 1, 1"},
	{32, "s32", "s8", "s8", ""}, {32, "s32", "u8", "u8", ""},
}

func (f *groupForm) probe() *Probe {
	x := &product{m: 64, n: 8, k: f.k, place: groupPlace,
		a: registerType(f.a), b: registerType(f.b), c: registerType(f.d), d: registerType(f.d)}
	nd := x.m * x.n / (group * x.d.count)
	name := fmt.Sprintf("m64n8k%d.%s.%s.%s", f.k, f.d, f.a, f.b)
	p := &Probe{Name: "wgmma." + name + strings.ReplaceAll(f.scales, ", ", " "), Group: "wgmma",
		Doc: "a product of a matrix in registers and one in shared memory, added to a third", model: products(wgmmaDot), Target: "sm_90a", Version: "8.0",
		Threads: group, In: repeat(x.a, 4, x.b, 1, x.c, nd), Out: repeat(x.d, nd), thin: 2, product: x, draw: productDraw(x)}
	if strings.HasPrefix(f.scales, ", -1") {
		p.model = products(negated(wgmmaDot))
	}
	p.body = wgmmaShared(4*group, 4, 1) + matrixAddress("db", 0, descriptor(128, 256, 0))
	for i := range nd {
		p.body += fmt.Sprintf("mov.b32 %%d%d, %%a%d;\n", i, 5+i)
	}
	p.body += wgmmaRun(fmt.Sprintf("wgmma.mma_async.sync.aligned.%s %s, %s, %%db, %%keep%s;",
		name, registers("d", 0, nd), registers("a", 0, 4), f.scales), "1")
	p.complete()
	return p
}

// groupPlace returns where a warp group holds the matrices of a groupForm. Each warp has 16 rows
// as in mma. B is stored as rows of 16 bytes, eight for the first half of k and eight for the
// second.
func groupPlace(p *product, matrix byte, row, col int) (operand, thread, element int) {
	if matrix == 'b' {
		each := p.k / 2 // elements in a row
		at := (row/each*8+col)*each + row%each
		return 4, at / p.b.count, at % p.b.count
	}
	one := *p
	one.m = 16
	operand, lane, element := fragmentPlace(&one, matrix, row%16, col)
	if matrix == 'c' {
		operand, lane, element = accumulatorPlace(p.c, row%16, col)
		operand += 5
	}
	return operand, row/16*warp + lane, element
}

// wgmmaShared stores consecutive operands in shared memory, from a number on.
func wgmmaShared(bytes, from, operands int) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".shared .align 1024 .b8 tile[%d];\n.reg .b32 %%tile, %%own;\n", bytes)
	b.WriteString("mov.u32 %tile, tile;\nmad.lo.u32 %own, %thread, 4, %tile;\n")
	for i := range operands {
		fmt.Fprintf(&b, "st.shared.b32 [%%own+%d], %%a%d;\n", 4*group*i, from+i)
	}
	return b.String()
}

// matrixAddress makes a descriptor in a register.
func matrixAddress(reg string, offset int, rest uint64) string {
	return strings.NewReplacer("REG", "%"+reg, "OFFSET", fmt.Sprint(offset), "REST", fmt.Sprintf("%#x", rest)).Replace(`.reg .b64 REG;
cvt.u64.u32 REG, %tile;
add.u64 REG, REG, OFFSET;
and.b64 REG, REG, 0x3ffff;
shr.u64 REG, REG, 4;
or.b64 REG, REG, REST;
`)
}

// wgmmaRun runs one wgmma; keep says whether it adds to D.
func wgmmaRun(instruction, keep string) string {
	return ".reg .pred %keep;\nsetp.ne.u32 %keep, " + keep + `, 0;
fence.proxy.async;
bar.sync 0;
wgmma.fence.sync.aligned;
` + instruction + `
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;`
}
