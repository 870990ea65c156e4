// Package arrays makes the problems of sorting.
package arrays

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/philox"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/task/sequence"
)

// arrays are lists of numbers, each after a letter. The answer is the letters in the order of
// their numbers (McLeish et al. 2024, arXiv:2405.17399, section 4.3). The letters are
// consecutive letters of hints from a random one on, so some arrays have a comma or a colon as
// a letter.
type arrays struct{}

// Kind returns the kind "sort".
func Kind() task.Kind {
	return task.Kind{Name: "sort", Op: ",", Family: arrays{}, Fill: '0', Expects: "numbers with commas between them", Example: "75946,36999,81201"}
}

func (arrays) Cells(t *task.Task) int64 {
	return int64(t.Config().DigitsHi-t.Config().DigitsLo+1) * int64(t.Config().LengthHi-t.Config().LengthLo+1)
}

func (f arrays) Draw(t *task.Task, d *task.Draft, cell int64, src *philox.Source) {
	m := int64(t.Config().LengthHi - t.Config().LengthLo + 1)
	f.Test(t, d, t.Config().DigitsLo+int(cell/m), t.Config().LengthLo+int(cell%m), 0, src)
}

// test makes an array of j numbers of 1 to i digits, each length equally likely.
func (arrays) Test(t *task.Task, d *task.Draft, i, j int, _ int64, src *philox.Source) {
	d.Room(j)
	d.Start = src.Intn(task.NumLetters)
	for k := range d.Operands {
		d.Operands[k] = t.Random(d.Operands[k][:0], src, 1+src.Intn(i))
	}
}

func (arrays) Count(*task.Task, int, int) uint64 { return 0 }

func (arrays) Longest(t *task.Task, d *task.Draft, i, j int) {
	d.Room(j)
	d.Start = 0
	for k := range d.Operands {
		x := d.Operands[k][:0]
		for range i {
			x = append(x, task.Digits[t.Config().Base-1-k%(t.Config().Base-1)])
		}
		d.Operands[k] = x
	}
}

// Solve makes the answer: the letters of the numbers in ascending order.
func (arrays) Solve(_ *task.Task, d *task.Draft) {
	d.Order = d.Order[:0]
	for k := range d.Operands {
		d.Order = append(d.Order, k)
	}
	slices.SortStableFunc(d.Order, func(a, b int) int { return task.Compare(d.Operands[a], d.Operands[b]) })
	d.Answer = d.Answer[:0]
	for n, k := range d.Order {
		if n > 0 {
			d.Answer = append(d.Answer, ',')
		}
		d.Answer = utf8.AppendRune(d.Answer, sequence.Letter(d.Start+k))
	}
}

// parse takes a number, or a letter, a colon and a number.
func (arrays) Parse(t *task.Task, text string) (string, error) {
	if letter, number, ok := strings.Cut(text, ":"); ok && utf8.RuneCountInString(letter) == 1 {
		text = strings.TrimSpace(number)
	}
	if text == "" || strings.Trim(text, task.Digits[:t.Config().Base]) != "" {
		return "", fmt.Errorf("%q is no number of base %d", text, t.Config().Base)
	}
	return task.Trim(text), nil
}

func (arrays) Distinct(c *task.Config, _ int) float64 {
	return sequence.Lists(c.Values(1), c.LengthLo, c.LengthHi)
}

func (arrays) Domain(t *task.Task, yield func([][]byte) bool) {
	t.Domain(1, config.Span{Lo: t.Config().LengthLo, Hi: t.Config().LengthHi}, yield)
}

func (arrays) Chance(t *task.Task, p task.Problem) float64 {
	c := t.Config()
	if n := len(p.Operands); n < c.LengthLo || n > c.LengthHi {
		return 0
	}
	all := 0.0
	for most := c.DigitsLo; most <= c.DigitsHi; most++ {
		of := 1.0
		for _, x := range p.Operands {
			of *= c.ChanceOf(x, 1, most)
		}
		all += of
	}
	return all / float64(c.DigitsHi-c.DigitsLo+1) / float64(c.LengthHi-c.LengthLo+1)
}

// Write writes the numbers, each behind its letter, and the answer.
func (arrays) Write(v *sequence.Vocabulary, d *task.Draft) {
	reversed := d.Task().Config().ReversedOperands
	for k, x := range d.Operands {
		if k > 0 {
			v.Put(d, ',')
		}
		v.Put(d, sequence.Letter(d.Start+k))
		v.Put(d, ':')
		for i := range x {
			v.Put(d, rune(x[task.Turned(i, len(x), reversed)]))
		}
	}
	v.Put(d, '=')
	sequence.Asks(d)
	for _, r := range string(d.Answer) {
		v.Put(d, r)
	}
}
