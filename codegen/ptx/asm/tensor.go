package asm

import "fmt"

// The instructions of tensor cores and of asynchronous copies.
const (
	opMatrices = "ldmatrix.sync.aligned.m8n8"
	opCopy     = "cp.async.cg.shared.global"
	opCommit   = "cp.async.commit_group"
	opWait     = "cp.async.wait_group"

	// copied is how many bytes a copy writes.
	copied = 16
)

// A multiplication is an instruction that adds the product of fragments a (16 rows) and b (8
// columns) to an accumulator. The fields are their numbers of registers.
type multiplication struct{ acc, a, b int }

// multiplications has them by op. The PTX manual, 9.7.14, says which elements a register holds.
var multiplications = map[string]multiplication{
	"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32": {4, 4, 2},
	"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32":   {4, 4, 2},
	"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32":  {4, 4, 2},
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
	if m, ok := multiplications[i.op]; ok && len(i.args) == m.a+m.b+m.acc {
		return [][]Value{i.dst, i.args[:m.a], i.args[m.a : m.a+m.b], i.args[m.a+m.b:]}
	}
	return nil
}

// ofLanes reports whether the lanes of a warp run an instruction together and get different
// values.
func (i *Instr) ofLanes() bool {
	_, ok := multiplications[i.op]
	return ok || matrixLoads[i.op] != 0
}

// matrixLoads are the loads of matrices, with the registers that they fill.
var matrixLoads = func() map[string]int {
	all := map[string]int{}
	for _, n := range []int{1, 2, 4} {
		for _, t := range []string{"", ".trans"} {
			all[fmt.Sprintf("%s.x%d%s.shared.b16", opMatrices, n, t)] = n
		}
	}
	return all
}()
