package task

import "github.com/arithlang/mlc/runtime/philox"

// A Kind describes the problems of one task and their answers.
type Kind struct {
	Name    string
	Op      string // between the operands, the first symbol when they are interleaved
	Arity   int    // number of operands; 0: any
	Family  Family
	Answer  func(dst []byte, base int, x [][]byte) []byte // appends to dst, in ordinary order; nil: the answer is no number
	Fill    byte                                          // pads an answer: '0', or 0 for its own first digit
	Paired  bool                                          // encoder-decoders have it
	Bits    bool                                          // operands and answers are rows of bits; a cell of the grid has one problem or two
	Expects string                                        // the text that solve accepts, in words
	Example string
}

// Single reports whether the second operand is one digit.
func (k *Kind) Single() bool { return k.Family == numbers{digit: true} }

// Commutes reports whether operands may change places.
func (k *Kind) Commutes() bool { return k.Name == "addition" || k.Name == "multiplication" }

// Numbers returns the tasks whose operands are one or two numbers. Each other task has its own
// package.
func Numbers() []Kind {
	return []Kind{
		{"successor", "", 1, numbers{}, successor, '0', true, false, "a number", "99999"},
		{"addition", "+", 2, numbers{}, addition, '0', true, false, "two numbers with a + between them", "123+456"},
		{"subtraction", "-", 2, numbers{}, subtraction, '0', false, false, "two numbers with a - between them", "123-456"},
		{"multiplication", "*", 2, numbers{}, multiplication, '0', false, false, "two numbers with a * between them", "12*34"},
		{"nx1", "*", 2, numbers{digit: true}, multiplication, '0', true, false, "a number and a digit with a * between them", "123*4"},
		{"parity", "", 1, numbers{}, runningParity, 0, true, false, "a number", "1011"},
		{"copy", "", 1, numbers{}, again, '0', true, false, "a number", "12345"},
	}
}

// A Family draws the problems of a kind for training and for tests.
type Family interface {
	// Cells is the number of cells of the grid that training walks.
	Cells(t *Task) int64
	// Draw makes a problem of a cell.
	Draw(t *Task, d *Draft, cell int64, src *philox.Source)
	// Test makes the problem of the lengths i and j with number n, if Count numbers them.
	Test(t *Task, d *Draft, i, j int, n int64, src *philox.Source)
	// Count is the number of problems of the lengths i and j; 0: too many to number.
	Count(t *Task, i, j int) uint64
	// Longest makes the problem of the lengths i and j that has most characters.
	Longest(t *Task, d *Draft, i, j int)
	// Parse checks the text of an operand, and gives it in the form of a draft.
	Parse(t *Task, text string) (string, error)
	// Distinct is the number of different problems that training and held-out problems are
	// drawn from.
	Distinct(c *Config, arity int) float64
	// Domain yields the operands of all problems, until yield returns false. It suits tasks
	// with few problems.
	Domain(t *Task, yield func([][]byte) bool)
	// Chance is the probability that a training example is p, without a hold-out.
	Chance(t *Task, p Problem) float64
}

// A Solver is a Family that computes answers itself.
type Solver interface{ Solve(t *Task, d *Draft) }

// A Speller is a Family whose answers an encoder-decoder may write with the steps to them.
type Speller interface {
	Spell(t *Task, d *Draft, width int, say func(symbol byte))
}

// A Listing is a Family of problems that a file lists.
type Listing interface {
	// Read returns the Family of the task's file, how many problems are drawn from, and how
	// many of these are trained on.
	Read(t *Task) (f Listing, all, trained int, err error)
	Family
	// Extent is the longest prompt that is trained on, in tokens.
	Extent(t *Task) int
	// Lengths are the lengths in tokens of the prompts that can be tested, in ascending order.
	Lengths() []int
	// ParseLine reads a prompt, or a prompt with its answer.
	ParseLine(t *Task, text string) (Problem, error)
}

var one = []byte("1")

func successor(dst []byte, base int, x [][]byte) []byte { return Add(dst, base, x[0], one) }

func addition(dst []byte, base int, x [][]byte) []byte { return Add(dst, base, x[0], x[1]) }

func subtraction(dst []byte, base int, x [][]byte) []byte {
	if Compare(x[0], x[1]) < 0 {
		return sub(append(dst, '-'), base, x[1], x[0])
	}
	return sub(dst, base, x[0], x[1])
}

func multiplication(dst []byte, base int, x [][]byte) []byte { return Mul(dst, base, x[0], x[1]) }

// runningParity has at place n the parity of the lowest n digits, without leading repeats of
// the parity of all: y_1 = x_1, y_i = y_{i-1} + x_i modulo 2 (Duan and Shi 2023,
// arXiv:2310.11984v3, section 3.3).
func runningParity(dst []byte, _ int, x [][]byte) []byte {
	first := len(dst)
	dst = append(dst, x[0]...)
	y := byte(0)
	for i := len(dst) - 1; i >= first; i-- {
		y ^= digit(dst[i]) & 1
		dst[i] = Digits[y]
	}
	return append(dst[:first], trimRepeated(dst[first:])...)
}

// parity is the parity of all digits.
func parity(dst []byte, base int, x [][]byte) []byte {
	return runningParity(dst, base, x)[:len(dst)+1]
}

// again is the number itself.
func again(dst []byte, _ int, x [][]byte) []byte { return append(dst, x[0]...) }

// All returns the kinds of a Kit.
func (w Kit) All() []Kind { return append(Numbers(), w.Kinds...) }

// KindOf returns the kind of a Config; not ok: unknown, or a mix.
func (w Kit) KindOf(c *Config) (Kind, bool) {
	for _, k := range w.All() {
		if k.Name != c.Kind {
			continue
		}
		if k.Name == "parity" && !c.Scratchpad {
			k.Answer, k.Fill = parity, '0'
		}
		return k, true
	}
	return Kind{}, false
}
