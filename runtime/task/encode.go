package task

import (
	"slices"
	"strings"
)

// Encode writes a problem's tokens at a width into a Batch of one.
func (t *Task) Encode(p Problem, width int, b Batch) {
	d := t.Draft(p)
	if !t.cfg.Sequence {
		t.encode(b, d, width)
		return
	}
	d.of.mustWrite(d)
	t.sequences.Lay(d, b)
}

// encode writes tokens for an encoder-decoder: the source, the decoder's input and the labels.
// Numbers are padded with zeros to the width.
func (t *Task) encode(b Batch, d *Draft, width int) {
	if t.Sums() {
		width &= widthMask
	}
	at := 0
	put := func(symbol byte) {
		b.Source[at] = t.ids[symbol]
		at++
	}
	put(symbolSOS)
	if t.cfg.Interleave {
		put(t.kind.Op[0])
		for place := range width {
			for i, x := range d.Operands {
				put(t.Placed(i, x, width, Turned(place, width, t.cfg.ReversedOperands)))
			}
		}
	} else {
		for i, x := range d.Operands {
			wide := width
			if i > 0 {
				put(t.kind.Op[0])
				if t.single() {
					wide = 1
				}
			}
			for place := range wide {
				put(t.Placed(i, x, wide, Turned(place, wide, t.cfg.ReversedOperands)))
			}
		}
	}
	put(symbolEOS)

	if f, ok := t.kind.Family.(Speller); ok && t.cfg.Scratchpad {
		t.spell(f, b, d, width)
		return
	}
	width -= t.cfg.Pad.Less
	b.Target[0], b.Labels[width] = t.ids[symbolSOS], t.EOS()
	if t.cfg.Unended {
		b.Labels[width] = -1
	}
	fill := t.kind.Fill
	if fill == 0 {
		fill = d.Answer[0]
	}
	for i := range width {
		id := t.ids[Widened(d.Answer, width, Turned(i, width, t.AnswersReversed()), fill)]
		b.Labels[i], b.Target[i+1] = id, id
	}
}

// spell writes an answer with the steps to it: the decoder's input and the labels.
func (t *Task) spell(f Speller, b Batch, d *Draft, width int) {
	row := 0
	b.Target[0] = t.ids[symbolSOS]
	f.Spell(t, d, width, func(symbol byte) {
		id := t.ids[symbol]
		b.Labels[row] = id
		if row++; row < len(b.Target) {
			b.Target[row] = id
		}
	})
}

// AnswersReversed reports whether the lowest digit of an answer is written first. A parity
// without a scratchpad is written last in either order.
func (t *Task) AnswersReversed() bool {
	return t.cfg.Reversed && (t.kind.Name != "parity" || t.cfg.Scratchpad)
}

// single reports whether the second operand is one digit.
func (t *Task) single() bool { return t.kind.Single() }

// Placed is the digit of operand i at a place, counted from the left, of numbers
// that are padded to a width. A second operand of one digit stands at every place.
func (t *Task) Placed(i int, x []byte, width, place int) byte {
	if i == 1 && t.single() {
		return x[0]
	}
	return Widened(x, width, place, '0')
}

// Widened is the digit at a place, counted from the left, of a number that is
// filled in front to a width.
func Widened(x []byte, width, place int, fill byte) byte {
	if place < width-len(x) {
		return fill
	}
	return x[place-(width-len(x))]
}

// Decode is the answer in tokens that a model wrote to a problem: in ordinary order, up to the
// end, without hints and leading zeros. Tokens other than digits show as symbols.
func (t *Task) Decode(p Problem, reply []int32) string {
	u := t.of(p)
	if end := slices.Index(reply, u.EOS()); end >= 0 {
		reply = reply[:end]
	}
	text := u.join(slices.DeleteFunc(slices.Clone(reply), u.IsHint))
	if u.Sums() || u.Products() {
		text = text[strings.LastIndex(text, "+")+1:] // the last of several sums
	}
	switch {
	case u.kind.Answer == nil:
		return text
	case u.AnswersReversed():
		text = turn(text)
	}
	switch {
	case u.kind.Bits:
		return text
	case u.kind.Fill == 0:
		return trimRepeated(text)
	}
	if number, ok := strings.CutPrefix(text, "-"); ok {
		return "-" + Trim(number)
	}
	return Trim(text)
}

// join returns tokens as text.
func (t *Task) join(reply []int32) string {
	symbols := make([]string, len(reply))
	for i, id := range reply {
		symbols[i] = t.Symbol(id)
	}
	return t.cfg.Tokens.Join(symbols)
}

// turn changes between ordinary order and the order in which answers are written.
func turn(x string) string {
	r := []byte(x)
	slices.Reverse(r)
	return string(r)
}

// Prompt is the number of a sequence's tokens up to and including =: row Prompt-1 predicts the
// first token of the answer. It is 0 for an encoder-decoder.
func (t *Task) Prompt(p Problem) int {
	if !t.cfg.Sequence {
		return 0
	}
	d := t.Draft(p)
	d.of.mustWrite(d)
	return d.Prompt
}

func (t *Task) mustWrite(d *Draft) {
	if err := t.sequences.Write(t, d); err != nil {
		panic("BUG: a problem without a width is written: " + err.Error())
	}
}

// Turned is a place counted from the other end if the order is reversed.
func Turned(place, width int, reversed bool) int {
	if reversed {
		return width - 1 - place
	}
	return place
}

// Products reports whether an answer spells out the sums on the way to a product.
func (t *Task) Products() bool { return t.kind.Name == "multiplication" && t.cfg.Scratchpad }
