package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// half is how many bits a BF16 has.
const half = 16

// dpbf16 adds the products of pairs of BF16, first of the upper halves, then of the lower
// ones. Go's assembler does not know it.
const dpbf16 = "VDPBF16PS"

// multiplyPairs writes dpbf16. encodePairs encodes it after register allocation.
func multiplyPairs(x, y, sum reg.VecVirtual) {
	Instruction(&ir.Instruction{
		Opcode:   dpbf16,
		Operands: []operand.Op{x, y, sum},
		Inputs:   []operand.Op{x, y, sum},
		Outputs:  []operand.Op{sum},
	})
}

// encodePairs replaces each dpbf16 by its code.
func encodePairs(f *ir.Function) error {
	var nodes []ir.Node
	for _, n := range f.Nodes {
		i, ok := n.(*ir.Instruction)
		if !ok || i.Opcode != dpbf16 {
			nodes = append(nodes, n)
			continue
		}
		var number [3]uint32
		for j, o := range i.Operands {
			r, ok := o.(reg.VecPhysical)
			if !ok {
				return fmt.Errorf("%s has no register for %v", dpbf16, o)
			}
			number[j] = uint32(r.PhysicalIndex())
		}
		long, word := pairsCode(number[0], number[1], number[2])
		nodes = append(nodes,
			&ir.Instruction{Opcode: "LONG", Operands: []operand.Op{operand.U32(long)}},
			&ir.Instruction{Opcode: "WORD", Operands: []operand.Op{operand.U16(word)}})
	}
	f.Nodes = nodes
	return nil
}

// pairsCode returns the code of dpbf16 on 512-bit registers: the EVEX prefix, the opcode and
// the operands. The prefix has inverted bits of register numbers.
func pairsCode(x, y, sum uint32) (long uint32, word uint16) {
	const (
		escape, opcode  = 0x62, 0x52
		map0F38, prefix = 2, 2 // F3
		fixed, bits512  = 1 << 2, 2 << 5
		registers       = 3 << 6
	)
	inverted := func(number, bit, to uint32) uint32 { return (^number >> bit & 1) << to }
	p0 := inverted(sum, 3, 7) | inverted(x, 4, 6) | inverted(x, 3, 5) | inverted(sum, 4, 4) | map0F38
	p1 := ^y&15<<3 | fixed | prefix
	p2 := bits512 | inverted(y, 4, 3)
	operands := registers | sum&7<<3 | x&7
	return p2<<24 | p1<<16 | p0<<8 | escape, uint16(operands<<8 | opcode)
}

// widen writes
//
//	func widenAVX512(dst *float32, src *uint16, registers int)
//
// which widens BF16 to float32.
func widen(v vectors) {
	name := "widen" + v.name
	TEXT(name, NOSPLIT, "func(dst *float32, src *uint16, registers int)")
	Pragma("noescape")
	Doc(name + " widens registers > 0 registers of BF16.")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("registers"), GP64())
	Label("loop")
	x := v.reg()
	VPMOVZXWD(operand.Mem{Base: src}, x)
	VPSLLD(operand.Imm(half), x, x)
	VMOVUPS(x, operand.Mem{Base: dst})
	ADDQ(operand.Imm(uint64(v.bytes/2)), src)
	ADDQ(operand.Imm(uint64(v.bytes)), dst)
	DECQ(n)
	JNZ(operand.LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// pairAlong writes
//
//	func pairAlongAVX512(dst *float32, ds int, src *uint16, ss, rows, registers, lanes int)
//
// which pairs neighbours in each row.
func pairAlong() {
	p := startPairs("pairAlong", "neighbours in rows > 0 rows")
	p.rows(avx512.bytes, func(from operand.Mem, mask reg.Register) reg.VecVirtual {
		x := ZMM()
		if mask == nil {
			VMOVUPS(from, x)
		} else {
			VMOVUPS_Z(from, mask, x)
		}
		VPROLD(operand.Imm(half), x, x)
		return x
	})
}

// pairDown writes
//
//	func pairDownAVX512(dst *float32, ds int, src *uint16, ss, rows, registers, lanes int)
//
// which pairs the elements of two consecutive rows.
func pairDown() {
	p := startPairs("pairDown", "elements of rows > 0 pairs of rows")
	next := GP64()
	MOVQ(p.ss, next)
	ADDQ(p.ss, p.ss)
	p.rows(avx512.bytes/2, func(from operand.Mem, mask reg.Register) reg.VecVirtual {
		upper, lower := ZMM(), ZMM()
		below := operand.Mem{Base: from.Base, Index: next, Scale: 1}
		if mask == nil {
			VPMOVZXWD(from, upper)
			VPMOVZXWD(below, lower)
		} else {
			VPMOVZXWD_Z(from, mask, upper)
			VPMOVZXWD_Z(below, mask, lower)
		}
		VPSLLD(operand.Imm(half), upper, upper)
		VPORD(lower, upper, upper)
		return upper
	})
}

// pairWriter writes a function that makes rows of pairs, the first of two in the upper half.
// The last register of a row has some lanes only. Strides are in bytes.
type pairWriter struct{ dst, ds, src, ss reg.Register }

func startPairs(name, doc string) *pairWriter {
	name += avx512.name
	TEXT(name, NOSPLIT, "func(dst *float32, ds int, src *uint16, ss, rows, registers, lanes int)")
	Pragma("noescape")
	Doc(name + " pairs " + doc + ".")
	return &pairWriter{Load(Param("dst"), GP64()), Load(Param("ds"), GP64()), Load(Param("src"), GP64()), Load(Param("ss"), GP64())}
}

// rows writes the rows. pair computes a register of a row from some bytes of src.
func (p *pairWriter) rows(bytes int, pair func(from operand.Mem, mask reg.Register) reg.VecVirtual) {
	w := productWriter{vectors: avx512}
	w.loadMask()
	rows := Load(Param("rows"), GP64())
	to, from, n := GP64(), GP64(), GP64()
	Label("row")
	MOVQ(p.dst, to)
	MOVQ(p.src, from)
	Load(Param("registers"), n)
	DECQ(n)
	JZ(operand.LabelRef("last"))
	Label("register")
	VMOVUPS(pair(operand.Mem{Base: from}, nil), operand.Mem{Base: to})
	ADDQ(operand.Imm(uint64(bytes)), from)
	ADDQ(operand.Imm(uint64(avx512.bytes)), to)
	DECQ(n)
	JNZ(operand.LabelRef("register"))
	Label("last")
	VMOVUPS(pair(operand.Mem{Base: from}, w.kmask), w.kmask, operand.Mem{Base: to})
	ADDQ(p.ds, p.dst)
	ADDQ(p.ss, p.src)
	DECQ(rows)
	JNZ(operand.LabelRef("row"))
	VZEROUPPER()
	RET()
}
