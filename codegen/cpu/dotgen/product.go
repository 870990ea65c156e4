package main

import (
	"fmt"
	"sync"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vectors describes the microkernels of one instruction set. The sums of a tile take rows x 1
// or 2 registers. The row of B takes 1 or 2 more, and a broadcast element of A takes one.
type vectors struct {
	name  string
	bytes int    // bytes of a register
	rows  [3]int // rows of the largest tile, by its registers of columns
	pairs bool   // elements are pairs of BF16
}

var (
	avx2       = vectors{"AVX2", 32, [3]int{1: 12, 2: 6}, false}
	avx512     = vectors{"AVX512", 64, [3]int{1: 24, 2: 14}, false}
	avx512BF16 = vectors{"AVX512BF16", 64, [3]int{1: 24, 2: 14}, true}
)

// wide reports whether registers have 512 bits.
func (v vectors) wide() bool { return v.bytes == 64 }

// reg returns a new register.
func (v vectors) reg() reg.VecVirtual {
	if v.wide() {
		return ZMM()
	}
	return YMM()
}

// multiply adds the products of two registers to a third.
func (v vectors) multiply(x, y, sum reg.VecVirtual) {
	if v.pairs {
		multiplyPairs(x, y, sum)
	} else {
		VFMADD231PS(x, y, sum)
	}
}

// product writes a microkernel
//
//	func dotAVX512x14x2(a *float32, next, ars, acs int, b *float32, brs, ahead, as int, c *float32, ldc, k, tiles, lanes, add int)
//
// which writes tiles consecutive blocks of C, each of rows x cols registers. They are the
// product of rows of A and a panel of B, added to C if add is not 0. Strides are in bytes;
// next is the distance between the rows of A of two blocks. The first block prefetches rows
// for the next call: they begin at b + ahead, as apart. With tail, rows of B and C have only
// lanes elements in their last register.
//
// The k loop keeps one chain of fused multiply-adds, or of pairs of them, for each output, in
// ascending k. Pointers to every fifth row reach all rows of A.
func product(v vectors, rows, cols int, tail bool) {
	name := fmt.Sprintf("dot%sx%dx%d", v.name, rows, cols)
	if tail {
		name += "tail"
	}
	TEXT(name, NOSPLIT, "func(a *float32, next, ars, acs int, b *float32, brs, ahead, as int, c *float32, ldc, k, tiles, lanes, add int)")
	Pragma("noescape")
	p := productWriter{vectors: v, rows: rows, cols: cols}
	p.aTile, p.ars = Load(Param("a"), GP64()), Load(Param("ars"), GP64())
	p.acs, p.brs = Load(Param("acs"), GP64()), Load(Param("brs"), GP64())
	if rows > 3 {
		p.ars3 = GP64()
		LEAQ(operand.Mem{Base: p.ars, Index: p.ars, Scale: 2}, p.ars3)
	}
	if tail {
		p.loadMask()
	}
	Label("tile")
	p.tile()
	DECQ(variable("tiles"))
	JNZ(operand.LabelRef("tile"))
	VZEROUPPER()
	RET()
}

// productWriter writes the parts of one microkernel.
type productWriter struct {
	vectors
	rows, cols      int
	aTile, ars, acs reg.Register
	ars3, brs       reg.Register
	ahead           reg.GPVirtual // next address in B to prefetch, with as between rows
	as              reg.Register
	kmask           reg.Register // AVX-512: opmask of the last register; nil without tail
	ymask           reg.Register // AVX2: the same as a vector
	sums            [][]reg.VecVirtual
	aRows           []reg.GPVirtual // pointers to rows 0, 5, 10, …
	row             []reg.VecVirtual
}

// unrolled is the number of steps in a round of the loop over k.
const unrolled = 4

// tile computes one block and steps to the next.
func (p *productWriter) tile() {
	p.startSums()
	p.prefetchNext()
	p.rowPointers()
	b, k := GP64(), GP64()
	Load(Param("b"), b)
	Load(Param("k"), k)
	if p.cols == 2 {
		p.ahead, p.as = GP64(), Load(Param("as"), GP64())
		Load(Param("ahead"), p.ahead)
		ADDQ(b, p.ahead)
		none := GP64()
		XORQ(none, none)
		MOVQ(none, variable("ahead"))
		MOVQ(none, variable("as"))
	}
	p.row = nil
	for range p.cols {
		p.row = append(p.row, p.reg())
	}
	if p.cols == 2 && p.kmask == nil && p.ymask == nil {
		SUBQ(operand.Imm(unrolled), k)
		JL(operand.LabelRef("rest"))
		Label("several")
		for range unrolled {
			p.step(b)
		}
		SUBQ(operand.Imm(unrolled), k)
		JGE(operand.LabelRef("several"))
		Label("rest")
		ADDQ(operand.Imm(unrolled), k)
		JZ(operand.LabelRef("done"))
	}
	Label("k")
	p.step(b)
	DECQ(k)
	JNZ(operand.LabelRef("k"))
	Label("done")
	c := p.eachSum(p.store)
	MOVQ(c, variable("c"))
	ADDQ(variable("next"), p.aTile)
}

// variable is a parameter in memory. Parameters that steps do not need have no register.
func variable(name string) operand.Mem {
	c, err := Param(name).Resolve()
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return c.Addr
}

// step adds the products of one k.
func (p *productWriter) step(b reg.GPVirtual) {
	for j, r := range p.row {
		p.load(operand.Mem{Base: b, Disp: j * p.bytes}, j, r)
	}
	if p.cols == 2 {
		for j := 0; j < 2*p.bytes; j += 64 {
			PREFETCHT1(operand.Mem{Base: p.ahead, Disp: j})
		}
		ADDQ(p.as, p.ahead)
	}
	ADDQ(p.brs, b)
	x := p.reg()
	for i := range p.rows {
		VBROADCASTSS(p.aAt(i), x)
		for j, r := range p.row {
			p.multiply(x, r, p.sums[i][j])
		}
	}
	for _, a := range p.aRows {
		ADDQ(p.acs, a)
	}
}

// aAt is the current element of row i of A.
func (p *productWriter) aAt(i int) operand.Mem {
	m := operand.Mem{Base: p.aRows[i/5]}
	switch r := i % 5; r {
	case 0:
	case 3:
		m.Index, m.Scale = p.ars3, 1
	default:
		m.Index, m.Scale = p.ars, uint8(r)
	}
	return m
}

func (p *productWriter) rowPointers() {
	p.aRows = nil
	for i := 0; i < p.rows; i += 5 {
		a := GP64()
		if i == 0 {
			MOVQ(p.aTile, a)
		} else {
			last := p.aRows[len(p.aRows)-1]
			LEAQ(operand.Mem{Base: last, Index: p.ars, Scale: 4}, a)
			ADDQ(p.ars, a)
		}
		p.aRows = append(p.aRows, a)
	}
}

// eachSum visits the block of C in memory and in registers. It returns where the next block
// begins.
func (p *productWriter) eachSum(visit func(m operand.Mem, i, j int)) (next reg.Register) {
	c, ldc := Load(Param("c"), GP64()), Load(Param("ldc"), GP64())
	for i := range p.rows {
		for j := range p.cols {
			visit(operand.Mem{Base: c, Disp: j * p.bytes}, i, j)
		}
		ADDQ(ldc, c)
	}
	return c
}

// startSums sets the sums to 0 or to the block of C.
func (p *productWriter) startSums() {
	p.sums = make([][]reg.VecVirtual, p.rows)
	for i := range p.sums {
		for range p.cols {
			p.sums[i] = append(p.sums[i], p.reg())
		}
	}
	add := GP64()
	Load(Param("add"), add)
	TESTQ(add, add)
	JNZ(operand.LabelRef("add"))
	for _, row := range p.sums {
		for _, r := range row {
			VXORPS(r, r, r)
		}
	}
	JMP(operand.LabelRef("sums"))
	Label("add")
	p.eachSum(func(m operand.Mem, i, j int) { p.load(m, j, p.sums[i][j]) })
	Label("sums")
}

// prefetchNext prefetches the next block of C; the k loop hides the latency. C is seldom in a
// near cache when it holds the gradients of weights.
func (p *productWriter) prefetchNext() {
	c, ldc := Load(Param("c"), GP64()), Load(Param("ldc"), GP64())
	next := GP64()
	IMUL3Q(operand.Imm(uint64(p.rows)), ldc, next)
	ADDQ(next, c)
	for range p.rows {
		for j := range p.cols * p.bytes / 64 {
			PREFETCHT0(operand.Mem{Base: c, Disp: 64 * j})
		}
		ADDQ(ldc, c)
	}
}

// store writes register j of row i of C.
func (p *productWriter) store(m operand.Mem, i, j int) {
	r := p.sums[i][j]
	switch {
	case !p.masked(j):
		VMOVUPS(r, m)
	case p.kmask != nil:
		VMOVUPS(r, p.kmask, m)
	default:
		VMASKMOVPS(r, p.ymask, m)
	}
}

// load reads register j of a row.
func (p *productWriter) load(m operand.Mem, j int, r reg.VecVirtual) {
	switch {
	case !p.masked(j):
		VMOVUPS(m, r)
	case p.kmask != nil:
		VMOVUPS_Z(m, p.kmask, r)
	default:
		VMASKMOVPS(m, p.ymask, r)
	}
}

func (p *productWriter) masked(j int) bool {
	return j == p.cols-1 && (p.kmask != nil || p.ymask != nil)
}

// loadMask makes the mask of the first lanes elements of a register.
func (p *productWriter) loadMask() {
	lanes := GP64()
	Load(Param("lanes"), lanes)
	p.maskLanes(lanes)
}

// maskLanes makes the mask from lanes, and overwrites lanes.
func (p *productWriter) maskLanes(lanes reg.GPVirtual) {
	if p.wide() {
		bits, k := GP64(), K()
		MOVQ(operand.I64(-1), bits)
		BZHIQ(lanes, bits, bits)
		KMOVW(bits.As32(), k)
		p.kmask = k
		return
	}
	table, y := GP64(), YMM()
	LEAQ(laneMasks(), table)
	NEGQ(lanes)
	VMOVUPS(operand.Mem{Base: table, Index: lanes, Scale: 4, Disp: 32}, y)
	p.ymask = y
}

// laneMasks are eight words of ones and eight of zeros. The mask for n lanes starts n words
// before the middle.
var laneMasks = sync.OnceValue(func() operand.Mem {
	m := GLOBL("laneMasks", RODATA|NOPTR)
	for i := range 16 {
		word := uint32(0)
		if i < 8 {
			word = 1<<32 - 1
		}
		DATA(4*i, operand.U32(word))
	}
	return m
})
