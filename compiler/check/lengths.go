package check

import (
	"math"
	"slices"

	"github.com/arithlang/mlc/runtime/config"
)

// lengths are the numbers of tokens that a model reads of one shape of problem: of
// source and target or, of a loop, of the whole text but its end in target.
type lengths struct{ source, target int }

// A layout says how a kind of task writes its problems.
type layout struct {
	operands int // 1, 2; nx1 has a second of one digit
	single   bool
	// answer bounds the digits of the answer to operands of a and b digits.
	answer func(a, b int) (least, most int)
}

var layouts = map[string]layout{
	"successor":      {1, false, func(a, _ int) (int, int) { return a, a + 1 }},
	"addition":       {2, false, func(a, b int) (int, int) { return max(a, b), max(a, b) + 1 }},
	"subtraction":    {2, false, func(a, b int) (int, int) { return 1, max(a, b) + 1 }}, // with its sign
	"multiplication": {2, false, func(a, b int) (int, int) { return a + b - 1, a + b }},
	"nx1":            {2, true, func(a, _ int) (int, int) { return a, a + 1 }},
	"or":             {2, false, func(a, b int) (int, int) { return max(a, b), max(a, b) }},
	"parity":         {1, false, func(a, _ int) (int, int) { return a, a }},
	"copy":           {1, false, func(a, _ int) (int, int) { return a, a }},
}

// layout says how a kind of task writes its problems. Without its way there a parity
// is one digit.
func (t *Task) layout(kind string) (layout, bool) {
	l, ok := layouts[kind]
	if kind == "parity" && !t.Scratchpad {
		l.answer = func(_, _ int) (int, int) { return 1, 1 }
	}
	if t.Kind == "multiplication" && t.Scratchpad {
		l.answer = func(a, b int) (int, int) {
			n := b*a + b*(b+1)/2 + b - 1 // a + 1, … a + b digits, and what is between them
			return n, n
		}
	}
	return l, ok
}

// shape is the shape of problems with operands of a and b digits and an answer of
// the given digits.
func (t *Task) shape(pad config.Pad, a, b, answer int, loop bool) lengths {
	l := layouts[t.Kind]
	if l.single {
		b = 1
	}
	if pad.To > 0 {
		a = pad.Width(max(a, b, answer+pad.Less))
		if answer = a - pad.Less; !l.single {
			b = a
		}
	}
	if l.single && t.Interleave {
		b = a
	}
	if l.operands == 1 {
		b = 0
	}
	if n := max(a, b, answer); loop && t.Interleave && pad.To == 0 {
		a, b, answer = n, n, n
	}
	if t.Hinted() {
		a, b, answer = 2*a, 2*b, 2*answer
	}
	source := a + b + l.operands + 1 // ^ a $ or ^ a + b $
	if loop && t.Started {
		source++
	}
	if loop {
		return lengths{0, source + answer - 1} // a = c or a + b = c
	}
	return lengths{source, answer + 1}
}

// paired says whether all problems are two numbers of one width around an operator.
func (t *Task) paired() bool {
	l := layouts[t.Kind]
	return l.operands == 2 && !l.single && !t.Interleave && t.Pad.To > 0
}

// lengths lists the shapes of problems whose operands have a and b digits, with
// the shortest and the longest answer, of at most the given number of digits.
func (t *Task) lengths(pad config.Pad, a, b, atMost int, loop bool) []lengths {
	var out []lengths
	for _, k := range t.kinds() {
		l, ok := t.layout(k)
		if !ok {
			continue
		}
		one := *t
		one.Kind = k
		least, most := l.answer(a, b)
		most = min(most, max(atMost, least))
		out = append(out, one.shape(pad, a, b, least, loop), one.shape(pad, a, b, most, loop))
	}
	return slices.Compact(out)
}

// kinds are the tasks of a mixed one, or the one that it is.
func (t *Task) kinds() []string {
	if t.Kind == "mixed" {
		return t.Of
	}
	return []string{t.Kind}
}

// sorted is the shape of arrays of numbers: letter:digits, comma separated, then
// = and the letters.
func (t *Task) sorted(digits, entries int, loop bool) lengths {
	source := entries*(digits+3) - 1 + 2
	target := 2 * entries
	if loop {
		return lengths{0, source + target - 2}
	}
	return lengths{source, target}
}

// places is the number of digits of n.
func (t *Task) places(n int64) int {
	d := 1
	for ; n >= int64(t.Base); n /= int64(t.Base) {
		d++
	}
	return d
}

// digits bounds the digits of the operands of training.
func (t *Task) digits() (lo, hi int) {
	if t.Below > 0 {
		return 1, t.places(t.Below - 1)
	}
	return t.DigitsLo, t.DigitsHi
}

// reached is the most digits of the operands of training, of all its rounds.
func (t *Task) reached() int {
	_, hi := t.digits()
	return max(hi, t.Rounds.Until)
}

// answerBound is the most digits of an answer in training.
func (t *Task) answerBound() int {
	hi := t.reached()
	switch {
	case t.Below > 0 && t.Kind == "successor":
		return t.places(t.Below)
	case t.Below > 0 && t.Kind == "addition":
		return t.places(2 * (t.Below - 1))
	}
	return 2 * hi
}

