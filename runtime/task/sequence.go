package task

import (
	"cmp"
	"slices"

	"github.com/arithlang/mlc/runtime/philox"
)

// sequences lays out the drafts of a batch.
func (d *Drawer) sequences(n int) (Batch, error) {
	d.order = d.order[:0]
	for i := range n {
		if err := d.drafts[i].of.write(&d.drafts[i]); err != nil {
			return Batch{}, err
		}
		d.order = append(d.order, i)
	}
	by := d.task.ByLength()
	for i := range n {
		if x := &d.drafts[i]; by {
			x.recurrences = x.of.cfg.Recurrences.Of(x.length())
		}
	}
	if by || !d.task.cfg.Padded {
		d.sort(n)
	}
	b := &d.batch
	b.Recurrences = b.Recurrences[:0]
	for _, i := range d.order {
		if by {
			b.Recurrences = append(b.Recurrences, d.drafts[i].recurrences)
		}
	}
	b.B, b.T, b.Rows = n, 0, 0
	p := &b.Parts
	p.Size, p.Rows, p.Starts = d.part, p.Rows[:0], p.Starts[:0]
	switch {
	case d.packed:
		p.Size = 1
	case p.Size <= 0:
		p.Size = n
	}
	for lo := 0; lo < n; lo += p.Size {
		hi := min(lo+p.Size, n)
		p.Rows = append(p.Rows, d.longest(lo, hi))
		b.Rows += (hi - lo) * p.Rows[len(p.Rows)-1]
	}
	if d.launch > 0 && !d.packed {
		d.join(p)
	}
	total := 0
	for k, rows := range p.Rows {
		p.Starts = append(p.Starts, total)
		b.T = max(b.T, rows)
		total += (min((k+1)*p.Size, n) - k*p.Size) * rows
	}
	b.Target, b.Labels = resize(b.Target, total), resize(b.Labels, total)
	if d.packed {
		b.say(total, max(d.part, d.launch))
	}
	for row, i := range d.order {
		d.drafts[i].lay(b.Slice(row, row+1))
	}
	return *b, nil
}

// say says where rows are of the parts of a packed batch, which have so many, in launches of
// up to so many examples.
func (b *Batch) say(rows, launch int) {
	k, p := &b.Packing, &b.Parts
	k.Example, k.Start, k.Length = resize(k.Example, rows), k.Start[:0], k.Length[:0]
	first, end := 0, 0
	for i, n := range p.Rows {
		if i >= end {
			first, end = i, b.Launch(i, launch)
		}
		k.Start, k.Length = append(k.Start, int32(p.Starts[i]-p.Starts[first])), append(k.Length, int32(n))
		for r := range n {
			k.Example[p.Starts[i]+r] = int32(i - first)
		}
	}
}

// longest is the rows of the longest of drafts lo … hi-1 in their order.
func (d *Drawer) longest(lo, hi int) int {
	rows := d.rows
	for _, i := range d.order[lo:hi] {
		rows = max(rows, len(d.drafts[i].tokens)-1)
	}
	return rows
}

// join makes launches of parts.
func (d *Drawer) join(p *Parts) {
	n := 0
	for parts := range slices.Chunk(p.Rows, d.launch/p.Size) {
		p.Rows[n] = slices.Max(parts)
		n++
	}
	p.Size, p.Rows = d.launch, p.Rows[:n]
	for k := range min(d.every, n) {
		most := 0
		for j := k; j < n; j += d.every {
			most = max(most, p.Rows[j])
		}
		for j := k; j < n; j += d.every {
			p.Rows[j] = most
		}
	}
}

// sort puts the longest of each group first, of a loop by length those with the most
// recurrences: then a worker's memory grows but once, and what is left for the end is
// short. It moves no example to another group, so what a group draws has nothing to do
// with lengths.
func (d *Drawer) sort(n int) {
	group := d.group
	if group <= 0 {
		group = n
	}
	for some := range slices.Chunk(d.order, max(group, 1)) {
		slices.SortStableFunc(some, func(a, b int) int {
			x, y := &d.drafts[b], &d.drafts[a]
			return cmp.Or(cmp.Compare(x.recurrences, y.recurrences), cmp.Compare(len(x.tokens), len(y.tokens)))
		})
	}
}

// lay writes a sequence into a Batch of one: all tokens but the last, and all but
// the first as labels where the loss counts. Fillers are behind it, and in it
// never labels.
func (d *draft) lay(b Batch) {
	first := d.prompt
	if d.of.cfg.LossOnAll {
		first = 1
	}
	end := len(d.tokens)
	if d.of.cfg.Unended {
		end--
	}
	for i := range b.T {
		b.Target[i], b.Labels[i] = padID, -1
		if i < len(d.tokens) {
			b.Target[i] = d.tokens[i]
		}
		if next := i + 1; next >= first && next < end && d.tokens[next] != d.of.vocab.filler {
			b.Labels[i] = d.tokens[next]
		}
	}
}

