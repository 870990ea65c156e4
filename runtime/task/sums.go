package task

import (
	"math/bits"
	"strings"

	"github.com/arithlang/mlc/runtime/philox"
)

// sums are several numbers to be added. How many is drawn for a whole batch of training,
// whose problems have one shape; tests have as many as they are asked for. All numbers of
// a test have the same digits.
type sums struct{ numbers }

// Sums reports whether a problem is several numbers, whose second length is how many.
func (t *Task) Sums() bool { return t.kind.family == sums{} }

// Many reports whether the second length of Cell counts something, instead of digits.
func (t *Task) Many() bool { return t.Arrays() || t.Sums() }

func (f sums) test(t *Task, d *draft, i, j int, _ int64, src *philox.Source) {
	t.operands(d, src, j, func(int) int { return i })
}

func (sums) count(*Task, int, int) uint64 { return 0 }

func (sums) longest(t *Task, d *draft, i, j int) {
	d.room(j)
	for n, x := range d.operands {
		d.operands[n] = append(x[:0], strings.Repeat(digits[t.cfg.Base-1:][:1], i)...)
	}
}

// number is how many operands example k has: of training those of a batch have as many.
func (t *Task) number(k int64, held bool, src *philox.Source) int {
	if !t.Sums() {
		return t.kind.arity
	}
	if !held {
		src = philox.NewSource(t.seed, philox.Cells, uint64(k/int64(max(t.cfg.Batch, 1))), uint16(t.part))
	}
	return t.cfg.OperandsLo + src.Intn(t.cfg.OperandsHi-t.cfg.OperandsLo+1)
}

// sum is all numbers together.
func sum(dst []byte, base int, x [][]byte) []byte {
	longest := 0
	for _, n := range x {
		longest = max(longest, len(n))
	}
	return places(dst, base, longest+bits.Len(uint(len(x))), func(place int) int {
		all := 0
		for _, n := range x {
			all += digitAt(n, place)
		}
		return all
	})
}

// The width of sums has their number of operands above widthBits, for both say how long a
// problem is.
const (
	widthBits = 32
	widthMask = 1<<widthBits - 1
)

// shaped is the width of problems like a draft whose numbers have so many places.
func (t *Task) shaped(places int, d *draft) int {
	if t.Sums() {
		return len(d.operands)<<widthBits | places
	}
	return places
}

// partial writes the answer that spells out each sum on the way, a + b + … a + b + c and so
// on, with the operator between them: the decoder's input, and what it is to say.
func (t *Task) partial(b Batch, d *draft, width int) {
	row := 0
	say := func(symbol byte) {
		id := t.alphabet.ids[symbol]
		b.Labels[row] = id
		if row++; row < len(b.Target) {
			b.Target[row] = id
		}
	}
	b.Target[0] = t.alphabet.ids[symbolSOS]
	so := d.operands[0]
	for n, x := range d.operands[1:] {
		if n > 0 {
			say(t.kind.op[0])
		}
		so = add(nil, t.cfg.Base, so, x)
		for i := range width {
			say(widened(so, width, turned(i, width, t.cfg.Reversed), '0'))
		}
	}
	say(symbolEOS)
}

// products reports whether an answer spells out the sums on the way to a product.
func (t *Task) products() bool { return t.kind.name == "multiplication" && t.cfg.Scratchpad }

// products writes a times the lowest digit of b, the lowest two, and so on, with + between
// them. Each is as wide as both factors together, so that no digit before says that it ends.
func (p *pen) products(t *Task) {
	a, b := p.operands[0], p.operands[1]
	for n := 1; n <= len(b); n++ {
		if n > 1 {
			p.put('+')
		}
		p.number(t, mul(nil, t.cfg.Base, a, b[len(b)-n:]), len(a)+n, true, '0')
	}
}
