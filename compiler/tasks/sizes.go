package tasks

import (
	"slices"
	"strings"

	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/task/sequence"
)

// A Size is how long a problem is as a model reads it: the tokens of its source, and the
// rows of its target. A sequence has no source.
type Size struct{ Source, Target int }

func sizeOf(source, target int) Size { return Size{source, target} }

// FormOf is what the problems of a kind are made of; the zero Kind of a mix.
func FormOf(kind string) *task.Kind {
	k, _ := KindOf(&task.Config{Kind: kind})
	return &k
}

// Answers bounds the places of the answers to operands of a and b digits, whatever those
// are. A sign takes a place. Of problems that are no numbers, and of sums, it says nothing.
func (c Config) Answers(a, b int) (least, most int, ok bool) {
	both := max(a, b)
	switch c.Kind {
	case "successor":
		return a, a + 1, true
	case "addition":
		return both, both + 1, true
	case "subtraction":
		switch {
		case a > b:
			return 1, a, true
		case a == b && c.Base == 2: // 1…1 and 10…0 are half as large apart
			return 1, a, true
		case a == b:
			return 1, b + 1, true
		}
		return 2, b + 1, true
	case "multiplication":
		least = 1 // of a 0
		if c.Sequence && c.Below == 0 {
			least = a + b - 1
		}
		if c.Base == 2 && min(a, b) == 1 {
			return least, both, true
		}
		return least, a + b, true
	case "nx1":
		if c.Base == 2 {
			return 1, a, true
		}
		return 1, a + 1, true
	case "or":
		return both, both, true
	case "parity":
		if c.Scratchpad {
			return 1, a, true
		}
		return 1, 1, true
	case "copy":
		return a, a, true
	}
	return 0, 0, false
}

// trainedAnswers is Answers of the problems of training: with Below, there are fewer
// operands of the most digits; in rounds, a model's answers may be wrong and longer.
func (c Config) trainedAnswers(k *task.Kind, a, b int) (least, most int, ok bool) {
	least, most, ok = c.Answers(a, b)
	switch {
	case !ok:
	case c.Rounds.Any():
		most = max(most, c.Asked(a, b))
	case c.Below > 0 && c.Kind != "parity" && c.Kind != "copy":
		most = 0
		for _, x := range [][][]byte{{c.greatest(a), c.greatest(b)}, {c.Smallest(a), c.greatest(b)}} {
			if k.Single() {
				x[1] = []byte{task.Digits[c.Base-1]}
			}
			most = max(most, len(k.Answer(nil, c.Base, x)))
		}
		least = min(least, most)
	}
	return least, most, ok
}

// greatest is the greatest operand below the bound of so many digits.
func (c Config) greatest(n int) []byte {
	if top := c.Operand(c.Highest()); n >= len(top) {
		return top
	}
	return []byte(strings.Repeat(task.Digits[c.Base-1:c.Base], n))
}

// TrainedSizes lists sizes of the problems of training, and among them those of the
// longest. Those of a file are lines, which it does not list.
func (c Config) TrainedSizes() []Size {
	lo, hi := c.Digits()
	var out []Size
	switch c.Kind {
	case "sum":
		for n := c.OperandsLo; n <= c.OperandsHi; n++ {
			for d := lo; d <= hi; d++ {
				out = append(out, c.sumSizes(d, n)...)
			}
		}
	case "sort":
		out = []Size{c.arraySize(lo, c.LengthLo), c.arraySize(hi, c.LengthHi)}
	default:
		if c.Kind == "file" || lo < 1 || c.Base < 2 {
			return nil
		}
		for _, cell := range c.boxes(lo, hi) {
			out = append(out, c.sizes(cell[0], cell[1], Config.trainedAnswers)...)
		}
	}
	for i := range out {
		out[i].Target += sequence.Room(c.RandomPad, out[i].Target)
	}
	return slices.Compact(out)
}

// LongestAnswer is the most places of an answer in training, a sign included.
func (c Config) LongestAnswer() (places int) {
	lo, hi := c.Digits()
	for _, p := range c.Parts() {
		p := Config{p}
		k, _ := KindOf(p.Config)
		for _, cell := range p.boxes(lo, hi) {
			_, most, _ := p.trainedAnswers(&k, cell[0], cell[1])
			places = max(places, most)
		}
	}
	return places
}

// boxes are pairs of lengths of operands among which are those of the longest problems: the
// corners and the diagonal, or all, where a longer operand may make a shorter problem.
func (c Config) boxes(lo, hi int) (out [][2]int) {
	if c.Below > 0 && slices.ContainsFunc(c.Parts(), func(p *task.Config) bool { return p.Kind == "subtraction" }) {
		for a := lo; a <= hi; a++ {
			for b := lo; b <= hi; b++ {
				out = append(out, [2]int{a, b})
			}
		}
		return out
	}
	out = [][2]int{{lo, hi}, {hi, lo}}
	for n := lo; n <= hi; n++ {
		out = append(out, [2]int{n, n})
	}
	return out
}

