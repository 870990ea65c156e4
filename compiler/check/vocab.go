package check

// The sizes of vocabularies; package task has the tokens themselves.
const (
	hintLetters   = 102
	vocabSeq2seq  = 17 // end, start, padding, four operators, ten digits; more for larger bases
	vocabSequence = 19 // four specials, ten digits, + - x = and the space
	vocabHints    = 19 + hintLetters
	vocabSort     = 19 + hintLetters - 3 // D : , are among the letters
	marks         = 2                    // start and end, or in a text = and the end
	ownTokens     = 2                    // filler and end, before the tokens of a file, digits first
)

// Vocab is the number of tokens. Those of sequences are McLeish et al. 2024's
// (arXiv:2405.17399, the released code's character tokenizers).
func (t *Task) Vocab() int {
	switch {
	case t.File != nil:
		return ownTokens + len(t.File.Symbols)
	case t.Used && t.Sequence:
		n := t.Base + min(layouts[t.Kind].operands-1, 1) + marks
		if t.Unended {
			n--
		}
		if t.Started {
			n++
		}
		return n
	case t.Used:
		n := t.Base + marks
		if layouts[t.Kind].operands != 1 {
			n++ // the operator
		}
		return n
	case !t.Sequence:
		return vocabSeq2seq + max(t.Base-10, 0)
	case t.Kind == "sort":
		return vocabSort
	case t.Hinted():
		return vocabHints
	}
	return vocabSequence
}

// Said is the number of tokens that answers may have, the first ones.
func (t *Task) Said() int {
	if t.Used && t.Unended {
		return t.Base
	}
	return t.Vocab()
}

// Digits are the first and the last token that is a digit; there is none if last is
// less than first. Beyond base ten some letters are digits, too.
func (t *Task) Digits() (first, last int) {
	switch {
	case t.File != nil:
		return ownTokens, ownTokens + t.File.Digits - 1
	case t.Used:
		return 0, t.Base - 1
	case t.Sequence:
		return 4, 13
	}
	return 5, 14
}

// TableRows is the row n of each token in the expression of a table: a digit has its value,
// and the other tokens count on from there, in order.
func (t *Task) TableRows() []int {
	rows := make([]int, t.Vocab())
	digits, first, last := 0, 0, 0
	number := func(ids ...int) {
		for _, id := range ids {
			rows[id] = digits + 1
			digits++
		}
	}
	for first, last = t.Digits(); first <= last; first++ {
		number(first)
	}
	if !t.Sequence && !t.Used && t.File == nil { // digits beyond 9
		for k := range max(t.Base-10, 0) {
			number(vocabSeq2seq + k)
		}
	}
	next := digits
	for id := range rows {
		if rows[id]--; rows[id] < 0 {
			rows[id] = next
			next++
		}
	}
	return rows
}
