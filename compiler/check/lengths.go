package check

import (
	"slices"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/task"
)

// lengths are the tokens of a problem that a model reads: source and target. A loop has
// no source, and its target is the whole text without the end. Package tasks computes
// them.
type lengths = tasks.Size

// made returns the task as the runtime configures it.
func (t *Task) made() tasks.Config { return tasks.Config{Config: (*task.Config)(&t.Task)} }

// kinds returns the tasks of a mixed task, or the only one.
func (t *Task) kinds() []string {
	if t.Kind == "mixed" {
		return t.Of
	}
	return []string{t.Kind}
}

// paired reports whether all problems are two numbers of equal width around an operator,
// as in every encoder-decoder.
func (t *Task) paired() bool {
	form := tasks.FormOf(t.Kind)
	return form.Arity == 2 && !form.Single() && !t.Interleave && (t.Pad.To > 0 || !t.Sequence)
}

// places returns the number of digits of n.
func (t *Task) places(n int64) int {
	d := 1
	for ; n >= int64(t.Base); n /= int64(t.Base) {
		d++
	}
	return d
}

// digits returns the bounds on digits of training operands.
func (t *Task) digits() (lo, hi int) {
	if t.Below > 0 {
		return t.made().Digits()
	}
	return t.DigitsLo, t.DigitsHi
}

// trained lists the shapes of training problems.
func (s *Spec) trained() []lengths {
	if s.shapes.trained == nil {
		s.shapes.trained = s.Task.made().TrainedSizes()
		if f := s.Task.File; f != nil {
			s.shapes.trained = f.shapes(s.Task.made())
		}
	}
	return s.shapes.trained
}

// evaluated lists the shapes of test problems.
func (s *Spec) evaluated() []lengths {
	if s.shapes.evaluated == nil {
		s.shapes.evaluated = s.listEvaluated()
	}
	return s.shapes.evaluated
}

func (s *Spec) listEvaluated() []lengths {
	if p := s.Task.tested(); p != nil {
		plain := *s.Task.made().Config
		plain.RandomPad = 0 // tests have no fillers
		return p.shapes(tasks.Config{Config: &plain})
	}
	t, e := &s.Task, &s.Eval
	var out []lengths
	cell := func(i, j int) { out = append(out, t.made().TestSizes(e.Pad, i, j)...) }
	g, second := e.Grid, e.Grid.Second
	if t.Kind == "sum" {
		second.Lo, second.Hi = max(second.Lo, 2), max(second.Hi, 2)
	}
	if g.First.Hi > 0 {
		box(g.First, second, cell)
	}
	diagonal := func(n int) { // of several numbers, as many as the longest training problems have
		switch {
		case t.Kind == "sort":
			cell(n, t.LengthHi)
		case t.Kind == "sum" && len(e.Operands) > 0:
			for _, m := range e.Operands {
				cell(n, m)
			}
		case t.Kind == "sum":
			cell(n, t.OperandsHi)
		default:
			cell(n, n)
		}
	}
	if d := e.Diagonal; d.Lo > 0 {
		for n := d.Lo; n <= d.Hi; n++ {
			diagonal(n)
		}
	}
	for _, n := range slices.Concat(e.Digits, e.During.Digits) {
		diagonal(n)
	}
	return slices.Compact(out)
}

// box calls f with corners of a box of lengths, and along its diagonal.
func box(first, second config.Span, f func(i, j int)) {
	f(first.Lo, second.Hi)
	f(first.Hi, second.Lo)
	for n := range max(first.Hi-first.Lo, second.Hi-second.Lo) + 1 {
		f(min(first.Lo+n, first.Hi), min(second.Lo+n, second.Hi))
	}
}

// longest returns the number of tokens in the longest problem.
func longest(ls []lengths) (n int) {
	for _, l := range ls {
		n = max(n, l.Source, l.Target)
	}
	return n
}

// MeanRows returns about the mean number of target rows in a training problem: the mean
// over the shapes.
func (s *Spec) MeanRows() int {
	rows, all := 0, s.trained()
	for _, l := range all {
		rows += l.Target
	}
	return rows / max(1, len(all))
}

// TrainedShape returns the numbers of source tokens and target rows in the longest
// training problems. source is 0 for a loop, which reads one text.
func (s *Spec) TrainedShape() (source, target int) {
	for _, l := range s.trained() {
		source, target = max(source, l.Source), max(target, l.Target)
	}
	return source, target
}