// TestSizes lists the sizes of the problems of tests with the lengths i and j, as Cell has
// them, at another width: of the shortest and of the longest answer.
func (c Config) TestSizes(pad task.Pad, i, j int) []Size {
	wide := *c.Config
	wide.Pad = pad
	q := Config{&wide}
	switch c.Kind {
	case "sum":
		return q.sumSizes(i, j)
	case "sort":
		return []Size{q.arraySize(i, j)}
	}
	return slices.Compact(q.sizes(i, j, func(p Config, k *task.Kind, a, b int) (least, most int, ok bool) {
		least, most, ok = p.Answers(a, b)
		if need := p.places(k, a, b, most); !p.Sequence && pad.To > 0 && pad.Width(need) >= need {
			least = most // room is left for the longest
		}
		return least, most, ok
	}))
}

// sizes are those of problems of each part with operands of a and b digits, with the
// shortest and the longest answer.
func (c Config) sizes(a, b int, answers func(p Config, k *task.Kind, a, b int) (least, most int, ok bool)) (out []Size) {
	for _, p := range c.Parts() {
		p := Config{p}
		k, _ := KindOf(p.Config)
		least, most, ok := answers(p, &k, a, b)
		if !ok {
			continue
		}
		for _, n := range []int{least, most} {
			negative := p.Kind == "subtraction" && n > 1 && (a <= b || n > a)
			out = append(out, p.size(&k, a, b, n, negative))
		}
	}
	return out
}

// SizeOf is the size of problems with operands of so many digits and an answer of so many.
func (c Config) SizeOf(digits, answer int) Size {
	k, _ := KindOf(c.Config)
	return c.size(&k, digits, digits, answer, false)
}

// places is the number of places that operands of a and b digits and an answer of n need.
func (c Config) places(k *task.Kind, a, b, n int) int {
	need := max(a, n+c.Pad.Less)
	if k.Arity == 2 && !k.Single() {
		need = max(need, b)
	}
	return need
}

// size is that of a problem with operands of a and b digits and an answer of n places, of
// which a sign may be one.
func (c Config) size(k *task.Kind, a, b, n int, negative bool) Size {
	wide := c.Pad.Width(c.places(k, a, b, n))
	if !c.Sequence {
		return sizeOf(c.Shape(k, wide, k.Arity))
	}
	rows, places := 1, 1 // the =
	if c.Started {
		rows++
	}
	if c.Hinted() {
		places = 2
	}
	if c.Pad.To == 0 && !c.Interleave {
		wide = 0 // each number is as wide as it is
	}
	rows += k.Arity - 1 // the signs
	switch {
	case c.Interleave:
		rows += k.Arity * wide
	case k.Single():
		rows += places*max(a, wide) + places
	case k.Arity == 2:
		rows += places * (max(a, wide) + max(b, wide))
	default:
		rows += places * max(a, wide)
	}
	if c.Kind == "multiplication" && c.Scratchpad {
		return Size{0, rows + b*a + b*(b+1)/2 + b - 1} // a + 1, … a + b digits, and what is between them
	}
	wide -= c.Pad.Less
	if negative {
		rows++
		n, wide = n-1, wide-1
	}
	return Size{0, rows + places*max(n, wide)}
}

// LineSize is the size of a line of a file of so many tokens, the separator's among them.
func (c Config) LineSize(tokens int) Size {
	if !c.Sequence {
		return Size{tokens, tokens}
	}
	if c.Started {
		tokens++
	}
	return Size{0, tokens + sequence.Room(c.RandomPad, tokens)}
}

// arraySize is that of the arrays of so many numbers of so many digits: each behind a letter
// and a colon, with commas between them, the =, and the letters with commas between them.
func (c Config) arraySize(digits, entries int) Size {
	s := Size{0, entries*(digits+3) - 1 + 1 + 2*entries - 1}
	if c.Started {
		s.Target++
	}
	return s
}

// sumSizes are those of sums of so many numbers of so many digits, with the shortest and
// the longest sum.
func (c Config) sumSizes(digits, operands int) (out []Size) {
	k, _ := KindOf(c.Config)
	for _, n := range []int{digits, c.sumPlaces(digits, operands)} {
		out = append(out, sizeOf(c.Shape(&k, c.Pad.Width(max(digits, n+c.Pad.Less)), operands)))
	}
	return slices.Compact(out)
}

// sumPlaces is the digits of the largest sum of n numbers of so many digits: n * base^digits
// - n, with as many digits as n - 1 more unless numbers are few and short.
func (c Config) sumPlaces(digits, n int) int {
	power := 1
	for range digits {
		if power *= c.Base; power > n {
			return digits + len(c.Operand(int64(n-1)))
		}
	}
	return len(c.Operand(int64(n * (power - 1))))
}
