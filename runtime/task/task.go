// Package task makes the problems that models learn: as text, as tokens and as
// labels. Nothing is stored and nothing has a state: a problem is a function of a
// seed and an index. Numbers are strings of digits and may have any length.
//
// An encoder-decoder reads operands and writes the answer. A decoder-only model
// reads and writes sequences, prompt=answer, in the words of McLeish et al. 2024
// (arXiv:2405.17399). Packages train and eval come after this one.
package task

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
)

// A Problem is a question and its answer: numbers in ordinary order without
// leading zeros, or vectors, or the entries of an array.
type Problem struct {
	Kind     string // a row of the task table
	Operands []string
	Answer   string
	Start    int    // the letter of the first digit's hint, or of an array's first entry
	Fillers  []byte // how many stand before each character; nil: none anywhere
}

// A Task is a Config with a seed.
type Task struct {
	cfg      Config
	kind     kind
	seed     uint64
	split    uint64               // seed of what is held out
	vocab    *vocabulary          // of sequences
	alphabet *alphabet            // of what is no sequence
	orders   func() []permutation // see fixedOrders
	trained  int64                // with Below or Examples: how many of them are trained on
	sides    func() split         // see bothSides
	known    func() map[uint64]bool
	unseen   func() []int64 // see knownInSet and unseenInSet
	parts    []*Task        // of a mixed task
	part     int            // number among those, which keeps their random numbers apart
	course   course         // of a training
	began    int64          // the first example of this stage of a course
	answers  [][]Problem    // of each round so far, those that are kept
}

// New returns the task of a Config. All its problems are functions of the seed, but for
// those held out and a set of Examples, which are of Config.Split where that is given.
func New(cfg Config, seed uint64) (*Task, error) {
	t := &Task{cfg: cfg, seed: seed, split: seed}
	if cfg.Split != nil {
		t.split = *cfg.Split
	}
	if cfg.Sequence {
		t.vocab = newVocabulary(&cfg)
	}
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("task %s: %w", cfg.Kind, err)
	}
	if cfg.Kind == "mixed" {
		return t, t.mix()
	}
	t.kind, _ = kindOf(&cfg)
	if !cfg.Sequence {
		t.alphabet = newAlphabet(&cfg, t.kind.op)
	}
	if t.Listed() {
		return t, t.readFile()
	}
	set := cmp.Or(cfg.Below, cfg.Examples)
	held := int64(cfg.Holdout * float64(set))
	if cfg.Holdout > 0 && set > 1 {
		held = max(held, 1)
	}
	t.trained = set - held
	t.orders = sync.OnceValue(t.fixedOrders)
	t.sides, t.known, t.unseen = sync.OnceValue(t.bothSides), sync.OnceValue(t.knownInSet), sync.OnceValue(t.unseenInSet)
	_, err := t.Width(t.largest())
	return t, err
}

// mix makes the parts of a mixed task.
func (t *Task) mix() error {
	n := int64(len(t.cfg.Of))
	for i, part := range t.cfg.Parts() {
		cfg := *part
		if cfg.Examples > 0 {
			cfg.Examples = (cfg.Examples + n - 1 - int64(i)) / n
		}
		u, err := New(cfg, t.seed)
		if err != nil {
			return err
		}
		u.vocab, u.part = t.vocab, i
		t.parts = append(t.parts, u)
	}
	t.kind = t.parts[0].kind
	return nil
}

// at is the part of the task that example k is of, and its number there: the parts
// of a mixed task take turns.
func (t *Task) at(k int64) (*Task, int64) {
	if n := int64(len(t.parts)); n > 0 {
		return t.parts[k%n], k / n
	}
	return t, k
}

// of is the part of the task that a problem is of.
func (t *Task) of(p Problem) *Task {
	for _, u := range t.parts {
		if u.kind.name == p.Kind {
			return u
		}
	}
	return t
}

// Pad is how wide problems are.
func (t *Task) Pad() Pad { return t.cfg.Pad }

// WithPad returns the same task at another width, for problems of another length.
func (t *Task) WithPad(p Pad) *Task {
	u := *t
	u.cfg.Pad = p
	u.parts = slices.Clone(t.parts)
	for i, part := range u.parts {
		u.parts[i] = part.WithPad(p)
	}
	return &u
}

// What a test of a file is of.
const (
	OfTestFile = "problems of the test file"
	OfHeldOut  = "held-out problems"
	OfTraining = "problems of training"
)

// Tested says which problems of a file a test is of; "" of other tasks.
func (t *Task) Tested() string {
	switch {
	case !t.Listed():
		return ""
	case t.cfg.Tests != "":
		return OfTestFile
	case t.HoldsOut():
		return OfHeldOut
	}
	return OfTraining
}

// Arrays reports whether a problem is an array, whose second length is its entries.
func (t *Task) Arrays() bool { return t.kind.family == arrays{} }

// Arity is the number of operands whose lengths are told apart: two of an array,
// whose entries and their number have one.
func (t *Task) Arity() int {
	if _, j := t.Extent(); j == 0 {
		return 1
	}
	return 2
}

// Trained is the number of digits of the longest operands of training.
func (t *Task) Trained() int {
	i, _ := t.Extent()
	return i
}

// Extent is the greatest lengths of training, as Cell takes them, of any part of a
// mixed task; j is 0 where problems have but one.
func (t *Task) Extent() (i, j int) {
	for _, u := range t.parts {
		a, b := u.Extent()
		i, j = max(i, a), max(j, b)
	}
	if len(t.parts) > 0 {
		return i, j
	}
	i = t.cfg.DigitsHi
	if t.cfg.Below > 0 {
		_, i = t.cfg.Digits()
	}
	switch f := t.kind.family.(type) {
	case arrays:
		return i, t.cfg.LengthHi
	case sums:
		return i, t.cfg.OperandsHi
	case *lines:
		return f.extent(t.cfg.Tokens), 0
	case numbers:
		if !f.grid(t) {
			return i, 0
		}
	}
	return i, i
}

