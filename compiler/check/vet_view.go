package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// windowCells bounds the cells of cross attention that vetWindows looks at, so that
// very wide problems are not looked at.
const windowCells = 1 << 20

// vetWindows looks for two problems that no decoder with such masks can both answer:
// some row of each knows the same after all layers, and must say something else. What
// a row knows is its token, what it knew a layer before of the rows that it sees, and
// the tokens of the problem that it sees, each as a share of all, which is what a
// softmax can tell. Where nothing is found there may be something among longer
// problems.
func (c *checker) vetWindows(s *Spec) {
	if !s.seesTokens() {
		return
	}
	v := &view{
		self: newMaskRun(s, s.Model.Decoder.Self.Mask), cross: newMaskRun(s, s.Model.Decoder.Cross.Mask),
		layers: s.Model.Decoder.Layers * max(s.Model.Decoder.Times, 1), period: 1,
	}
	if s.Model.Position.Kind == "cyclic" && s.Model.Position.Inner != "none" {
		v.period = s.Model.Position.Period
	}
	type seen struct {
		*instanceOf
		row int
	}
	first := make(map[uint64]seen)
	for _, p := range s.shortProblems() {
		for row, known := range v.rows(p) {
			other, ok := first[known]
			if !ok {
				first[known] = seen{p, row}
				continue
			}
			if a, b := other.answer[other.row], p.answer[row]; a != b {
				c.report("V014", c.atFirst("model.decoder.cross.mask", "model.embed.position", "model"),
					"row %d of %s and row %d of %s see the same tokens, but must say %c and %c", other.row, other.text, row, p.text, a, b).
					WithHelp("no model that sees only this can answer both: open more to each row, or use positions or layers that tell them apart")
				return
			}
		}
	}
}

// seesTokens says whether masks and cyclic positions alone say what a decoder sees of
// a padded problem, and whether shortProblems can make such problems.
func (s *Spec) seesTokens() bool {
	m, t := &s.Model, &s.Task
	self, cross := m.Decoder.Self, m.Decoder.Cross
	if m.Loop != nil || m.Encoder.Layers > 0 || self == nil || cross == nil || cross.Mask == nil {
		return false
	}
	for _, site := range []*Site{self, cross} {
		if site.Bias != nil || site.Rotary != nil || site.Shaw > 0 {
			return false
		}
	}
	made := t.Kind == "successor" || t.Kind == "addition" || t.Kind == "nx1" || t.Kind == "parity" && t.Scratchpad
	plain := t.Reversed && !t.ReversedOperands && !t.Hinted() && t.Pad.To > 0 && t.Pad.Less == 0
	return made && plain && (m.Position.Kind == "none" || m.Position.Kind == "cyclic")
}

// An instanceOf a task is a problem, with the tokens of its source and what each row
// is to say.
type instanceOf struct{ text, source, answer string }

// shortProblems are problems of one to three digits as training has them.
func (s *Spec) shortProblems() []*instanceOf {
	t := &s.Task
	_, digits := t.digits()
	below := power(t.Base, min(digits, 3))
	width := t.Pad.Width(min(digits, 3) + 1)
	l := t.shape(t.Pad, min(digits, 3), min(digits, 3), width, false)
	most := windowCells / (l.source * l.target)
	var out []*instanceOf
	for _, x := range operandPairs(t, below, most) {
		out = append(out, t.write(x[0], x[1], width))
	}
	return out
}

// operandPairs are at most about so many pairs of operands below a bound, of unary
// tasks with a second one of 0.
func operandPairs(t *Task, below, most int) (out [][2]int) {
	if layouts[t.Kind].operands == 1 {
		for a := range min(below, most) {
			out = append(out, [2]int{a, 0})
		}
		return out
	}
	few := []int{0, 1, 2, 5, 9, 10, 12, 19, 21, 55, 90, 99, 7, 3, 88, 27, 72, 100, 101, 199}
	for n := 2; n <= len(few) && n*n <= most; n++ {
		out = nil
		for _, a := range few[:n] {
			for _, b := range few[:n] {
				if a < below && b < below && !(layouts[t.Kind].single && b > 9) {
					out = append(out, [2]int{a, b})
				}
			}
		}
	}
	return out
}

