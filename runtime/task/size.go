package task

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Size is how long a problem is as a model reads it: the tokens of its source, and the
// rows of its target. A sequence has no source.
type Size struct{ Source, Target int }

// A Form is what the problems of a kind are made of.
type Form struct {
	Operands int  // 1 or 2; 0: any number of them, or the lines of a file
	Single   bool // the second is one digit
}

// FormOf is the form of a kind of problems; the zero Form of a mix.
func FormOf(kind string) Form {
	k, _ := kindOf(&Config{Kind: kind})
	return k.form()
}

func (k *kind) form() Form { return Form{k.arity, k.family == numbers{digit: true}} }

// Parts are the tasks that a mix is made of, or the one task that it is.
func (c *Config) Parts() []*Config {
	if c.Kind != "mixed" {
		return []*Config{c}
	}
	var all []*Config
	for _, name := range c.Of {
		p := *c
		p.Kind, p.Of = name, nil
		p.Scratchpad = c.Scratchpad && name == "parity"
		all = append(all, &p)
	}
	return all
}

// Digits are the fewest and the most digits of the operands of training, of all its rounds.
func (c *Config) Digits() (lo, hi int) {
	if c.Below > 0 {
		return 1, len(c.operand(c.highest()))
	}
	return c.DigitsLo, max(c.DigitsHi, c.Rounds.Until)
}

func (c *Config) operand(n int64) []byte { return strconv.AppendInt(nil, n, c.Base) }

