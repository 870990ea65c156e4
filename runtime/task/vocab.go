package task

import (
	"math"
	"strings"
)

// A Vocabulary is the tokens of a model: a token is an index into its symbols.
type Vocabulary struct {
	Symbols []string
	EOS     int32
	Filler  int32  // -1: no filler
	Hint    int32  // the first letter of hints; NoHint: no hints
	Digits  []bool // which of the first symbols are digits
}

// symbols is the whole vocabulary of encoder-decoders. The released code of the attention-bias
// paper has the first 17, in ASCII order; digits beyond 9 follow for larger bases. Checkpoints
// depend on the order.
const symbols = "$*+-/0123456789@^abcdefghijklmnopqrstuvwxyz"

const (
	symbolEOS = '$'
	symbolSOS = '^'
)

// NoHint is the Hint of a Vocabulary without hints.
const NoHint = math.MaxInt32

// alphabet returns all symbols up to the last digit of the base. If the Config says Used, it
// returns the symbols of its problems: the digits by value, the operator, and the marks.
func alphabet(c *Config, op string) *Vocabulary {
	all := symbols[:strings.IndexByte(symbols, 'a')]
	switch {
	case c.Used:
		all = Digits[:c.Base] + op + string(symbolSOS) + string(symbolEOS)
	case c.Base > 10:
		all = symbols[:strings.IndexByte(symbols, Digits[c.Base-1])+1]
	}
	v := &Vocabulary{Symbols: strings.Split(all, ""), EOS: int32(strings.IndexByte(all, symbolEOS)), Filler: -1, Hint: NoHint}
	for _, symbol := range v.Symbols {
		v.Digits = append(v.Digits, strings.Contains(Digits[:c.Base], symbol))
	}
	return v
}

// NumLetters is how many letters there are for hints and for the entries of arrays.
const NumLetters = 102

// Vocab is the number of tokens of a model.
func (t *Task) Vocab() int { return len(t.vocab.Symbols) }

// Vocabulary returns the tokens as Symbol shows them, in order.
func (t *Task) Vocabulary() []string {
	all := make([]string, t.Vocab())
	for id := range all {
		all[id] = t.Symbol(int32(id))
	}
	return all
}

// EOS is the token that ends an answer.
func (t *Task) EOS() int32 { return t.vocab.EOS }

// Symbol shows a token: the end as $, a filler as _, an unknown token as ?.
func (t *Task) Symbol(id int32) string {
	switch {
	case id == t.vocab.Filler:
		return "_"
	case int(id) == len(t.vocab.Symbols): // the end, if the vocabulary lacks one
		return "$"
	}
	return t.vocab.Symbols[id]
}

// IsHint reports whether a token is a hint's letter. Hints do not count in answers.
func (t *Task) IsHint(id int32) bool { return id >= t.vocab.Hint }

// Runs numbers the digits of each run of digits in a text from 1, and gives other
// tokens 0: the rows of an Abacus table without an offset (McLeish et al. 2024,
// section 3.1).
func (t *Task) Runs(tokens []int32) []int32 {
	rows := make([]int32, len(tokens))
	for i, id := range tokens {
		if int(id) >= len(t.vocab.Digits) || !t.vocab.Digits[id] {
			continue
		}
		rows[i] = 1
		if i > 0 {
			rows[i] += rows[i-1]
		}
	}
	return rows
}
