package task

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/arithlang/mlc/runtime/philox"
)

// arrays are lists of numbers, each behind a letter; the letters in the order of
// their numbers are the answer (McLeish et al. 2024, arXiv:2405.17399, section
// 4.3). The letters are those of hints, in a row from a random one on, so that
// some arrays have a comma or a colon for a letter.
type arrays struct{}

func (arrays) cells(t *Task) int64 {
	return int64(t.cfg.DigitsHi-t.cfg.DigitsLo+1) * int64(t.cfg.LengthHi-t.cfg.LengthLo+1)
}

func (f arrays) draw(t *Task, d *draft, cell int64, src *philox.Source) {
	m := int64(t.cfg.LengthHi - t.cfg.LengthLo + 1)
	f.test(t, d, t.cfg.DigitsLo+int(cell/m), t.cfg.LengthLo+int(cell%m), 0, src)
}

// test makes an array of j numbers of 1 to i digits, each length equally likely.
func (arrays) test(t *Task, d *draft, i, j int, _ int64, src *philox.Source) {
	d.room(j)
	d.start = src.Intn(numLetters)
	for k := range d.operands {
		d.operands[k] = t.random(d.operands[k][:0], src, 1+src.Intn(i))
	}
}

func (arrays) count(*Task, int, int) uint64 { return 0 }

func (arrays) longest(t *Task, d *draft, i, j int) {
	d.room(j)
	d.start = 0
	for k := range d.operands {
		x := d.operands[k][:0]
		for range i {
			x = append(x, digits[t.cfg.Base-1-k%(t.cfg.Base-1)])
		}
		d.operands[k] = x
	}
}

// arrange makes the answer: the letters of the numbers in ascending order.
func (t *Task) arrange(d *draft) {
	d.order = d.order[:0]
	for k := range d.operands {
		d.order = append(d.order, k)
	}
	slices.SortStableFunc(d.order, func(a, b int) int { return compare(d.operands[a], d.operands[b]) })
	d.answer = d.answer[:0]
	for n, k := range d.order {
		if n > 0 {
			d.answer = append(d.answer, ',')
		}
		d.answer = utf8.AppendRune(d.answer, t.vocab.letter(d.start+k))
	}
}

// parse takes a number, or a letter, a colon and a number.
func (arrays) parse(t *Task, text string) (string, error) {
	if letter, number, ok := strings.Cut(text, ":"); ok && utf8.RuneCountInString(letter) == 1 {
		text = strings.TrimSpace(number)
	}
	if text == "" || strings.Trim(text, digits[:t.cfg.Base]) != "" {
		return "", fmt.Errorf("%q is no number of base %d", text, t.cfg.Base)
	}
	return trim(text), nil
}
