// Package sums makes the problems of sums of several numbers.
package sums

import (
	"math/bits"
	"strings"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/philox"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/task/sequence"
)

// sums are several numbers to be added. Their number is drawn once for a batch of training,
// whose problems have one shape; tests choose it. All numbers of a test have equally many
// digits.
type sums struct{ task.Family }

// Kind returns the kind "sum".
func Kind() task.Kind {
	return task.Kind{Name: "sum", Op: "+", Family: sums{task.Numbers()[0].Family}, Answer: sum, Fill: '0', Paired: true, Expects: "two or more numbers with a + between them", Example: "12+34+56"}
}

func (sums) Test(t *task.Task, d *task.Draft, i, j int, _ int64, src *philox.Source) {
	t.DrawOperands(d, src, j, func(int) int { return i })
}

func (sums) Count(*task.Task, int, int) uint64 { return 0 }

func (sums) Longest(t *task.Task, d *task.Draft, i, j int) {
	d.Room(j)
	for n, x := range d.Operands {
		d.Operands[n] = append(x[:0], strings.Repeat(task.Digits[t.Config().Base-1:][:1], i)...)
	}
}

// sum is all numbers together.
func sum(dst []byte, base int, x [][]byte) []byte {
	longest := 0
	for _, n := range x {
		longest = max(longest, len(n))
	}
	return task.Places(dst, base, longest+bits.Len(uint(len(x))), func(place int) int {
		all := 0
		for _, n := range x {
			all += task.DigitAt(n, place)
		}
		return all
	})
}

func (sums) Distinct(c *task.Config, _ int) float64 {
	return sequence.Lists(c.Values(c.DigitsLo), c.OperandsLo, c.OperandsHi)
}

func (sums) Domain(t *task.Task, yield func([][]byte) bool) {
	t.Domain(t.Config().DigitsLo, config.Span{Lo: t.Config().OperandsLo, Hi: t.Config().OperandsHi}, yield)
}

func (f sums) Chance(t *task.Task, p task.Problem) float64 {
	c, n := t.Config(), len(p.Operands)
	if n < c.OperandsLo || n > c.OperandsHi {
		return 0
	}
	return f.Family.Chance(t, p) / float64(c.OperandsHi-c.OperandsLo+1)
}

// Spell writes the partial sums a+b, a+b+c and so on, with the operator between them, and the
// end.
func (sums) Spell(t *task.Task, d *task.Draft, width int, say func(symbol byte)) {
	so := d.Operands[0]
	for n, x := range d.Operands[1:] {
		if n > 0 {
			say('+')
		}
		so = task.Add(nil, t.Config().Base, so, x)
		for i := range width {
			say(task.Widened(so, width, task.Turned(i, width, t.Config().Reversed), '0'))
		}
	}
	say('$')
}
