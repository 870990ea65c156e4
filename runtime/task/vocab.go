package task

import "strings"

// symbols is the vocabulary: a token is an index into it. The first 17 are those
// of the released code of the attention-bias paper, in ASCII order; digits beyond
// 9 follow for larger bases. Checkpoints depend on the order.
const symbols = "$*+-/0123456789@^abcdefghijklmnopqrstuvwxyz"

const (
	symbolEOS = '$'
	symbolSOS = '^'
)

// EOS is the token that ends an answer.
const EOS = 0

// digits are the symbols of the places of a number, by value.
const digits = "0123456789abcdefghijklmnopqrstuvwxyz"

// VocabSize is the number of tokens that a model of this base distinguishes.
func VocabSize(base int) int {
	if base <= 10 {
		return strings.IndexByte(symbols, 'a')
	}
	return token(digits[base-1]) + 1
}

func token(symbol byte) int { return strings.IndexByte(symbols, symbol) }
