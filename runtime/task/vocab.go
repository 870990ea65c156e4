package task

import "strings"

// symbols is the vocabulary of encoder-decoders: a token is an index into it. The
// first 17 are those of the released code of the attention-bias paper, in ASCII
// order; digits beyond 9 follow for larger bases. Checkpoints depend on the order.
const symbols = "$*+-/0123456789@^abcdefghijklmnopqrstuvwxyz"

const (
	symbolEOS = '$'
	symbolSOS = '^'
)

func token(symbol byte) int { return strings.IndexByte(symbols, symbol) }

// letters are what index hints are made of, in this order (McLeish et al. 2024,
// arXiv:2405.17399, the released code): ASCII without the digits and operators,
// then Greek.
const (
	letters    = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwyz!@£#$%^&*()~?.,<>{}[]:;/|βΓΔδεζηθκΛλμΞξΠπΣςτΦφχΨψΩω"
	numLetters = 102
)

// The tokens of sequences that every vocabulary has. Spaces are fillers, so that
// the token of the symbol for a space is never made.
const (
	padID   = 0
	eosID   = 3
	zeroID  = 4 // digits are 4 to 13
	equalID = 17
	spaceID = 18
)

// A vocabulary maps symbols to tokens and back.
type vocabulary struct {
	symbols []rune // by token
	hints   []rune
	ascii   [128]int32
	other   map[rune]int32
}

// newVocabulary is that of a task's sequences: McLeish et al. 2024, the released
// code's character tokenizers for numbers, index hints and sorting.
func newVocabulary(c *Config) *vocabulary {
	const specials, number = " ?^$", "0123456789"
	v := &vocabulary{hints: []rune(letters), other: map[rune]int32{}}
	own, more := "+-x= ", ""
	switch {
	case c.Kind == "sort":
		own, more = "D,:= ", strings.NewReplacer("D", "", ",", "", ":", "").Replace(letters)
	case c.hinted():
		more = letters
	}
	v.symbols = []rune(specials + number + own + more)
	for id, r := range v.symbols {
		switch {
		case id > padID && id < zeroID || id == spaceID: // stands for no symbol of a text
		case r < 128:
			v.ascii[r] = int32(id)
		default:
			v.other[r] = int32(id)
		}
	}
	return v
}

// id is the token of a symbol.
func (v *vocabulary) id(r rune) int32 {
	if r < 128 {
		return v.ascii[r]
	}
	return v.other[r]
}

// letter is number n of the letters, the first behind the last.
func (v *vocabulary) letter(n int) rune { return v.hints[n%numLetters] }

// Vocab is the number of tokens that a model distinguishes.
func (t *Task) Vocab() int {
	switch {
	case t.vocab != nil:
		return len(t.vocab.symbols)
	case t.cfg.Base <= 10:
		return strings.IndexByte(symbols, 'a')
	}
	return token(digits[t.cfg.Base-1]) + 1
}

// EOS is the token that ends an answer.
func (t *Task) EOS() int32 {
	if t.vocab != nil {
		return eosID
	}
	return EOS
}

// EOS is the token that ends the answer of an encoder-decoder.
const EOS = 0

// Symbol shows a token: the end as $, a filler as _, an unknown token as ?.
func (t *Task) Symbol(id int32) string {
	switch {
	case t.vocab == nil:
		return symbols[id : id+1]
	case id == padID:
		return "_"
	}
	return string(t.vocab.symbols[id])
}

// IsHint reports whether a token is a letter before a digit, which no answer is
// judged by.
func (t *Task) IsHint(id int32) bool { return t.cfg.hinted() && id > equalID }

// Runs numbers the digits of each run of digits in a text from 1, and gives other
// tokens 0: the rows of an Abacus table without an offset (McLeish et al. 2024,
// section 3.1).
func Runs(tokens []int32) []int32 {
	rows := make([]int32, len(tokens))
	for i, id := range tokens {
		if id < zeroID || id >= zeroID+10 {
			continue
		}
		rows[i] = 1
		if i > 0 {
			rows[i] += rows[i-1]
		}
	}
	return rows
}
