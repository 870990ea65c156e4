// Package sequence writes problems as one text, prompt=answer, for decoder-only models, in the
// format of McLeish et al. 2024 (arXiv:2405.17399).
package sequence

import (
	"math"

	"github.com/arithlang/mlc/runtime/philox"
	"github.com/arithlang/mlc/runtime/task"
)

// Lay writes a sequence into a Batch of one: all tokens except the last, and the next tokens as
// labels where the loss counts. Fillers pad the sequence. A filler is never a label.
func (v *Vocabulary) Lay(d *task.Draft, b task.Batch) {
	first := d.Prompt
	if d.Task().Config().LossOnAll {
		first = 1
	}
	end := len(d.Tokens)
	if d.Task().Config().Unended {
		end--
	}
	for i := range b.T {
		b.Target[i], b.Labels[i] = PadID, -1
		if i < len(d.Tokens) {
			b.Target[i] = d.Tokens[i]
		}
		if next := i + 1; next >= first && next < end && d.Tokens[next] != v.own.Filler {
			b.Labels[i] = d.Tokens[next]
		}
	}
}

// Write makes the tokens of a sequence, prompt=answer and the end, if it has one.
func (v *Vocabulary) Write(t *task.Task, d *task.Draft) error {
	d.Tokens, d.Written = d.Tokens[:0], 0
	if t.Config().Started {
		v.Put(d, symbolSOS)
	}
	if f, ok := t.Kind().Family.(Writer); ok {
		f.Write(v, d)
	} else if err := v.numbers(t, d); err != nil {
		return err
	}
	if !v.Endless {
		d.Tokens = append(d.Tokens, v.own.EOS)
	}
	return nil
}

// numbers writes one or two numbers, the = and an answer that is a number.
func (v *Vocabulary) numbers(t *task.Task, d *task.Draft) (err error) {
	c, reversed, width := t.Config(), t.Config().ReversedOperands, 0
	if c.Pad.To > 0 || c.Interleave {
		if width, err = t.PlacesOf(d); err != nil {
			return err
		}
	}
	if c.Interleave {
		v.Put(d, sign(t.Kind()))
		for place := range width {
			for i, x := range d.Operands {
				v.Put(d, rune(t.Placed(i, x, width, task.Turned(place, width, reversed))))
			}
		}
	} else {
		for i, x := range d.Operands {
			wide := width
			if i > 0 {
				v.Put(d, sign(t.Kind()))
				if t.Kind().Single() {
					wide = 0
				}
			}
			v.number(t, d, x, wide, reversed, '0')
		}
	}
	v.Put(d, '=')
	Asks(d)
	if t.Products() {
		v.products(t, d)
	} else {
		v.number(t, d, d.Answer, width-c.Pad.Less, t.AnswersReversed(), t.Kind().Fill)
	}
	return nil
}

// sign is the symbol between the operands.
func sign(k *task.Kind) rune {
	if k.Op == "*" {
		return 'x'
	}
	return rune(k.Op[0])
}

// A Writer is a Family that writes its problems itself: the prompt, then the answer after Asks.
type Writer interface {
	Write(v *Vocabulary, d *task.Draft)
}

// Put writes a character after its fillers.
func (v *Vocabulary) Put(d *task.Draft, r rune) { Add(d, v.ID(r)) }

// Add writes a token after its fillers.
func Add(d *task.Draft, id int32) {
	if d.Written < len(d.Fillers) {
		for range d.Fillers[d.Written] {
			d.Tokens = append(d.Tokens, PadID)
		}
	}
	d.Written++
	d.Tokens = append(d.Tokens, id)
}

// Asks ends the prompt.
func Asks(d *task.Draft) { d.Prompt, d.Asked = len(d.Tokens), d.Written }

// number writes a number, widened with fill, or with its own first digit if fill is 0. A hint
// stands before each digit. A sign stands next to the highest digit.
func (v *Vocabulary) number(t *task.Task, d *task.Draft, x []byte, width int, reversed bool, fill byte) {
	negative := x[0] == '-'
	if negative {
		x, width = x[1:], width-1
	}
	if fill == 0 {
		fill = x[0]
	}
	width = max(width, len(x))
	if negative && !reversed {
		v.Put(d, '-')
	}
	for i := range width {
		if t.Config().Hinted() {
			v.Put(d, Letter(d.Start+i))
		}
		v.Put(d, rune(task.Widened(x, width, task.Turned(i, width, reversed), fill)))
	}
	if negative && reversed {
		v.Put(d, '-')
	}
}

// products writes a times the lowest digit of b, the lowest two, and so on, with + between
// them. Each is as wide as both factors together, so that no digit reveals the end. Partial
// products are a times a digit of b.
func (v *Vocabulary) products(t *task.Task, d *task.Draft) {
	a, b := d.Operands[0], d.Operands[1]
	write := func(b []byte) { v.number(t, d, task.Mul(nil, t.Config().Base, a, b), len(a)+len(b), true, '0') }
	for n := 1; n <= len(b); n++ {
		low := b[len(b)-n:]
		if n > 1 {
			v.Put(d, '+')
			if t.Config().PartialProducts {
				write(low[:1])
				v.Put(d, '+')
			}
		}
		write(low)
	}
}

// Scatter draws fillers for each character of a draft except the end: one with probability p,
// each further one with a tenth of the probability before (the released code of McLeish et al.
// 2024). Room bounds their number.
func (v *Vocabulary) Scatter(d *task.Draft, src *philox.Source) {
	n, p := len(d.Tokens)-1, d.Task().Config().RandomPad
	left := Room(p, n)
	for range n {
		count := byte(0)
		for q := p; left > 0 && src.Float64() < q; q *= 0.1 {
			count++
			left--
		}
		d.Fillers = append(d.Fillers, count)
	}
}

// Room is the most fillers among n characters, far above the expected number.
func Room(chance float64, n int) int {
	if chance == 0 {
		return 0
	}
	return 8 + int(math.Ceil(2*chance*float64(n)))
}

// Filled is the most rows of a problem that has so many without fillers.
func (v *Vocabulary) Filled(c *task.Config, rows int) int { return rows + Room(c.RandomPad, rows) }

// Hint draws where hints begin: anywhere if they are cyclic, else so that they fit before the
// last letter. As in the released code, cyclic hints begin with the first letter twice as often
// as with any other.
func (v *Vocabulary) Hint(t *task.Task, d *task.Draft, src *philox.Source) {
	if t.Arrays() {
		return // letters of arrays are drawn with the array
	}
	d.Start = 0
	switch t.Config().Hints {
	case "cyclic":
		d.Start = src.Intn(task.NumLetters+1) % task.NumLetters
	case "fixed":
		d.Start = src.Intn(max(task.NumLetters-t.Config().Pad.Width(t.Places(d)), 0) + 1)
	}
}
