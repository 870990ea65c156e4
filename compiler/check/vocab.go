package check

import (
	"slices"

	"github.com/arithlang/mlc/compiler/tasks"
)

// The sizes of vocabularies. Package task has the tokens.
const (
	hintLetters   = 102
	vocabSeq2seq  = 17 // end, start, padding, four operators, ten digits; more for larger bases
	vocabSequence = 19 // four specials, ten digits, + - x = and the space
	vocabHints    = 19 + hintLetters
	vocabSort     = 19 + hintLetters - 3 // D : , are among the letters
	marks         = 2                    // start and end, or = and the end in a text
	ownTokens     = 2                    // filler and end, before the tokens of a file, which begin with digits
)

// Vocab returns the number of tokens. Sequences have the tokens of McLeish et al. 2024
// (arXiv:2405.17399, the released code's character tokenizers).
func (t *Task) Vocab() int {
	switch {
	case t.File != nil && t.reads():
		return len(t.File.Symbols)
	case t.File != nil:
		return ownTokens + len(t.File.Symbols)
	case t.Used:
		n := t.Base + marks
		for _, more := range []bool{tasks.FormOf(t.Kind).Arity != 1, t.Sequence && t.Started} { // an operator, a start
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

// Said returns the number of tokens that answers may have. They come first.
func (t *Task) Said() int {
	if t.Used && t.Unended {
		return t.Base
	}
	return t.Vocab()
}

// Digits returns the first and the last token that is a digit. Without digits, last is
// less than first. In a full vocabulary, letters that are digits of bases above ten are
// not included.
func (t *Task) Digits() (first, last int) {
	switch {
	case t.reads():
		return 0, -1
	case t.File != nil:
		return ownTokens, ownTokens + t.File.Digits - 1
	case t.Used:
		return 0, t.Base - 1
	case t.Sequence:
		return 4, 13
	}
	return 5, 14
}

// TableRows returns the row n of each token for the expression of a table. A digit's row
// is its value. The other tokens follow, in order.
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
