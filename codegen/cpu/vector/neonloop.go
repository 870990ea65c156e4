package vector

import "github.com/arithlang/mlc/codegen/cpu/arm64"

func (f *neonMachine) startIndex() { f.op("mov", neonIndex, arm64.Imm(0)) }

// count increases the index and the pointers of the loop.
func (f *neonMachine) count(elements int) {
	f.add(neonIndex, neonIndex, elements)
	for _, p := range f.moving {
		f.add(neonPointers[p.reg], neonPointers[p.reg], elements*p.bytes)
	}
}

func (f *neonMachine) again(elements, end int, label string) {
	f.count(elements)
	f.compare(neonIndex, end)
	f.jumpIf("b.lt", label)
}

func (f *neonMachine) againWhole(elements int, label string) {
	f.count(elements)
	f.op("cmp", neonIndex, neonLimit)
	f.jumpIf("b.le", label)
}

func (f *neonMachine) whole(end, elements int, label string) {
	f.op("ldr", neonLimit, f.at(end))
	f.add(neonLimit, neonLimit, -elements)
	f.op("cmp", neonLimit, arm64.Imm(0))
	f.jumpIf("b.lt", label)
}

func (f *neonMachine) rest(end int, label string) {
	f.op("ldr", neonCount, f.at(end))
	f.op("sub", neonCount, neonCount, neonIndex)
	f.op("cmp", neonCount, arm64.Imm(0))
	f.jumpIf("b.le", label)
}

func (f *neonMachine) fewer(elements int, label string) {
	f.add(neonCount, neonCount, -elements)
	f.op("cmp", neonCount, arm64.Imm(0))
	f.jumpIf("b.le", label)
}

func (f *neonMachine) firstLanes(n int) { f.known = n }
func (f *neonMachine) someLanes()       { f.known = 0 }

// tail puts the mask of the elements that are left into a register.
func (f *neonMachine) tail(to arm64.Vec) {
	if f.known > 0 {
		lanes := make([]uint32, neon.lanes)
		for i := range f.known {
			lanes[i] = 1<<32 - 1
		}
		f.op("ldr.q", to, f.constant(lanes...))
		return
	}
	f.op("dup.4s", to, neonCount)
	f.op("ldr.q", neonScratch, f.constant(0, 1, 2, 3))
	f.op("cmgt.4s", to, to, neonScratch)
}

// accesses name the instructions that access a whole vector, half of it, one element, and an
// element in any lane.
type accesses struct{ whole, half, one, lane string }

var (
	neonLoads  = map[int]accesses{4: {"ldr.q", "ldr.d", "ldr.s", "ld1.s"}, narrow: {"ldr.d", "ldr.s", "ldr.h", "ld1.h"}}
	neonStores = map[int]accesses{4: {"str.q", "str.d", "str.s", "st1.s"}, narrow: {"str.d", "str.s", "str.h", "st1.h"}}
)

// access writes the access of a vector, or only of its elements that are left.
func (f *neonMachine) access(a accesses, bytes int, v arm64.Vec, m arm64.Mem, masked bool) {
	if !masked {
		f.op(a.whole, v, m)
		return
	}
	third := func() {
		f.add(neonTemp, m.Base, m.Off+2*bytes)
		f.op(a.lane, arm64.Elem{V: v, I: 2}, arm64.At(neonTemp, 0))
	}
	switch f.known {
	case 1:
		f.op(a.one, v, m)
		return
	case 2, 3:
		f.op(a.half, v, m)
		if f.known == 3 {
			third()
		}
		return
	}
	all, one, end := f.label("all"), f.label("one"), f.label("end")
	f.compare(neonCount, neon.lanes)
	f.jumpIf("b.ge", all)
	f.op("tbz", neonCount, arm64.Imm(1), arm64.Label(one))
	f.op(a.half, v, m)
	f.op("tbz", neonCount, arm64.Imm(0), arm64.Label(end))
	third()
	f.jump(end)
	f.mark(one)
	f.op(a.one, v, m)
	f.jump(end)
	f.mark(all)
	f.op(a.whole, v, m)
	f.mark(end)
}

// eachLane writes code for each element that exists.
func (f *neonMachine) eachLane(masked bool, code func(lane int)) {
	lanes, end := neon.lanes, ""
	if masked && f.known > 0 {
		lanes = f.known
	}
	for i := range lanes {
		if masked && f.known == 0 && i > 0 {
			if end == "" {
				end = f.label("end")
			}
			f.compare(neonCount, i)
			f.jumpIf("b.le", end)
		}
		code(i)
	}
	if end != "" {
		f.mark(end)
	}
}