// Answers bounds the places of the answers to operands of a and b digits, whatever those
// are. A sign takes a place. Of problems that are no numbers, and of sums, it says nothing.
func (c *Config) Answers(a, b int) (least, most int, ok bool) {
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
func (c *Config) trainedAnswers(k *kind, a, b int) (least, most int, ok bool) {
	least, most, ok = c.Answers(a, b)
	switch {
	case !ok:
	case c.Rounds.Any():
		most = max(most, c.asked(a, b))
	case c.Below > 0 && c.Kind != "parity" && c.Kind != "copy":
		most = 0
		for _, x := range [][][]byte{{c.greatest(a), c.greatest(b)}, {c.smallest(a), c.greatest(b)}} {
			if k.form().Single {
				x[1] = []byte{digits[c.Base-1]}
			}
			most = max(most, len(k.answer(nil, c.Base, x)))
		}
		least = min(least, most)
	}
	return least, most, ok
}

// asked is the most places of an answer that a model may give in rounds.
func (c *Config) asked(a, b int) int {
	switch c.Kind {
	case "parity":
		if c.Scratchpad {
			return a
		}
		return 1
	case "multiplication":
		return a + b
	case "successor", "copy", "nx1":
		return a + 1
	}
	return max(a, b) + 1
}

// greatest is the greatest operand below the bound of so many digits, smallest the
// smallest.
func (c *Config) greatest(n int) []byte {
	if top := c.operand(c.highest()); n >= len(top) {
		return top
	}
	return []byte(strings.Repeat(digits[c.Base-1:c.Base], n))
}

func (c *Config) smallest(n int) []byte {
	if n == 1 {
		return []byte("0")
	}
	return append([]byte("1"), strings.Repeat("0", n-1)...)
}

// TrainedSizes lists sizes of the problems of training, and among them those of the
// longest. Those of a file are lines, which it does not list.
func (c *Config) TrainedSizes() []Size {
	lo, hi := c.Digits()
	var out []Size
	switch k, _ := kindOf(c); k.family {
	case sums{}:
		for n := c.OperandsLo; n <= c.OperandsHi; n++ {
			for d := lo; d <= hi; d++ {
				out = append(out, c.sumSizes(d, n)...)
			}
		}
	case arrays{}:
		out = []Size{c.arraySize(lo, c.LengthLo), c.arraySize(hi, c.LengthHi)}
	default:
		if c.Kind == ofFile || lo < 1 || c.Base < 2 {
			return nil
		}
		for _, cell := range c.boxes(lo, hi) {
			out = append(out, c.sizes(cell[0], cell[1], (*Config).trainedAnswers)...)
		}
	}
	for i := range out {
		out[i].Target += c.fillerRoom(out[i].Target)
	}
	return slices.Compact(out)
}

// LongestAnswer is the most places of an answer in training, a sign included.
func (c *Config) LongestAnswer() (places int) {
	lo, hi := c.Digits()
	for _, p := range c.Parts() {
		k, _ := kindOf(p)
		for _, cell := range p.boxes(lo, hi) {
			_, most, _ := p.trainedAnswers(&k, cell[0], cell[1])
			places = max(places, most)
		}
	}
	return places
}

// boxes are pairs of lengths of operands among which are those of the longest problems: the
// corners and the diagonal, or all, where a longer operand may make a shorter problem.
func (c *Config) boxes(lo, hi int) (out [][2]int) {
	if c.Below > 0 && slices.ContainsFunc(c.Parts(), func(p *Config) bool { return p.Kind == "subtraction" }) {
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
func (c *Config) TestSizes(pad Pad, i, j int) []Size {
	q := *c
	q.Pad = pad
	switch k, _ := kindOf(&q); k.family {
	case sums{}:
		return q.sumSizes(i, j)
	case arrays{}:
		return []Size{q.arraySize(i, j)}
	}
	return slices.Compact(q.sizes(i, j, func(p *Config, k *kind, a, b int) (least, most int, ok bool) {
		least, most, ok = p.Answers(a, b)
		if need := p.places(k.form(), a, b, most); !p.Sequence && pad.To > 0 && pad.Width(need) >= need {
			least = most // room is left for the longest
		}
		return least, most, ok
	}))
}

// sizes are those of problems of each part with operands of a and b digits, with the
// shortest and the longest answer.
func (c *Config) sizes(a, b int, answers func(p *Config, k *kind, a, b int) (least, most int, ok bool)) (out []Size) {
	for _, p := range c.Parts() {
		k, _ := kindOf(p)
		least, most, ok := answers(p, &k, a, b)
		if !ok {
			continue
		}
		for _, n := range []int{least, most} {
			negative := p.Kind == "subtraction" && n > 1 && (a <= b || n > a)
			out = append(out, p.size(k, a, b, n, negative))
		}
	}
	return out
}

// SizeOf is the size of problems with operands of so many digits and an answer of so many.
func (c *Config) SizeOf(digits, answer int) Size {
	k, _ := kindOf(c)
	return c.size(k, digits, digits, answer, false)
}

// places is the number of places that operands of a and b digits and an answer of n need.
func (c *Config) places(f Form, a, b, n int) int {
	need := max(a, n+c.Pad.Less)
	if f.Operands == 2 && !f.Single {
		need = max(need, b)
	}
	return need
}

// size is that of a problem with operands of a and b digits and an answer of n places, of
// which a sign may be one.
func (c *Config) size(k kind, a, b, n int, negative bool) Size {
	form := k.form()
	wide := c.Pad.Width(c.places(form, a, b, n))
	if !c.Sequence {
		return c.shape(k, wide, form.Operands)
	}
	rows, places := 1, 1 // the =
	if c.Started {
		rows++
	}
	if c.hinted() {
		places = 2
	}
	if c.Pad.To == 0 && !c.Interleave {
		wide = 0 // each number is as wide as it is
	}
	rows += form.Operands - 1 // the signs
	switch {
	case c.Interleave:
		rows += form.Operands * wide
	case form.Single:
		rows += places*max(a, wide) + places
	case form.Operands == 2:
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

// shape is the source tokens and the target rows of an encoder-decoder's problems, whose
// numbers have all as many places, of so many operands.
func (c *Config) shape(k kind, width, operands int) Size {
	answer := width - c.Pad.Less
	switch {
	case k.family == sums{}:
		s := Size{operands*(width+1) + 1, answer + 1}
		if c.Scratchpad {
			s.Target *= operands - 1
		}
		return s
	case k.form().Single && !c.Interleave:
		return Size{len(k.op) + width + 1 + 2, answer + 1}
	}
	return Size{len(k.op)*(operands-1) + operands*width + 2, answer + 1}
}

// LineSize is the size of a line of a file of so many tokens, the separator's among them.
func (c *Config) LineSize(tokens int) Size {
	if !c.Sequence {
		return Size{tokens, tokens}
	}
	if c.Started {
		tokens++
	}
	return Size{0, tokens + c.fillerRoom(tokens)}
}

// arraySize is that of the arrays of so many numbers of so many digits: each behind a letter
// and a colon, with commas between them, the =, and the letters with commas between them.
func (c *Config) arraySize(digits, entries int) Size {
	s := Size{0, entries*(digits+3) - 1 + 1 + 2*entries - 1}
	if c.Started {
		s.Target++
	}
	return s
}

// sumSizes are those of sums of so many numbers of so many digits, with the shortest and
// the longest sum.
func (c *Config) sumSizes(digits, operands int) (out []Size) {
	k, _ := kindOf(c)
	for _, n := range []int{digits, c.sumPlaces(digits, operands)} {
		out = append(out, c.shape(k, c.Pad.Width(max(digits, n+c.Pad.Less)), operands))
	}
	return slices.Compact(out)
}

// sumPlaces is the digits of the largest sum of n numbers of so many digits: n * base^digits
// - n, with as many digits as n - 1 more unless numbers are few and short.
func (c *Config) sumPlaces(digits, n int) int {
	power := 1
	for range digits {
		if power *= c.Base; power > n {
			return digits + len(c.operand(int64(n-1)))
		}
	}
	return len(c.operand(int64(n * (power - 1))))
}

// fillerRoom is the most fillers among n characters: far more than come by chance.
func (c *Config) fillerRoom(n int) int {
	if c.RandomPad == 0 {
		return 0
	}
	return 8 + int(math.Ceil(2*c.RandomPad*float64(n)))
}

// fewest is the digits of the smaller number of the longest difference of numbers below a
// bound, which may be shorter than that.
func (c *Config) fewest() (digits int) {
	k, _ := kindOf(c)
	_, hi := c.Digits()
	most := 0
	for n := 1; n <= hi; n++ {
		answer := len(k.answer(nil, c.Base, [][]byte{c.smallest(n), c.greatest(hi)}))
		if s := c.size(k, n, hi, answer, true); s.Target > most {
			digits, most = n, s.Target
		}
	}
	return digits
}
