package asm

import "fmt"

// The instructions of tensor cores, and of copies that go on while a thread computes.
const (
	opMatrices = "ldmatrix.sync.aligned.m8n8"
	opCopy     = "cp.async.cg.shared.global"
	opCommit   = "cp.async.commit_group"
	opWait     = "cp.async.wait_group"

	// copied is how many bytes a copy writes.
	copied = 16
)

// A multiplication is an instruction that adds the product of a fragment a of 16 rows and
// a fragment b of 8 columns to an accumulator, with so many registers of each.
type multiplication struct{ acc, a, b int }

// multiplications, by op. Which element a register holds is in the PTX manual, 9.7.14.
var multiplications = map[string]multiplication{
	"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32": {4, 4, 2},
	"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32":   {4, 4, 2},
	"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32":  {4, 4, 2},
}

// Multiply adds the product of fragments a and b to the variables acc, by a
// multiplication such as m16n8k16.row.col.f32.bf16.bf16.f32. All lanes of a warp come to
// it together.
func (f *Func) Multiply(shape string, acc, a, b []Value) {
	args := append(append(append([]Value{}, a...), b...), acc...)
	f.emit(&Instr{op: "mma.sync.aligned." + shape, dst: acc, args: args})
}

// LoadMatrices reads n (1, 2 or 4) matrices of 8 by 8 elements of 16 bits from shared
// memory, a register each: lane 8 i + r has the address of row r of matrix i, 16 bytes
// at a multiple of 16. Lane l gets elements 2 (l mod 4) and the next of row l / 4; of
// column l / 4 if they are to be transposed.
func (f *Func) LoadMatrices(at Address, n int, transposed bool) []Value {
	op := fmt.Sprintf("%s.x%d", opMatrices, n)
	if transposed {
		op += ".trans"
	}
	vs := f.fresh(Word, single, n)
	f.emit(&Instr{op: op + ".shared.b16", dst: vs, args: []Value{at.Base}, memory: at.Memory, bytes: at.Bytes})
	return vs
}

// CopyAsync begins to copy 16 bytes from global to shared memory, of which the first n
// (a Word) come from there and the others are 0. Nobody may read or write them before
// the copy has been waited for.
func (f *Func) CopyAsync(to, from Address, n Value) {
	f.emit(&Instr{op: opCopy, args: []Value{to.Base, from.Base, n}, memory: to.Memory, bytes: to.Bytes, from: from.Memory, behind: from.Bytes})
}

// CommitCopies makes a group of the copies that this thread has begun since its last group.
func (f *Func) CommitCopies() { f.emit(&Instr{op: opCommit}) }

// WaitCopies waits until all but the last n groups of this thread's copies are there.
// Other threads see them after a barrier.
func (f *Func) WaitCopies(n int) { f.emit(&Instr{op: opWait, text: fmt.Sprint(n)}) }

// fragments are the operands of an instruction in vectors, as many registers each as it
// says; nil for those whose operands stand alone.
func (i *Instr) fragments() [][]Value {
	if m, ok := multiplications[i.op]; ok && len(i.args) == m.a+m.b+m.acc {
		return [][]Value{i.dst, i.args[:m.a], i.args[m.a : m.a+m.b], i.args[m.a+m.b:]}
	}
	return nil
}

// ofLanes says whether the lanes of a warp come to an instruction together and get
// values of their own.
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