// summed lists the shapes of sums of so many numbers, of so many digits each, with the
// shortest and the longest sum.
func (t *Task) summed(pad config.Pad, digits, operands int) []lengths {
	var out []lengths
	for _, answer := range []int{digits, digits + t.places(int64(operands-1))} {
		w := pad.Width(answer+pad.Less) + 1
		l := lengths{operands*w + 1, w - pad.Less}
		if t.Scratchpad {
			l.target *= operands - 1
		}
		out = append(out, l)
	}
	return slices.Compact(out)
}

// trained lists the shapes of the problems of training.
func (s *Spec) trained() []lengths {
	if s.shapes.trained == nil {
		s.shapes.trained = s.listTrained()
		for i := range s.shapes.trained {
			l := &s.shapes.trained[i]
			l.target += s.Task.fillerRoom(l.target)
		}
	}
	return s.shapes.trained
}

// fillerRoom is the most fillers among n characters, as package task draws them.
func (t *Task) fillerRoom(n int) int {
	if t.RandomPad == 0 {
		return 0
	}
	return 8 + int(math.Ceil(2*t.RandomPad*float64(n)))
}

// evaluated lists the shapes of the problems of evaluation.
func (s *Spec) evaluated() []lengths {
	if s.shapes.evaluated == nil {
		s.shapes.evaluated = s.listEvaluated()
	}
	return s.shapes.evaluated
}

func (s *Spec) listTrained() []lengths {
	t := &s.Task
	if t.File != nil {
		return t.File.shapes(s.Model.Loop != nil)
	}
	lo, _ := t.digits()
	hi := t.reached()
	if t.Kind == "sum" {
		var out []lengths
		for n := t.OperandsLo; n <= t.OperandsHi; n++ {
			for d := lo; d <= hi; d++ {
				out = append(out, t.summed(t.Pad, d, n)...)
			}
		}
		return slices.Compact(out)
	}
	if t.Kind == "sort" {
		return []lengths{t.sorted(lo, t.LengthLo, s.Model.Loop != nil), t.sorted(hi, t.LengthHi, s.Model.Loop != nil)}
	}
	return s.between(t.Pad, lo, hi, lo, hi, t.answerBound())
}

func (s *Spec) listEvaluated() []lengths {
	if p := s.Task.tested(); p != nil {
		return p.shapes(s.Model.Loop != nil)
	}
	var out []lengths
	sort := s.Task.Kind == "sort"
	loop := s.Model.Loop != nil
	const any = 1 << 20
	if s.Task.Kind == "sum" {
		return s.summedTests()
	}
	if g := s.Eval.Grid; g.First.Hi > 0 && sort {
		out = append(out, s.Task.sorted(g.First.Lo, g.Second.Lo, loop), s.Task.sorted(g.First.Hi, g.Second.Hi, loop))
	} else if g.First.Hi > 0 {
		out = append(out, s.between(s.Eval.Pad, g.First.Lo, g.First.Hi, g.Second.Lo, g.Second.Hi, any)...)
	}
	if lo, hi := s.Eval.Diagonal.Lo, s.Eval.Diagonal.Hi; lo > 0 && !sort {
		out = append(out, s.between(s.Eval.Pad, lo, hi, lo, hi, any)...)
	}
	for _, d := range slices.Concat(s.Eval.Digits, s.Eval.During.Digits) {
		if sort {
			out = append(out, s.Task.sorted(d, s.Task.LengthHi, loop))
		} else {
			out = append(out, s.Task.lengths(s.Eval.Pad, d, d, any, loop)...)
		}
	}
	return slices.Compact(out)
}

// summedTests lists the shapes of tests of sums: of the shortest and the longest of a grid
// or a diagonal, and of listed lengths.
func (s *Spec) summedTests() []lengths {
	t, e := &s.Task, &s.Eval
	operands := e.Operands
	if len(operands) == 0 {
		operands = []int{t.OperandsHi}
	}
	digits := slices.Concat(e.Digits, e.During.Digits)
	if e.Diagonal.Hi > 0 {
		digits = append(digits, e.Diagonal.Lo, e.Diagonal.Hi)
	}
	var out []lengths
	for _, n := range operands {
		for _, d := range digits {
			out = append(out, t.summed(e.Pad, d, n)...)
		}
	}
	if g := e.Grid; g.First.Hi > 0 {
		out = append(out, append(t.summed(e.Pad, g.First.Lo, max(g.Second.Lo, 2)), t.summed(e.Pad, g.First.Hi, max(g.Second.Hi, 2))...)...)
	}
	return slices.Compact(out)
}

// between lists the shapes of a box of lengths: along its diagonal and at its
// corners.
func (s *Spec) between(pad config.Pad, alo, ahi, blo, bhi, atMost int) []lengths {
	loop := s.Model.Loop != nil
	out := append(s.Task.lengths(pad, alo, bhi, atMost, loop), s.Task.lengths(pad, ahi, blo, atMost, loop)...)
	for n := range max(ahi-alo, bhi-blo) + 1 {
		out = append(out, s.Task.lengths(pad, min(alo+n, ahi), min(blo+n, bhi), atMost, loop)...)
	}
	return slices.Compact(out)
}

// longest is the number of tokens of the longest of some problems.
func longest(ls []lengths) (n int) {
	for _, l := range ls {
		n = max(n, l.source, l.target)
	}
	return n
}

// TrainedShape is the number of source tokens and of target rows of the longest
// problems of training. A loop has no source: it reads all as one text.
func (s *Spec) TrainedShape() (source, target int) {
	for _, l := range s.trained() {
		source, target = max(source, l.source), max(target, l.target)
	}
	return source, target
}