// write makes the tokens of a sequence, prompt=answer and the end.
func (t *Task) write(d *draft) error {
	p := pen{draft: d, vocab: t.vocab}
	d.tokens = d.tokens[:0]
	if t.cfg.Started {
		p.put(symbolSOS)
	}
	if f, ok := t.kind.family.(*lines); ok {
		p.line(f)
		return nil
	}
	if t.Arrays() {
		p.entries()
	} else if err := t.writeNumbers(&p); err != nil {
		return err
	}
	p.put('=')
	d.prompt, d.asked = len(d.tokens), p.written
	switch {
	case t.Arrays():
		p.symbols(d.answer)
	case t.products():
		p.products(t)
	default:
		p.number(t, d.answer, p.width-t.cfg.Pad.Less, t.reversed(), t.kind.fill)
	}
	d.tokens = append(d.tokens, t.vocab.eos)
	return nil
}

// line writes a line of a file, with fillers for an answer that is not known.
func (p *pen) line(f *lines) {
	p.cut(p.operands[0])
	for _, id := range f.between {
		p.add(id)
	}
	p.prompt, p.asked = len(p.tokens), p.written
	p.cut(p.answer)
	if len(p.answer) == 0 {
		for range f.room(p.prompt) {
			p.tokens = append(p.tokens, padID)
		}
	}
	p.tokens = append(p.tokens, p.vocab.eos)
}

// writeNumbers writes what is before the =.
func (t *Task) writeNumbers(p *pen) (err error) {
	d := p.draft
	if t.cfg.Pad.To > 0 || t.cfg.Interleave {
		if p.width, err = t.width(d); err != nil {
			return err
		}
	}
	if t.cfg.Interleave {
		p.put(t.sign())
		for place := range p.width {
			for i, x := range d.operands {
				p.put(rune(t.placed(i, x, p.width, turned(place, p.width, t.cfg.ReversedOperands))))
			}
		}
		return nil
	}
	for i, x := range d.operands {
		width := p.width
		if i > 0 {
			p.put(t.sign())
			if t.single() {
				width = 0
			}
		}
		p.number(t, x, width, t.cfg.ReversedOperands, '0')
	}
	return nil
}

// sign is the symbol between the operands of a sequence.
func (t *Task) sign() rune {
	if t.kind.op == "*" {
		return 'x'
	}
	return rune(t.kind.op[0])
}

// A pen writes a sequence, character by character, or token by token of a file.
type pen struct {
	*draft
	vocab   *vocabulary
	width   int // of the numbers; 0: as wide as needed
	written int // characters
}

// put writes a character, behind its fillers.
func (p *pen) put(r rune) { p.add(p.vocab.id(r)) }

// cut writes the tokens of a text of a file.
func (p *pen) cut(text []byte) {
	for len(text) > 0 {
		var token []byte
		token, text = p.of.cfg.Tokens.Next(text)
		p.add(p.vocab.idOf(token))
	}
}

// add writes a token, behind its fillers.
func (p *pen) add(id int32) {
	if p.written < len(p.fillers) {
		for range p.fillers[p.written] {
			p.tokens = append(p.tokens, padID)
		}
	}
	p.written++
	p.tokens = append(p.tokens, id)
}

func (p *pen) symbols(text []byte) {
	for _, r := range string(text) {
		p.put(r)
	}
}

// number writes a number, widened with zeros, or with what it begins with if fill
// is 0, and with a hint before each digit. A sign is at the end of the highest
// digit.
func (p *pen) number(t *Task, x []byte, width int, reversed bool, fill byte) {
	negative := x[0] == '-'
	if negative {
		x, width = x[1:], width-1
	}
	if fill == 0 {
		fill = x[0]
	}
	width = max(width, len(x))
	if negative && !reversed {
		p.put('-')
	}
	for i := range width {
		if t.cfg.hinted() {
			p.put(p.vocab.letter(p.start + i))
		}
		p.put(rune(widened(x, width, turned(i, width, reversed), fill)))
	}
	if negative && reversed {
		p.put('-')
	}
}

// turned is a place counted from the other end if the order is reversed.
func turned(place, width int, reversed bool) int {
	if reversed {
		return width - 1 - place
	}
	return place
}

// entries writes the numbers of an array, each behind its letter.
func (p *pen) entries() {
	for k, x := range p.operands {
		if k > 0 {
			p.put(',')
		}
		p.put(p.vocab.letter(p.start + k))
		p.put(':')
		for i := range x {
			p.put(rune(x[turned(i, len(x), p.of.cfg.ReversedOperands)]))
		}
	}
}

// scatter draws fillers for each character of a text but the end: one with the
// chance p, each further one with a tenth of the chance of the one before (the
// released code of McLeish et al. 2024). There are never more than fillerRoom.
func (t *Task) scatter(d *draft, src *philox.Source) {
	t.mustWrite(d)
	n := len(d.tokens) - 1
	left := t.cfg.fillerRoom(n)
	for range n {
		count := byte(0)
		for q := t.cfg.RandomPad; left > 0 && src.Float64() < q; q *= 0.1 {
			count++
			left--
		}
		d.fillers = append(d.fillers, count)
	}
}

// hint draws where hints begin: anywhere if they are cyclic, else so that they end
// with the last letter at the latest. The released code draws the first letter of
// the cyclic ones twice as often as others.
func (t *Task) hint(d *draft, src *philox.Source) {
	if t.Arrays() {
		return // letters of arrays are drawn with the array
	}
	d.start = 0
	switch t.cfg.Hints {
	case "cyclic":
		d.start = src.Intn(numLetters+1) % numLetters
	case "fixed":
		d.start = src.Intn(max(numLetters-t.cfg.Pad.Width(t.places(d)), 0) + 1)
	}
}
