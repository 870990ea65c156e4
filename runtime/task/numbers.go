package task

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/philox"
)

// numbers are one or two numbers without leading zeros. Sequences have no number 0; elsewhere 0
// has one digit.
type numbers struct {
	digit bool // the second is a single digit
}

func (f numbers) Cells(t *Task) int64 {
	m := int64(t.cfg.DigitsHi - t.cfg.DigitsLo + 1)
	if f.grid(t) {
		return m * m
	}
	return m
}

// grid reports whether there are two lengths.
func (f numbers) grid(t *Task) bool { return t.kind.Arity == 2 && !f.digit }

func (f numbers) Draw(t *Task, d *Draft, cell int64, src *philox.Source) {
	m := int64(t.cfg.DigitsHi - t.cfg.DigitsLo + 1)
	i, j := cell, int64(0)
	if f.grid(t) {
		i, j = cell/m, cell%m
	}
	f.random(t, d, src, t.cfg.DigitsLo+int(i), t.cfg.DigitsLo+int(j))
}

// random makes a problem of the lengths i and j.
func (f numbers) random(t *Task, d *Draft, src *philox.Source, lengths ...int) {
	t.DrawOperands(d, src, t.kind.Arity, func(operand int) int { return lengths[operand] })
}

// DrawOperands draws the n operands of a problem of numbers. length gives the digits of each.
func (t *Task) DrawOperands(d *Draft, src *philox.Source, n int, length func(operand int) int) {
	if d.carries {
		t.carrying(t, d, src, [2]int{length(0), length(1)})
		return
	}
	d.Room(n)
	for i, x := range d.Operands {
		if i == 1 && t.single() {
			d.Operands[i] = append(x[:0], Digits[src.Intn(t.cfg.Base)])
			continue
		}
		d.Operands[i] = t.Random(x[:0], src, length(i))
	}
}

// Random appends a number of exactly so many digits, each equally likely.
func (t *Task) Random(dst []byte, src *philox.Source, length int) []byte {
	if length == 1 && t.cfg.Sequence {
		return append(dst, Digits[1+src.Intn(t.cfg.Base-1)])
	}
	first := len(dst)
	for range length {
		dst = append(dst, Digits[src.Intn(t.cfg.Base)])
	}
	if length > 1 {
		dst[first] = Digits[1+src.Intn(t.cfg.Base-1)]
	}
	return dst
}

func (f numbers) Count(t *Task, i, j int) uint64 {
	total := uint64(1)
	for operand := range t.kind.Arity {
		_, count := f.values(t, operand, i, j)
		hi, lo := bits.Mul64(total, uint64(count))
		if hi > 0 || lo > maxDomain {
			return 0
		}
		total = lo
	}
	return total
}

func (f numbers) Test(t *Task, d *Draft, i, j int, n int64, src *philox.Source) {
	if f.Count(t, i, j) == 0 {
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

// values returns the smallest number that an operand can be and how many there are; count is 0
// if they are too many for a permutation.
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

func (f numbers) Longest(t *Task, d *Draft, i, j int) {
	d.Room(t.kind.Arity)
	highest := Digits[t.cfg.Base-1]
	for operand := range d.Operands {
		n := [...]int{i, j}[operand]
		if f.digit && operand == 1 {
			n = 1
		}
		x := d.Operands[operand][:0]
		for place := range n {
			switch {
			case t.kind.Name == "parity": // no two adjacent digits of the answer are equal
				x = append(x, '1')
			case t.kind.Name != "subtraction" || operand == 1:
				x = append(x, highest)
			case place == 0: // a small number, so that the difference is long and has a sign
				x = append(x, '1')
			default:
				x = append(x, '0')
			}
		}
		d.Operands[operand] = x
	}
}

func (f numbers) Parse(t *Task, text string) (string, error) {
	if bad := strings.Trim(text, Digits[:t.cfg.Base]); bad != "" {
		return "", fmt.Errorf("%q is no digit of base %d", []rune(bad)[0], t.cfg.Base)
	}
	return Trim(text), nil
}

func (f numbers) Distinct(c *Config, arity int) float64 {
	if f.digit {
		return c.Values(c.DigitsLo) * float64(c.Base)
	}
	return math.Pow(c.Values(c.DigitsLo), float64(arity))
}

func (numbers) Domain(t *Task, yield func([][]byte) bool) {
	t.Domain(t.cfg.DigitsLo, config.Span{Lo: t.kind.Arity, Hi: t.kind.Arity}, yield)
}

func (f numbers) Chance(t *Task, p Problem) float64 {
	chance := 1.0
	for i, x := range p.Operands {
		if i == 1 && f.digit {
			chance /= float64(t.cfg.Base)
		} else {
			chance *= t.cfg.ChanceOf(x, t.cfg.DigitsLo, t.cfg.DigitsHi)
		}
	}
	return chance
}
