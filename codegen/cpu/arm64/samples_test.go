package arm64

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
)

// sample is a form with operands that it takes.
type sample struct {
	form     *form
	operands []Operand
}

// pool has the operands of samples, with edges first and last.
var pool = makePool()

func makePool() []Operand {
	var all []Operand
	for v := V0; v <= V31; v++ {
		all = append(all, v)
		for i := range 16 {
			all = append(all, Elem{v, i})
		}
		for n := 2; n <= 4; n++ {
			all = append(all, List{v, n})
		}
	}
	for r := R0; r <= ZR; r++ {
		all = append(all, r)
	}
	for i := range 256 {
		all = append(all, Imm(i), Imm(i<<8), Imm(i<<16), Imm(i<<24), Imm(i<<12))
	}
	all = append(all, Imm(-1), Imm(-1<<32), Imm(-0xFFFF0000FFFF)-1, Imm(-4),
		Imm(0x3F800000), Imm(0xC1F80000), Imm(0x3E000000), Imm(0x41F80000), // floats
		Imm(0x00FF00FF00FF00FF), Imm(-0xFF00FF00FF0100), Imm(0x5555555555555555),
		Imm(0x7FFFFFFE), Imm(0xFFFFFFFE), Imm(0x3FFC000), Imm(0xFFF), Imm(0xFFF000))
	for _, base := range []Reg{R0, R11, R26} {
		for _, off := range []int{0, 1, -1, 255, -256, 15} {
			all = append(all, At(base, off))
			if off != 0 {
				all = append(all, Post(base, off))
			}
		}
		for n := 1; n <= 4; n++ {
			for size := range 5 {
				for _, off := range []int{1, 2, 63, -64, 4095} {
					all = append(all, At(base, off<<size))
				}
				for _, off := range []int{1, 2, 63, -64} {
					all = append(all, Post(base, n*off<<size))
				}
			}
		}
		for _, index := range []Reg{R1, R17, R26} {
			all = append(all, Mem{Base: base, Index: index, Indexed: true}, AtScaled(base, index), PostIndex(base, index))
		}
	}
	slices.SortStableFunc(all, func(a, b Operand) int {
		if x, ok := a.(Imm); ok {
			if y, ok := b.(Imm); ok {
				return cmp.Compare(x, y)
			}
		}
		if x, ok := a.(Mem); ok {
			if y, ok := b.(Mem); ok {
				return cmp.Compare(x.Off, y.Off)
			}
		}
		return cmp.Compare(fmt.Sprintf("%T", a), fmt.Sprintf("%T", b))
	})
	return all
}

// samples returns operands for each form whose word we know: for each slot the first and the
// last operand that it takes, and some between.
func samples() []sample {
	var all []sample
	for _, name := range slices.Sorted(maps.Keys(instructions())) {
		for i, f := range instructions()[name] {
			if f.base == 0 {
				continue
			}
			if len(f.slots) == 0 {
				all = append(all, sample{f, nil})
				continue
			}
			taken := make([][]Operand, len(f.slots))
			for j, s := range f.slots {
				for _, o := range pool {
					if s.fits(o) {
						taken[j] = append(taken[j], o)
					}
				}
			}
			for k := range 5 {
				var operands []Operand
				for j := range f.slots {
					operands = append(operands, taken[j][pick(name, i, j, k, len(taken[j]))])
				}
				if f.fits(operands) {
					all = append(all, sample{f, operands})
				}
			}
		}
	}
	return all
}

// pick chooses one of n: the first, the last, or one that depends on the others.
func pick(name string, form, slot, k, n int) int {
	switch k {
	case 0:
		return 0
	case 1:
		return n - 1
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	h.Write([]byte{byte(form), byte(slot), byte(k)})
	return int(h.Sum32() % uint32(n))
}
