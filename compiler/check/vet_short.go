package check

import (
	"encoding/binary"
	"iter"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/task"
)

// An exercise is a problem as tests have it: the tokens that a model reads, and the token
// that each row must predict.
type exercise struct {
	of             *task.Task
	text           string
	prompt         string  // identifies the problem
	source, target []int32 // tokens; a loop reads all as its target
	labels         []int32 // -1: not checked
	asked          int     // the row that predicts the answer's first token
	recurrences    int     // of a loop by length
}

// Bounds: problems for one pair of lengths, digits beyond the shortest problem, and bytes
// of a file.
const (
	ofLengths = 4000
	moreThan  = 2
	ofFile    = 1 << 16
)

// shortProblems iterates over short training problems: simple numbers, then tests of each
// length, or the lines of a file.
func (s *Spec) shortProblems() iter.Seq[*exercise] {
	return func(yield func(*exercise) bool) {
		if s.Task.reads() {
			return // no token is an answer
		}
		cfg := task.Config(s.Task.Task)
		cfg.Tests, cfg.Holdout, cfg.Examples, cfg.RandomPad = "", 0, 0, 0
		if n := strings.LastIndexByte(cfg.Problems[:min(len(cfg.Problems), ofFile)], '\n'); n > 0 {
			cfg.Problems = cfg.Problems[:n+1]
		}
		t, err := tasks.New(cfg, 1)
		if err != nil {
			return // other rules report the error
		}
		for p := range s.Task.short(t) {
			if x := newExercise(t, p); x != nil && !yield(x) {
				return
			}
		}
	}
}

func (t *Task) short(of *task.Task) iter.Seq[task.Problem] {
	return func(yield func(task.Problem) bool) {
		if t.File != nil {
			for k := range int64(t.File.Count) {
				if !yield(of.Train(k)) {
					return
				}
			}
			return
		}
		for text := range t.simple() {
			if p, err := of.Parse(text); err == nil && !yield(p) {
				return
			}
		}
		for p := range t.tests(of) {
			if t.inTraining(p.Operands...) && !yield(p) {
				return
			}
		}
	}
}

// tests iterates over test problems, the shortest first.
func (t *Task) tests(of *task.Task) iter.Seq[task.Problem] {
	return func(yield func(task.Problem) bool) {
		lo, hi := t.digits()
		first, most := lo, hi
		switch t.Kind { // the second length is a count
		case "sort":
			first, most = t.LengthLo, t.LengthHi
		case "sum":
			first, most = t.OperandsLo, t.OperandsHi
		}
		for sum := range 2*moreThan + 1 {
			for more := range sum + 1 {
				i, j := lo+sum-more, first+more
				if sum-more > moreThan || more > moreThan || i > hi || j > most {
					continue
				}
				for p := range of.Each(i, j, ofLengths) {
					if !yield(p) {
						return
					}
				}
			}
		}
	}
}

// signs are the operators in the text of problems.
var signs = map[string]string{"addition": "+", "subtraction": "-", "multiplication": "*", "nx1": "*"}

// simple iterates over texts of problems with simple numbers.
func (t *Task) simple() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, kind := range t.kinds() {
			form := tasks.FormOf(kind)
			switch op := signs[kind]; {
			case op != "":
				if !t.pairs(op, form.Single(), yield) {
					return
				}
			case form.Arity == 1:
				if !t.singles(yield) {
					return
				}
			}
		}
	}
}

// singles yields the first thousand numbers of training.
func (t *Task) singles(yield func(string) bool) bool {
	for n := range 1000 {
		if x := t.atLeast(strconv.FormatInt(int64(n), t.Base)); t.inTraining(x) && !yield(x) {
			return false
		}
	}
	return true
}

// simpleNumbers have carries, repeated digits and zeros at the end.
var simpleNumbers = strings.Fields("0 1 2 5 9 10 12 19 21 55 90 99 7 3 88 27 72 100 101 199")

// pairs yields pairs of simple numbers, the simplest first.
func (t *Task) pairs(op string, single bool, yield func(string) bool) bool {
	for n := range simpleNumbers {
		for k := range 2*n + 1 {
			a, b := simpleNumbers[min(k, n)], simpleNumbers[min(2*n-k, n)]
			x, y := t.atLeast(t.inBase(a)), t.inBase(b)
			if !single {
				y = t.atLeast(y)
			}
			fits := t.inTraining(x, y) || single && len(y) == 1 && t.inTraining(x)
			if fits && !yield(x+op+y) {
				return false
			}
		}
	}
	return true
}

// inBase moves a number to the task's base: low digits keep their distance to 0, high
// digits to the largest digit.
func (t *Task) inBase(decimal string) string {
	out := make([]byte, len(decimal))
	for i := range out {
		d := int(decimal[i] - '0')
		switch {
		case d < 5:
			d = min(d, t.Base-1)
		case d == 5:
			d = t.Base / 2
		default:
			d = max(t.Base-10+d, 0)
		}
		out[i] = strconv.FormatInt(int64(d), t.Base)[0]
	}
	return strings.TrimLeft(string(out[:len(out)-1]), "0") + string(out[len(out)-1:])
}

// atLeast extends a number that is shorter than training's by a one and zeros in front.
func (t *Task) atLeast(x string) string {
	lo, _ := t.digits()
	if len(x) >= lo {
		return x
	}
	return "1" + strings.Repeat("0", lo-1-len(x)) + x
}

// inTraining reports whether training may have these operands. A loop never has the
// operand 0.
func (t *Task) inTraining(operands ...string) bool {
	lo, hi := t.digits()
	form := tasks.FormOf(t.Kind)
	if signs[t.Kind] == "" && t.Kind != "mixed" && form.Arity != 1 {
		return true
	}
	for i, x := range operands {
		if i > 0 && form.Single() {
			continue
		}
		if len(x) < lo || len(x) > hi || t.Sequence && x == "0" {
			return false
		}
		if n, err := strconv.ParseInt(x, t.Base, 64); t.Below > 0 && (err != nil || n >= t.Below) {
			return false
		}
	}
	return true
}

// newExercise returns a problem as tests have it, or nil if it does not fit.
func newExercise(t *task.Task, p task.Problem) *exercise {
	b, err := t.One(p)
	if err != nil {
		return nil
	}
	text := t.Text(p)
	if t.Arrays() { // including its letters
		text, _, _ = strings.Cut(t.Written(p), "=")
	}
	x := &exercise{of: t, text: text, source: b.Source, target: b.Target, labels: b.Labels}
	if t.ByLength() {
		x.recurrences = t.Recurrences(p)
	}
	read := b.Source
	if n := t.Prompt(p); n > 0 {
		x.asked, read = n-1, b.Target[:n]
		for i := range x.asked {
			x.labels[i] = -1
		}
	}
	var prompt []byte
	for _, id := range read {
		prompt = binary.AppendVarint(prompt, int64(id))
	}
	x.prompt = string(prompt)
	for i, id := range x.labels {
		if id >= 0 && (t.IsHint(id) || !t.EndCounts() && id == t.EOS()) { // ignored when an answer is judged
			x.labels[i] = -1
		}
	}
	return x
}
