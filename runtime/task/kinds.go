package task

import (
	"slices"
	"strings"
)

// A kind is one task: what a problem is made of and what its answer is.
type kind struct {
	name    string
	op      string // between the operands, the first symbol when they are interleaved
	arity   int
	answer  func(dst []byte, base int, x *[maxArity][]byte) []byte // appended to dst, no leading zeros
	expects string                                                 // what solve is to be given
	example string
}

// kinds is the table of tasks.
var kinds = []kind{
	{"successor", "", 1, successor, "a number", "99999"},
	{"addition", "+", 2, addition, "two numbers with a + between them", "123+456"},
}

var one = []byte("1")

func successor(dst []byte, base int, x *[maxArity][]byte) []byte { return add(dst, base, x[0], one) }

func addition(dst []byte, base int, x *[maxArity][]byte) []byte { return add(dst, base, x[0], x[1]) }

// add appends the sum of two numbers, added digit by digit so that they may have
// any length.
func add(dst []byte, base int, a, b []byte) []byte {
	n := max(len(a), len(b)) + 1
	dst = slices.Grow(dst, n)
	sum := dst[len(dst) : len(dst)+n]
	carry := 0
	for place := range n {
		carry += digitAt(a, place) + digitAt(b, place)
		sum[n-1-place] = digits[carry%base]
		carry /= base
	}
	return append(dst, trim(sum)...)
}

// digitAt is the value of a number's digit at a place, 0 being the lowest.
func digitAt(x []byte, place int) int {
	if place >= len(x) {
		return 0
	}
	return strings.IndexByte(digits, x[len(x)-1-place])
}

// trim removes leading zeros.
func trim[T text](x T) T {
	if len(x) == 0 {
		return T("0")
	}
	for len(x) > 1 && x[0] == '0' {
		x = x[1:]
	}
	return x
}

// text is a number or a row of symbols.
type text interface{ string | []byte }
