package task

import (
	"slices"
	"strings"
)

// Encode writes a problem's tokens at a width into a Batch of one.
func (t *Task) Encode(p Problem, width int, b Batch) {
	d := t.draft(p)
	if !t.cfg.Sequence {
		t.encode(b, d, width)
		return
	}
	d.of.mustWrite(d)
	d.lay(b)
}

// encode writes tokens for an encoder-decoder: the source, the decoder's input and
// what it is to say at each row. Numbers are padded with zeros to the width.
func (t *Task) encode(b Batch, d *draft, width int) {
	if t.Sums() {
		width &= widthMask
	}
	at := 0
	put := func(symbol byte) {
		b.Source[at] = t.alphabet.ids[symbol]
		at++
	}
	put(symbolSOS)
	if t.cfg.Interleave {
		put(t.kind.op[0])
		for place := range width {
			for i, x := range d.operands {
				put(t.placed(i, x, width, turned(place, width, t.cfg.ReversedOperands)))
			}
		}
	} else {
		for i, x := range d.operands {
			wide := width
			if i > 0 {
				put(t.kind.op[0])
				if t.single() {
					wide = 1
				}
			}
			for place := range wide {
				put(t.placed(i, x, wide, turned(place, wide, t.cfg.ReversedOperands)))
			}
		}
	}
	put(symbolEOS)

	if t.Sums() && t.cfg.Scratchpad {
		t.partial(b, d, width)
		return
	}
	width -= t.cfg.Pad.Less
	b.Target[0], b.Labels[width] = t.alphabet.ids[symbolSOS], t.EOS()
	if t.cfg.Unended {
		b.Labels[width] = -1
	}
	fill := t.kind.fill
	if fill == 0 {
		fill = d.answer[0]
	}
	for i := range width {
		id := t.alphabet.ids[widened(d.answer, width, turned(i, width, t.reversed()), fill)]
		b.Labels[i], b.Target[i+1] = id, id
	}
}

// reversed reports whether the lowest digit of an answer is written first. The
// answer of a parity without its way there is written last in either order.
func (t *Task) reversed() bool {
	return t.cfg.Reversed && (t.kind.name != "parity" || t.cfg.Scratchpad)
}

// single reports whether the second operand is one digit.
func (t *Task) single() bool { return t.kind.family == numbers{digit: true} }

// placed is the digit of operand i at a place, counted from the left, of numbers
// that are padded to a width. A second operand of one digit stands at every place.
func (t *Task) placed(i int, x []byte, width, place int) byte {
	if i == 1 && t.single() {
		return x[0]
	}
	return widened(x, width, place, '0')
}

// widened is the digit at a place, counted from the left, of a number that is
// filled in front to a width.
func widened(x []byte, width, place int, fill byte) byte {
	if place < width-len(x) {
		return fill
	}
	return x[place-(width-len(x))]
}

// Decode is the answer in tokens that a model wrote to a problem: in ordinary
// order, up to the end, without hints and leading zeros. A token that is no digit
// shows as its symbol.
func (t *Task) Decode(p Problem, reply []int32) string {
	u := t.of(p)
	if end := slices.Index(reply, u.EOS()); end >= 0 {
		reply = reply[:end]
	}
	text := u.join(slices.DeleteFunc(slices.Clone(reply), u.IsHint))
	if u.Sums() || u.products() {
		text = text[strings.LastIndex(text, "+")+1:] // of several sums the last
	}
	switch {
	case u.kind.answer == nil:
		return text
	case u.reversed():
		text = turn(text)
	}
	switch {
	case u.kind.family == vectors{}:
		return text
	case u.kind.fill == 0:
		return trimRepeated(text)
	}
	if number, ok := strings.CutPrefix(text, "-"); ok {
		return "-" + trim(number)
	}
	return trim(text)
}

// join is tokens as text.
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

// Prompt is the number of a sequence's tokens up to and including =: row Prompt-1
// says the first of the answer. It is 0 for an encoder-decoder.
func (t *Task) Prompt(p Problem) int {
	if !t.cfg.Sequence {
		return 0
	}
	d := t.draft(p)
	d.of.mustWrite(d)
	return d.prompt
}

func (t *Task) mustWrite(d *draft) {
	if err := t.write(d); err != nil {
		panic("BUG: a problem without a width is written: " + err.Error())
	}
}
