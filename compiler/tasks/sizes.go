package tasks

import (
	"slices"
	"strings"
	"sync"

	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/task/sequence"
)

// A Size is the length of a problem for a model: source tokens and target rows. A sequence has
// no source.
type Size struct{ Source, Target int }

func sizeOf(source, target int) Size { return Size{source, target} }

// FormOf returns a kind by name, the zero Kind for a mix.
func FormOf(kind string) *task.Kind {
	k := forms()[kind]
	return &k
}

// forms returns the kinds of tasks by name.
var forms = sync.OnceValue(func() map[string]task.Kind {
	all := map[string]task.Kind{}
	for _, k := range Kit().All() {
		all[k.Name], _ = KindOf(&task.Config{Kind: k.Name})
	}
	return all
})

// Answers bounds the places of the answers to any operands of a and b digits. A sign takes a
// place. ok is false for problems without numbers and for sums.
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
		case a == b && c.Base == 2: // the largest difference is 1…1 - 10…0
			return 1, a, true
		case a == b:
			return 1, b + 1, true
		}
		return 2, b + 1, true
	case "multiplication":
		least = 1 // the answer 0
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

// trainedAnswers is Answers for training problems. With Below, there are fewer operands of the
// most digits. In rounds, a model's answers may be wrong and longer.
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

// greatest returns the greatest operand of n digits below the bound.
func (c Config) greatest(n int) []byte {
	if top := c.Operand(c.Highest()); n >= len(top) {
		return top
	}
	return []byte(strings.Repeat(task.Digits[c.Base-1:c.Base], n))
}

// TrainedSizes lists sizes of training problems, including the longest. It returns nil for a
// file, whose problems are lines.
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
		if c.Listed() || lo < 1 || c.Base < 2 {
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

// LongestAnswer returns the most places of an answer in training, with its sign.
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

// boxes returns pairs of operand lengths that include the longest problems: two corners and
// the diagonal, or all pairs if a longer operand may give a shorter problem.
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

// TestSizes lists the sizes of test problems with lengths i and j, as in Cell, at another
// width: with the shortest and the longest answer.
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

// sizes returns the sizes of problems of each part with operands of a and b digits, with the
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

// SizeOf returns the size of problems by the digits of operands and answer.
func (c Config) SizeOf(digits, answer int) Size {
	k, _ := KindOf(c.Config)
	return c.size(&k, digits, digits, answer, false)
}

// places returns the places needed by operands of a and b digits and an answer of n.
func (c Config) places(k *task.Kind, a, b, n int) int {
	need := max(a, n+c.Pad.Less)
	if k.Arity == 2 && !k.Single() {
		need = max(need, b)
	}
	return need
}

// size returns the size of a problem with operands of a and b digits and an answer of n places,
// including its sign.
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
		wide = 0 // numbers are not padded
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
		rows += b*a + b*(b+1)/2 + b - 1 // a + 1, … a + b digits and separators
		if c.PartialProducts {
			rows += (b - 1) * (a + 2) // a + 1 digits and a separator
		}
		return Size{0, rows}
	}
	wide -= c.Pad.Less
	if negative {
		rows++
		n, wide = n-1, wide-1
	}
	return Size{0, rows + places*max(n, wide)}
}

// LineSize returns the size of a line of a file of that many tokens, including the separator.
func (c Config) LineSize(tokens int) Size {
	if !c.Sequence {
		return Size{tokens, tokens}
	}
	if c.Started {
		tokens++
	}
	return Size{0, tokens + sequence.Room(c.RandomPad, tokens)}
}

// arraySize returns the size of an array of entries numbers. Each follows a letter and a colon,
// commas separate them, and = precedes the letters with commas between them.
func (c Config) arraySize(digits, entries int) Size {
	s := Size{0, entries*(digits+3) - 1 + 1 + 2*entries - 1}
	if c.Started {
		s.Target++
	}
	return s
}

// sumSizes returns the sizes of problems that add operands numbers, with the shortest and the
// longest sum.
func (c Config) sumSizes(digits, operands int) (out []Size) {
	k, _ := KindOf(c.Config)
	for _, n := range []int{digits, c.sumPlaces(digits, operands)} {
		out = append(out, sizeOf(c.Shape(&k, c.Pad.Width(max(digits, n+c.Pad.Less)), operands)))
	}
	return slices.Compact(out)
}

// sumPlaces returns the digits of the largest sum of n numbers, n * base^digits - n. If
// base^digits > n, that is digits plus the digits of n - 1.
func (c Config) sumPlaces(digits, n int) int {
	power := 1
	for range digits {
		if power *= c.Base; power > n {
			return digits + len(c.Operand(int64(n-1)))
		}
	}
	return len(c.Operand(int64(n * (power - 1))))
}
