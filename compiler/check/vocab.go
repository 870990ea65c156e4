package check

import (
	"slices"

	"github.com/arithlang/mlc/runtime/task"
)

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
	case t.Used:
		n := t.Base + marks
		for _, more := range []bool{task.FormOf(t.Kind).Operands != 1, t.Sequence && t.Started} { // an operator, a start
			if more {
				n++
			}
		}
		if t.Sequence && t.Unended {
			n--
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
	var order []int // tokens by row
	for id, last := t.Digits(); id <= last; id++ {
		order = append(order, id)
	}
	if !t.Sequence && !t.Used && t.File == nil { // digits beyond 9
		for k := range t.Base - 10 {
			order = append(order, vocabSeq2seq+k)
		}
	}
	rows := make([]int, t.Vocab())
	for id := range rows {
		if !slices.Contains(order, id) {
			order = append(order, id)
		}
	}
	for row, id := range order {
		rows[id] = row
	}
	return rows
}
