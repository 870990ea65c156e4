package task

import (
	"fmt"
	"strings"

	"github.com/arithlang/mlc/runtime/philox"
)

// vectors are two rows of bits that begin at the left: the longer all zeros, the
// shorter with a single one (McLeish et al. 2024, arXiv:2405.17399, A.3). Each
// place of the one is a cell: training walks them all.
type vectors struct{}

func (vectors) cells(t *Task) int64 {
	n := int64(0)
	for i := t.cfg.DigitsLo; i <= t.cfg.DigitsHi; i++ {
		for j := t.cfg.DigitsLo; j <= t.cfg.DigitsHi; j++ {
			n += int64(min(i, j))
		}
	}
	return n
}

func (f vectors) draw(t *Task, d *draft, cell int64, src *philox.Source) {
	for i := t.cfg.DigitsLo; i <= t.cfg.DigitsHi; i++ {
		for j := t.cfg.DigitsLo; j <= t.cfg.DigitsHi; j++ {
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

// make draws the vector that has the one when both are of a length.
func (vectors) make(d *draft, i, j, at int, src *philox.Source) {
	holder := 0
	if j < i || i == j && src.Intn(2) == 1 {
		holder = 1
	}
	d.room(2)
	for operand, n := range [...]int{i, j} {
		x := d.operands[operand][:0]
		for range n {
			x = append(x, '0')
		}
		if operand == holder {
			x[at] = '1'
		}
		d.operands[operand] = x
	}
}

func (vectors) count(_ *Task, i, j int) uint64 { return uint64(min(i, j)) }

func (f vectors) test(_ *Task, d *draft, i, j int, n int64, src *philox.Source) {
	f.make(d, i, j, int(n), src)
}

func (f vectors) longest(t *Task, d *draft, i, j int) {
	f.make(d, i, j, min(i, j)-1, philox.NewSource(t.seed, philox.Test, 0, 0))
}

func (vectors) parse(_ *Task, text string) (string, error) {
	if bad := strings.Trim(text, "01"); bad != "" {
		return "", fmt.Errorf("%q is no bit", []rune(bad)[0])
	}
	return text, nil
}
