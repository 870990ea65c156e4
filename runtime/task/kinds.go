package task

import (
	"strings"

	"github.com/arithlang/mlc/runtime/philox"
)

// A kind is one task: what a problem is made of and what its answer is.
type kind struct {
	name    string
	op      string // between the operands, the first symbol when they are interleaved
	arity   int    // operands; 0: any number
	family  family
	answer  func(dst []byte, base int, x [][]byte) []byte // appended to dst, in ordinary order; nil: no number
	fill    byte                                          // what widens an answer: '0', or 0 for its own first digit
	seq2seq bool                                          // encoder-decoders have it
	expects string                                        // what solve is to be given
	example string
}

// kinds is the table of tasks.
func kinds() []kind {
	return []kind{
		{"successor", "", 1, numbers{}, successor, '0', true, "a number", "99999"},
		{"addition", "+", 2, numbers{}, addition, '0', true, "two numbers with a + between them", "123+456"},
		{"subtraction", "-", 2, numbers{}, subtraction, '0', false, "two numbers with a - between them", "123-456"},
		{"multiplication", "*", 2, numbers{}, multiplication, '0', false, "two numbers with a * between them", "12*34"},
		{"nx1", "*", 2, numbers{digit: true}, multiplication, '0', true, "a number and a digit with a * between them", "123*4"},
		{"parity", "", 1, numbers{}, runningParity, 0, true, "a number", "1011"},
		{"copy", "", 1, numbers{}, again, '0', true, "a number", "12345"},
		{"or", "+", 2, vectors{}, or, '0', false, "two vectors of bits with a + between them", "001+00000"},
		{"sum", "+", 0, sums{}, sum, '0', true, "two or more numbers with a + between them", "12+34+56"},
		{"sort", ",", 0, arrays{}, nil, '0', false, "numbers with commas between them", "75946,36999,81201"},
		{ofFile, "", 1, &lines{}, nil, '0', false, "a prompt as the file has them", ""},
	}
}

// A family is how the problems of a kind are drawn, and what of them can be tested:
// numbers, vectors, arrays, or what a file lists.
type family interface {
	// cells is the number of cells of the grid that training walks.
	cells(t *Task) int64
	// draw makes a problem of a cell.
	draw(t *Task, d *draft, cell int64, src *philox.Source)
	// test makes problem k of the lengths i and j that is number n of all that there
	// are, if those can be numbered.
	test(t *Task, d *draft, i, j int, n int64, src *philox.Source)
	// count is the number of problems of the lengths i and j; 0: too many to number.
	count(t *Task, i, j int) uint64
	// longest makes the problem of the lengths i and j that takes most characters.
	longest(t *Task, d *draft, i, j int)
	// parse checks the text of an operand, and gives it in the form of a draft.
	parse(t *Task, text string) (string, error)
}

var one = []byte("1")

func successor(dst []byte, base int, x [][]byte) []byte { return add(dst, base, x[0], one) }

func addition(dst []byte, base int, x [][]byte) []byte { return add(dst, base, x[0], x[1]) }

func subtraction(dst []byte, base int, x [][]byte) []byte {
	if compare(x[0], x[1]) < 0 {
		return sub(append(dst, '-'), base, x[1], x[0])
	}
	return sub(dst, base, x[0], x[1])
}

func multiplication(dst []byte, base int, x [][]byte) []byte { return mul(dst, base, x[0], x[1]) }

// runningParity is the parity of the lowest n digits at place n, without what only
// repeats the parity of all: y_1 = x_1, y_i = y_{i-1} + x_i modulo 2 (Duan and Shi
// 2023, arXiv:2310.11984v3, section 3.3).
func runningParity(dst []byte, _ int, x [][]byte) []byte {
	first := len(dst)
	dst = append(dst, x[0]...)
	y := byte(0)
	for i := len(dst) - 1; i >= first; i-- {
		y ^= digit(dst[i]) & 1
		dst[i] = digits[y]
	}
	return append(dst[:first], trimRepeated(dst[first:])...)
}

// parity is the last of them alone.
func parity(dst []byte, base int, x [][]byte) []byte {
	return runningParity(dst, base, x)[:len(dst)+1]
}

// again is the number itself.
func again(dst []byte, _ int, x [][]byte) []byte { return append(dst, x[0]...) }

// or is the union of two vectors that begin at the left.
func or(dst []byte, _ int, x [][]byte) []byte {
	for i := range max(len(x[0]), len(x[1])) {
		bit := byte('0')
		for _, v := range x {
			if i < len(v) && v[i] != '0' {
				bit = '1'
			}
		}
		dst = append(dst, bit)
	}
	return dst
}

// kindOf is the row of a Config.
func kindOf(c *Config) (kind, bool) {
	for _, k := range kinds() {
		if k.name != c.Kind {
			continue
		}
		if k.name == "parity" && !c.Scratchpad {
			k.answer, k.fill = parity, '0'
		}
		return k, true
	}
	return kind{}, false
}

func kindNames() string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return strings.Join(names, ", ") + ", mixed"
}
