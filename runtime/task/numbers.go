package task

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/arithlang/mlc/runtime/philox"
)

// numbers are one or two numbers without leading zeros. Those of a sequence begin
// with a digit other than 0; elsewhere 0 is a number of one digit.
type numbers struct {
	digit bool // the second is a single digit
}

func (f numbers) cells(t *Task) int64 {
	m := int64(t.cfg.DigitsHi - t.cfg.DigitsLo + 1)
	if f.grid(t) {
		return m * m
	}
	return m
}

// grid reports whether there are two lengths.
func (f numbers) grid(t *Task) bool { return t.kind.arity == 2 && !f.digit }

func (f numbers) draw(t *Task, d *draft, cell int64, src *philox.Source) {
	m := int64(t.cfg.DigitsHi - t.cfg.DigitsLo + 1)
	i, j := cell, int64(0)
	if f.grid(t) {
		i, j = cell/m, cell%m
	}
	f.random(t, d, src, t.cfg.DigitsLo+int(i), t.cfg.DigitsLo+int(j))
}

// random makes a problem of the lengths i and j.
func (f numbers) random(t *Task, d *draft, src *philox.Source, lengths ...int) {
	t.operands(d, src, t.kind.arity, func(operand int) int { return lengths[operand] })
}

// operands draws the n operands of a problem of numbers, each of a length.
func (t *Task) operands(d *draft, src *philox.Source, n int, length func(operand int) int) {
	if d.carries {
		t.carrying(d, src, [2]int{length(0), length(1)})
		return
	}
	d.room(n)
	for i, x := range d.operands {
		if i == 1 && t.single() {
			d.operands[i] = append(x[:0], digits[src.Intn(t.cfg.Base)])
			continue
		}
		d.operands[i] = t.random(x[:0], src, length(i))
	}
}

// random appends a number of exactly so many digits, each equally likely.
func (t *Task) random(dst []byte, src *philox.Source, length int) []byte {
	if length == 1 && t.cfg.Sequence {
		return append(dst, digits[1+src.Intn(t.cfg.Base-1)])
	}
	first := len(dst)
	for range length {
		dst = append(dst, digits[src.Intn(t.cfg.Base)])
	}
	if length > 1 {
		dst[first] = digits[1+src.Intn(t.cfg.Base-1)]
	}
	return dst
}

func (f numbers) count(t *Task, i, j int) uint64 {
	total := uint64(1)
	for operand := range t.kind.arity {
		_, count := f.values(t, operand, i, j)
		hi, lo := bits.Mul64(total, uint64(count))
		if hi > 0 || lo > maxDomain {
			return 0
		}
		total = lo
	}
	return total
}

func (f numbers) test(t *Task, d *draft, i, j int, n int64, src *philox.Source) {
	if f.count(t, i, j) == 0 {
		f.random(t, d, src, i, j)
		return
	}
	t.numbered(d, func(operand int) int64 {
		first, count := f.values(t, operand, i, j)
		value := first + n%count
		n /= count
		return value
	})
}

// values is the first number that an operand can be and how many there are; count
// is 0 when that is too many for the permutation.
func (f numbers) values(t *Task, operand, i, j int) (first, count int64) {
	base := int64(t.cfg.Base)
	length := i
	if operand == 1 {
		length = j
	}
	if f.digit && operand == 1 || length == 1 && !t.cfg.Sequence {
		return 0, base
	}
	first = 1
	for range length - 1 {
		if first > math.MaxInt64/base {
			return 0, 0
		}
		first *= base
	}
	if first > math.MaxInt64/base {
		return 0, 0
	}
	return first, first * (base - 1)
}

func (f numbers) longest(t *Task, d *draft, i, j int) {
	d.room(t.kind.arity)
	highest := digits[t.cfg.Base-1]
	for operand := range d.operands {
		n := [...]int{i, j}[operand]
		if f.digit && operand == 1 {
			n = 1
		}
		x := d.operands[operand][:0]
		for place := range n {
			switch {
			case t.kind.name == "parity": // no digit of the answer repeats the one before
				x = append(x, '1')
			case t.kind.name != "subtraction" || operand == 1:
				x = append(x, highest)
			case place == 0: // a small number, so that the difference is long and has a sign
				x = append(x, '1')
			default:
				x = append(x, '0')
			}
		}
		d.operands[operand] = x
	}
}

func (f numbers) parse(t *Task, text string) (string, error) {
	if bad := strings.Trim(text, digits[:t.cfg.Base]); bad != "" {
		return "", fmt.Errorf("%q is no digit of base %d", []rune(bad)[0], t.cfg.Base)
	}
	return trim(text), nil
}
