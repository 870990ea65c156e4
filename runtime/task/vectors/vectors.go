// Package vectors makes the problems of the union of two vectors.
package vectors

import (
	"fmt"
	"strings"

	"github.com/arithlang/mlc/runtime/philox"
	"github.com/arithlang/mlc/runtime/task"
)

// vectors are two rows of bits that begin at the left: the longer all zeros, the shorter with a
// single one (McLeish et al. 2024, arXiv:2405.17399, A.3). Each place of the one is a cell.
type vectors struct{}

// Kind returns the kind of vectors.
func Kind() task.Kind {
	return task.Kind{Name: "or", Op: "+", Arity: 2, Family: vectors{}, Answer: or, Fill: '0', Bits: true, Expects: "two vectors of bits with a + between them", Example: "001+00000"}
}

// or is the union of two vectors that begin at the left.
func or(dst []byte, _ int, x [][]byte) []byte {
	for i := range max(len(x[0]), len(x[1])) {
		bit := byte('0')
		for _, v := range x {
			if i < len(v) && v[i] != '0' {
				bit = '1'
			}
		}
		dst = append(dst, bit)
	}
	return dst
}

func (vectors) Cells(t *task.Task) int64 {
	n := int64(0)
	for i := t.Config().DigitsLo; i <= t.Config().DigitsHi; i++ {
		for j := t.Config().DigitsLo; j <= t.Config().DigitsHi; j++ {
			n += int64(min(i, j))
		}
	}
	return n
}

func (f vectors) Draw(t *task.Task, d *task.Draft, cell int64, src *philox.Source) {
	for i := t.Config().DigitsLo; i <= t.Config().DigitsHi; i++ {
		for j := t.Config().DigitsLo; j <= t.Config().DigitsHi; j++ {
			if n := int64(min(i, j)); cell >= n {
				cell -= n
				continue
			}
			f.make(d, i, j, int(cell), src)
			return
		}
	}
	panic("BUG: a cell beyond the grid")
}

// make draws which vector has the one if both have equal lengths.
func (vectors) make(d *task.Draft, i, j, at int, src *philox.Source) {
	holder := 0
	if j < i || i == j && src.Intn(2) == 1 {
		holder = 1
	}
	d.Room(2)
	for operand, n := range [...]int{i, j} {
		x := d.Operands[operand][:0]
		for range n {
			x = append(x, '0')
		}
		if operand == holder {
			x[at] = '1'
		}
		d.Operands[operand] = x
	}
}

func (vectors) Count(_ *task.Task, i, j int) uint64 { return uint64(min(i, j)) }

func (f vectors) Test(_ *task.Task, d *task.Draft, i, j int, n int64, src *philox.Source) {
	f.make(d, i, j, int(n), src)
}

func (f vectors) Longest(t *task.Task, d *task.Draft, i, j int) {
	f.make(d, i, j, min(i, j)-1, philox.NewSource(t.Seed(), philox.Test, 0, 0))
}

func (vectors) Parse(_ *task.Task, text string) (string, error) {
	if bad := strings.Trim(text, "01"); bad != "" {
		return "", fmt.Errorf("%q is no bit", []rune(bad)[0])
	}
	return text, nil
}

func (vectors) Distinct(c *task.Config, _ int) (all float64) {
	for a := c.DigitsLo; a <= c.DigitsHi; a++ {
		for b := c.DigitsLo; b <= c.DigitsHi; b++ {
			all += float64(min(a, b))
		}
		all += float64(a) // either vector may have the one
	}
	return all
}

// Domain yields all pairs with a single one, at a place that both have.
func (vectors) Domain(t *task.Task, yield func([][]byte) bool) {
	c := t.Config()
	for a := c.DigitsLo; a <= c.DigitsHi; a++ {
		for b := c.DigitsLo; b <= c.DigitsHi; b++ {
			for at := range min(a, b) {
				for holder := range 2 {
					x := [][]byte{[]byte(strings.Repeat("0", a)), []byte(strings.Repeat("0", b))}
					x[holder][at] = '1'
					if len(x[holder]) <= len(x[1-holder]) && !yield(x) {
						return
					}
				}
			}
		}
	}
}

func (f vectors) Chance(t *task.Task, p task.Problem) float64 {
	a, b := len(p.Operands[0]), len(p.Operands[1])
	if min(a, b) < t.Config().DigitsLo || max(a, b) > t.Config().DigitsHi {
		return 0
	}
	chance := 1 / float64(f.Cells(t))
	if a == b {
		chance /= 2
	}
	return chance
}
