package asm

import (
	"fmt"
	"strings"
)

// The instructions of tensor cores and of asynchronous copies.
const (
	opMatrices = "ldmatrix.sync.aligned.m8n8"
	opCopy     = "cp.async.cg.shared.global"
	opCommit   = "cp.async.commit_group"
	opWait     = "cp.async.wait_group"

	// copied is how many bytes a copy writes.
	copied = 16
)

// lanes are the instructions that the lanes of a warp run together, and from which they get
// different values. Multiplications add the product of fragments a (16 rows, 4 registers) and b (8
// columns, 2 registers) to an accumulator. The PTX manual, 9.7.14, says which elements a register
// holds.
var lanes = map[string]string{
	"ffff=rrrrrrffff": `mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
		mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32`,
	"r=r":    opMatrices + ".x1.shared.b16 " + opMatrices + ".x1.trans.shared.b16",
	"rr=r":   opMatrices + ".x2.shared.b16 " + opMatrices + ".x2.trans.shared.b16",
	"rrrr=r": opMatrices + ".x4.shared.b16 " + opMatrices + ".x4.trans.shared.b16",
}

// Multiply adds the product of fragments a and b to the variables acc, by a multiplication such
// as m16n8k16.row.col.f32.bf16.bf16.f32. All lanes of a warp must reach it together.
func (f *Func) Multiply(shape string, acc, a, b []Value) {
	args := append(append(append([]Value{}, a...), b...), acc...)
	f.emit(&Instr{op: "mma.sync.aligned." + shape, dst: acc, args: args})
}

// LoadMatrices reads n (1, 2 or 4) matrices of 8 by 8 16-bit elements from shared memory, each
// into one register. Lane 8 i + r has the address of row r of matrix i: 16 bytes, at a multiple
// of 16. Lane l gets elements 2 (l mod 4) and the next of row l / 4. If transposed, it gets them
// of column l / 4.
func (f *Func) LoadMatrices(at Address, n int, transposed bool) []Value {
	op := fmt.Sprintf("%s.x%d", opMatrices, n)
	if transposed {
		op += ".trans"
	}
	vs := f.fresh(Word, single, n)
	f.emit(&Instr{op: op + ".shared.b16", dst: vs, args: []Value{at.Base}, memory: at.Memory, bytes: at.Bytes})
	return vs
}

// CopyAsync begins to copy 16 bytes to shared memory: n bytes (a Word) from global memory, then
// zeros. No thread may access them before the copy has been waited for.
func (f *Func) CopyAsync(to, from Address, n Value) {
	f.emit(&Instr{op: opCopy, args: []Value{to.Base, from.Base, n}, memory: to.Memory, bytes: to.Bytes, from: from.Memory, behind: from.Bytes})
}

// CommitCopies makes a group of the copies that this thread has begun since its last group.
func (f *Func) CommitCopies() { f.emit(&Instr{op: opCommit}) }

// WaitCopies waits until all but the last n groups of this thread's copies are complete. Other
// threads see them after a barrier.
func (f *Func) WaitCopies(n int) { f.emit(&Instr{op: opWait, text: fmt.Sprint(n)}) }

// fragments returns the operands of a multiplication as vectors; nil for other instructions.
func (i *Instr) fragments() [][]Value {
	if !i.ofLanes() || len(i.args) != 10 {
		return nil
	}
	return [][]Value{i.dst, i.args[:4], i.args[4:6], i.args[6:]}
}

// ofLanes reports whether the lanes of a warp run an instruction together and get different
// values.
func (i *Instr) ofLanes() bool { return together[i.op] != nil }

// loadsMatrices reports whether an instruction loads matrices.
func (i *Instr) loadsMatrices() bool { return i.ofLanes() && strings.HasPrefix(i.op, opMatrices) }