// write is the problem of two operands at a width.
func (t *Task) write(a, b, width int) *instanceOf {
	number := func(n int) string {
		text := strconv.FormatInt(int64(n), t.Base)
		return strings.Repeat("0", max(width-len(text), 0)) + text
	}
	p := new(instanceOf)
	var answer string
	switch t.Kind {
	case "successor":
		p.text, p.source, answer = fmt.Sprint(a), number(a), number(a+1)
	case "parity":
		p.text, p.source, answer = strconv.FormatInt(int64(a), t.Base), number(a), prefixes(number(a))
	case "addition":
		p.text, p.source, answer = fmt.Sprintf("%d+%d", a, b), t.beside(number(a), '+', number(b)), number(a+b)
	case "nx1":
		second := strconv.Itoa(b)
		if t.Interleave {
			second = strings.Repeat(second, width)
		}
		p.text, p.source, answer = fmt.Sprintf("%d*%d", a, b), t.beside(number(a), '*', second), number(a*b)
	}
	said := []byte(answer)
	slices.Reverse(said)
	p.source, p.answer = "^"+p.source+"$", string(said)+"$"
	return p
}

// prefixes are the parities of the last bits of a number, highest first.
func prefixes(bits string) string {
	out, ones := []byte(bits), byte(0)
	for i := len(out) - 1; i >= 0; i-- {
		ones ^= out[i] - '0'
		out[i] = '0' + ones
	}
	return string(out)
}

// beside writes two operands as a task does.
func (t *Task) beside(a string, op byte, b string) string {
	if !t.Interleave {
		return a + string(op) + b
	}
	var out strings.Builder
	out.WriteByte(op)
	for i := range a {
		out.WriteByte(a[i])
		out.WriteByte(b[i])
	}
	return out.String()
}

func power(base, n int) int {
	x := 1
	for range n {
		x *= base
	}
	return x
}

// A view computes what rows know, as numbers that are equal only if they know the same.
type view struct {
	self, cross *maskRun
	layers      int
	period      int // of positions; 1: all are the same
	shape       lengths
	open        [2][][][]int // of self and cross: by head and row, the open columns
}

// rows is what each row of a problem knows in the end.
func (v *view) rows(p *instanceOf) []uint64 {
	if l := (lengths{len(p.source), len(p.answer)}); l != v.shape {
		v.shape = l
		v.open = [2][][][]int{v.self.columns(l.target, l.target), v.cross.columns(l.target, l.source)}
	}
	tokens := func(text string) []uint64 {
		out := make([]uint64, len(text))
		for i := range out {
			out[i] = mixed(uint64(text[i]), uint64(i%v.period))
		}
		return out
	}
	know := tokens("^" + p.answer[:len(p.answer)-1])
	source, read := tokens(p.source), make([]uint64, len(know))
	for _, rows := range v.open[1] {
		for i, columns := range rows {
			read[i] = mixed(read[i], shares(source, columns))
		}
	}
	for range v.layers {
		next := make([]uint64, len(know))
		for i := range next {
			next[i] = mixed(know[i], read[i])
			for _, rows := range v.open[0] {
				next[i] = mixed(next[i], shares(know, rows[i]))
			}
		}
		know = next
	}
	return know
}

// columns lists what a mask opens, by head and row.
func (m *maskRun) columns(rows, keys int) [][][]int {
	m.vars["I"].I, m.vars["J"].I = int64(rows), int64(keys)
	out := make([][][]int, m.heads)
	for h := range out {
		m.vars["h"].I = int64(h)
		out[h] = make([][]int, rows)
		for i := range rows {
			m.vars["i"].I, m.vars["pi"].I = int64(i), m.position(i)
			for j := range keys {
				m.vars["j"].I, m.vars["pj"].I = int64(j), m.position(j)
				if m.code.Run().I != 0 {
					out[h][i] = append(out[h][i], j)
				}
			}
		}
	}
	return out
}

// shares is what a softmax over some elements can tell: each with its share of them.
func shares(of []uint64, open []int) uint64 {
	chosen := make([]uint64, len(open))
	for k, j := range open {
		chosen[k] = of[j]
	}
	slices.Sort(chosen)
	common := 0
	var counts []int
	for i := 0; i < len(chosen); i += counts[len(counts)-1] {
		n := i
		for n < len(chosen) && chosen[n] == chosen[i] {
			n++
		}
		counts, common = append(counts, n-i), divisor(n-i, common)
	}
	var sum uint64
	for i, x := range slices.Compact(chosen) {
		sum = mixed(mixed(sum, x), uint64(counts[i]/common))
	}
	return sum
}

// divisor is the greatest common one.
func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// mixed is a hash of two numbers (the finalizer of splitmix64, Steele et al. 2014).
func mixed(a, b uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 ^ b + 0x632be59bd9b4e019
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
