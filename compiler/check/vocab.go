package check

// The sizes of vocabularies; package task has the tokens themselves.
const (
	vocabSeq2seq  = 17           // end, start, padding, four operators, ten digits; more for larger bases
	vocabSequence = 19           // four specials, ten digits, + - x = and the space
	vocabHints    = 19 + 102     // and the letters of index hints
	vocabSort     = 19 + 102 - 3 // D : , are among the letters
)

// Vocab is the number of tokens. Those of sequences are McLeish et al. 2024's
// (arXiv:2405.17399, the released code's character tokenizers).
func (t *Task) Vocab() int {
	switch {
	case !t.Sequence:
		return vocabSeq2seq + max(t.Base-10, 0)
	case t.Kind == "sort":
		return vocabSort
	case t.hinted():
		return vocabHints
	}
	return vocabSequence
}