// Axes says what the lengths i and j of Cell count; second is "" where there is
// but one.
func (t *Task) Axes() (first, second string) {
	_, j := t.Extent()
	switch {
	case t.Arrays():
		return "digits of an entry", "entries"
	case t.Sums():
		return "digits", "operands"
	case t.Listed():
		return "tokens of the prompt", ""
	case j == 0:
		return "digits", ""
	}
	return "digits of the first operand", "digits of the second operand"
}

// EndCounts reports whether an answer is right only with its end: not those of
// sorting (McLeish et al. 2024, the released code).
func (t *Task) EndCounts() bool { return !t.Arrays() && !t.cfg.Unended }

// Ends reports whether answers have an end that a model says; else their width says it.
func (t *Task) Ends() bool { return !t.cfg.Unended }

// largest is the widest problem of training, of all its rounds if it has some.
func (t *Task) largest() Problem {
	if t.cfg.Below == 0 {
		i := max(t.cfg.DigitsHi, t.cfg.Rounds.Until)
		j := i
		switch {
		case t.Arrays():
			j = t.cfg.LengthHi
		case t.Sums():
			j = t.cfg.OperandsHi
		}
		return t.longest(i, j)
	}
	d := draft{of: t}
	d.room(t.kind.arity)
	for operand := range d.operands {
		switch {
		case operand == 1 && t.single():
			d.operands[operand] = []byte{digits[t.cfg.Base-1]}
		case operand == 0 && t.kind.name == "subtraction":
			d.operands[operand] = t.cfg.smallest(t.cfg.fewest())
		default:
			d.operands[operand] = t.cfg.operand(t.cfg.highest())
		}
	}
	t.solve(&d)
	return d.problem()
}

// longest is the problem of the lengths i and j with the longest text.
func (t *Task) longest(i, j int) Problem {
	d := draft{of: t}
	t.kind.family.longest(t, &d, i, j)
	t.solve(&d)
	return d.problem()
}

// LongestIn is for each part of the task the problem with the longest text of those that
// Each yields of a cell.
func (t *Task) LongestIn(i, j int) []Problem {
	if len(t.parts) == 0 {
		return []Problem{t.longest(i, j)}
	}
	var all []Problem
	for _, u := range t.parts {
		all = append(all, u.LongestIn(i, j)...)
	}
	return all
}

// Longest is the source tokens and the target rows of the longest problem of training.
func (t *Task) Longest() (source, target int) {
	if f, ok := t.kind.family.(*lines); ok {
		s := t.cfg.LineSize(f.most)
		return s.Source, s.Target
	}
	for _, s := range t.cfg.TrainedSizes() {
		source, target = max(source, s.Source), max(target, s.Target)
	}
	return source, target
}

// ByLength reports whether the length of a problem says how often a loop runs on it.
func (t *Task) ByLength() bool { return t.cfg.Recurrences.ByLength() }

// Recurrences is how often a loop by length runs on a problem.
func (t *Task) Recurrences(p Problem) int {
	d := t.draft(p)
	d.of.mustWrite(d)
	return t.cfg.Recurrences.Of(d.length())
}

// MostRecurrences is how often a loop by length runs on the longest problems of training.
func (t *Task) MostRecurrences() int {
	most := 0
	for _, u := range t.parts {
		most = max(most, u.MostRecurrences())
	}
	if len(t.parts) == 0 {
		most = t.Recurrences(t.largest())
	}
	return most
}

// Varies says whether problems of one batch have several lengths.
func (t *Task) Varies() bool { return t.cfg.Sequence && !t.cfg.Padded }

// Rows is the target rows of the longest problem of training.
func (t *Task) Rows() int {
	_, rows := t.Longest()
	return rows
}

// Width is what the problems of one launch of a test share. For an encoder-decoder it
// is the number of places that operands and answer are padded to, if possible those of
// the longest answer to such operands: else the width would tell whether a one is
// carried out of the highest place. For sequences it is the rows: all tokens but the
// last.
func (t *Task) Width(p Problem) (int, error) {
	if t.cfg.Sequence {
		return t.tight(p)
	}
	d := t.draft(p)
	if need := t.room(d); t.cfg.Pad.Width(need) >= need {
		return t.shaped(t.cfg.Pad.Width(need), d), nil
	}
	return t.width(d)
}

// tight is the Width that fits a problem of training.
func (t *Task) tight(p Problem) (int, error) {
	d := t.draft(p)
	if !t.cfg.Sequence {
		return t.width(d)
	}
	err := d.of.write(d)
	return len(d.tokens) - 1, err
}

// fit is the width for a number of places.
func (t *Task) fit(need int) (int, error) {
	w := t.cfg.Pad.Width(need)
	if w < need {
		return 0, fmt.Errorf("a problem of %d digits does not fit in numbers padded to %d: give pad a step or a larger width", need, w)
	}
	return w, nil
}

// Shape is the number of source tokens and of target rows at a width.
func (t *Task) Shape(width int) (source, target int) {
	if t.cfg.Sequence {
		return 0, width
	}
	operands := t.kind.arity
	if n := width >> widthBits; t.Sums() {
		width, operands = width&widthMask, n
	}
	s := t.cfg.shape(t.kind, width, operands)
	return s.Source, s.Target
}
