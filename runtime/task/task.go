// Package task makes the problems that models learn: as text, as tokens and as
// labels. Nothing is stored and nothing has a state: a problem is a function of a
// seed and an index. Numbers are strings of digits and may have any length.
//
// An encoder-decoder reads operands and writes the answer. Package sequence writes both
// for decoder-only models. Packages arrays, lines, sums and vectors have the kinds whose
// operands are not one or two numbers, package carries draws for a curriculum, and package
// rounds asks a model. A Kit says what of these a program links. Packages train and eval come
// after this one.
package task

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/arithlang/mlc/runtime/philox"
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

// A Kit has the parts that tasks are made with. A program links the parts of its own task, and
// mlc links all.
type Kit struct {
	Kinds     []Kind                             // besides those of Numbers
	Sequences func(c *Config, k *Kind) Sequences // for decoder-only models
	Carrying  Carrying                           // for a Curriculum with carries
}

// A Carrying draws two numbers of these lengths whose sum has long carries.
type Carrying = func(t *Task, d *Draft, src *philox.Source, lengths [2]int)

// Sequences are problems as one text, prompt=answer, in the tokens of a vocabulary.
type Sequences interface {
	Vocabulary() *Vocabulary
	// Write makes the tokens of a draft. Lay writes them into a Batch of one.
	Write(t *Task, d *Draft) error
	Lay(d *Draft, b Batch)
	// Batch lays out the first n drafts of a Drawer.
	Batch(d *Drawer, n int) (Batch, error)
	// Hint draws where hints begin. Scatter draws fillers for a written draft.
	Hint(t *Task, d *Draft, src *philox.Source)
	Scatter(d *Draft, src *philox.Source)
	// Filled is the most rows of a problem that has so many without fillers.
	Filled(c *Config, rows int) int
}

// A Task is a Config with a seed.
type Task struct {
	cfg       Config
	kind      Kind
	seed      uint64
	split     uint64    // seed of the hold-out
	sequences Sequences // nil: of an encoder-decoder
	carrying  Carrying
	vocab     *Vocabulary
	ids       [128]int32           // of the symbols of an encoder-decoder
	orders    func() []permutation // see fixedOrders
	trained   int64                // with Below or Examples: the number trained on
	sides     func() split         // see bothSides
	known     func() map[uint64]bool
	unseen    func() []int64                                // see knownInSet and unseenInSet
	parts     []*Task                                       // of a mixed task
	part      int                                           // index in parts, which separates their random numbers
	course    course                                        // set by Over
	began     int64                                         // the first example of this stage of a course
	rounds    func(src *philox.Source) (p Problem, ok bool) // see WithRounds
}

// New returns the task of a Config, which the compiler has checked. Problems depend on the
// seed. If Config.Split is set, held-out problems and a set of Examples depend on it instead.
func New(cfg Config, seed uint64, with Kit) (*Task, error) {
	t := &Task{cfg: cfg, seed: seed, split: seed, carrying: with.Carrying}
	if cfg.Split != nil {
		t.split = *cfg.Split
	}
	t.kind, _ = with.KindOf(&cfg)
	if cfg.Sequence {
		t.sequences = with.Sequences(&cfg, &t.kind)
		t.vocab = t.sequences.Vocabulary()
	} else {
		t.vocab = alphabet(&cfg, t.kind.Op)
		for id, symbol := range t.vocab.Symbols {
			t.ids[symbol[0]] = int32(id)
		}
	}
	if cfg.Kind == "mixed" {
		return t, t.mix(with)
	}
	if f, ok := t.kind.Family.(Listing); ok {
		f, all, trained, err := f.Read(t)
		t.kind.Family, t.cfg.Examples, t.trained = f, int64(all), int64(trained)
		return t, err
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

// Seed is the seed of the task's problems.
func (t *Task) Seed() uint64 { return t.seed }

// Config returns the task's Config.
func (t *Task) Config() *Config { return &t.cfg }

// Kind is the kind of the task's problems; for a mixed task, the first part's.
func (t *Task) Kind() *Kind { return &t.kind }

// Sequences returns how problems are written as one text; nil for an encoder-decoder.
func (t *Task) Sequences() Sequences { return t.sequences }

// All returns the parts of a mixed task, or else the task itself.
func (t *Task) All() []*Task {
	if len(t.parts) > 0 {
		return t.parts
	}
	return []*Task{t}
}

// mix makes the parts of a mixed task.
func (t *Task) mix(with Kit) error {
	n := int64(len(t.cfg.Of))
	for i, part := range t.cfg.Parts() {
		cfg := *part
		if cfg.Examples > 0 {
			cfg.Examples = (cfg.Examples + n - 1 - int64(i)) / n
		}
		u, err := New(cfg, t.seed, with)
		if err != nil {
			return err
		}
		u.sequences, u.vocab, u.part = t.sequences, t.vocab, i
		t.parts = append(t.parts, u)
	}
	t.kind = t.parts[0].kind
	return nil
}

// at returns the part of the task that makes example k, and the example's number there. The
// parts of a mixed task take turns.
func (t *Task) at(k int64) (*Task, int64) {
	if n := int64(len(t.parts)); n > 0 {
		return t.parts[k%n], k / n
	}
	return t, k
}

// of returns the part of the task that makes problems of p's kind.
func (t *Task) of(p Problem) *Task {
	for _, u := range t.parts {
		if u.kind.Name == p.Kind {
			return u
		}
	}
	return t
}

// Pad is the padding of problems.
func (t *Task) Pad() Pad { return t.cfg.Pad }

// WithPad returns the same task with another padding, for problems of another length.
func (t *Task) WithPad(p Pad) *Task {
	u := *t
	u.cfg.Pad = p
	u.parts = slices.Clone(t.parts)
	for i, part := range u.parts {
		u.parts[i] = part.WithPad(p)
	}
	return &u
}

// The problems that a test of a file has.
const (
	OfTestFile = "problems of the test file"
	OfHeldOut  = "held-out problems"
	OfTraining = "problems of training"
)

// Tested says which problems of a file are tested; "" for other tasks.
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

// Arrays reports whether a problem is an array. Its second length is the number of entries.
func (t *Task) Arrays() bool { return t.kind.Name == "sort" }

// Arity is the number of lengths that a problem has. An array has two: of its entries, and
// their number.
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

// Extent returns the greatest lengths of training over all parts, as Cell takes them; j is 0 if
// problems have one length.
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
	switch f := t.kind.Family.(type) {
	case Listing:
		return f.Extent(t), 0
	case numbers:
		if !f.grid(t) {
			return i, 0
		}
	}
	return i, t.mostSecond(i)
}

// Axes says what the lengths i and j of Cell count; second is "" if problems have one length.
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

// EndCounts reports whether an answer is right only with its end. Sorting ignores the end
// (McLeish et al. 2024, the released code).
func (t *Task) EndCounts() bool { return !t.Arrays() && !t.cfg.Unended }

// Ends reports whether a model writes the end of an answer; else the width ends it.
func (t *Task) Ends() bool { return !t.cfg.Unended }

// mostSecond is the greatest second length of training when operands have up to so many digits.
func (t *Task) mostSecond(digits int) int {
	switch {
	case t.Arrays():
		return t.cfg.LengthHi
	case t.Sums():
		return t.cfg.OperandsHi
	}
	return digits
}

// largest is the widest problem of training, rounds included.
func (t *Task) largest() (longest Problem) {
	if t.cfg.Below == 0 || t.Listed() {
		i := max(t.cfg.DigitsHi, t.cfg.Rounds.Until)
		return t.longest(i, t.mostSecond(i))
	}
	d := Draft{of: t}
	d.Room(t.kind.Arity)
	top := t.cfg.Operand(t.cfg.Highest())
	for operand := range d.Operands {
		d.Operands[operand] = top
		if operand == 1 && t.single() {
			d.Operands[operand] = []byte{Digits[t.cfg.Base-1]}
		}
	}
	if t.kind.Name != "subtraction" {
		t.solve(&d)
		return d.Problem()
	}
	most := 0
	for n := 1; n <= len(top); n++ { // a longer number may leave a shorter difference
		d.Operands[0] = t.cfg.Smallest(n)
		t.solve(&d)
		p := d.Problem()
		if rows, err := t.tight(p); n == 1 || err == nil && rows > most {
			longest, most = p, rows
		}
	}
	return longest
}

// longest is the problem of the lengths i and j with the longest text.
func (t *Task) longest(i, j int) Problem {
	d := Draft{of: t}
	t.kind.Family.Longest(t, &d, i, j)
	t.solve(&d)
	return d.Problem()
}

// LongestIn returns for each part of the task the problem with the longest text in a cell.
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

// Longest returns the source tokens and target rows of the longest problem of training. They
// include fillers and any answer that a model may give in rounds.
func (t *Task) Longest() (source, target int) {
	for _, u := range t.All() {
		for _, p := range u.widest() {
			width, err := u.tight(p)
			if err != nil {
				continue
			}
			s, rows := u.Shape(width)
			if u.cfg.Sequence {
				rows = u.sequences.Filled(&u.cfg, rows)
			}
			source, target = max(source, s), max(target, rows)
		}
	}
	return source, target
}

// widest returns a few problems of training; one of them is the longest.
func (t *Task) widest() []Problem {
	p := t.largest()
	all := []Problem{p}
	if t.cfg.Rounds.Any() || t.kind.Name == "parity" && t.cfg.Below > 0 {
		p.Answer = string(t.Bound(t.Draft(p).Operands))
		all = append(all, p)
	}
	if t.kind.Name == "subtraction" && t.cfg.Below == 0 {
		for n := t.cfg.DigitsLo; n < t.cfg.DigitsHi; n++ { // in base 2 a shorter number leaves a longer difference
			all = append(all, t.longest(n, t.cfg.DigitsHi))
		}
	}
	return all
}

// ByLength reports whether a problem's length decides how often a loop runs.
func (t *Task) ByLength() bool { return t.cfg.Recurrences.ByLength() }

// Recurrences is how often a loop by length runs on a problem.
func (t *Task) Recurrences(p Problem) int {
	d := t.Draft(p)
	d.of.mustWrite(d)
	return t.cfg.Recurrences.Of(d.Length())
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

// Varies reports whether the problems of a batch may differ in length.
func (t *Task) Varies() bool { return t.cfg.Sequence && !t.cfg.Padded }

// Rows is the target rows of the longest problem of training.
func (t *Task) Rows() int {
	_, rows := t.Longest()
	return rows
}

// Width is the width that problems of one launch of a test share. For an encoder-decoder it is
// the places that operands and answer are padded to. If Pad allows, the longest answer to
// operands of these lengths fits: else the width would reveal a carry out of the highest place.
// For sequences it is the rows, the number of tokens less one.
func (t *Task) Width(p Problem) (int, error) {
	if t.cfg.Sequence {
		return t.tight(p)
	}
	d := t.Draft(p)
	if need := t.room(d); t.cfg.Pad.Width(need) >= need {
		return t.shaped(t.cfg.Pad.Width(need), d), nil
	}
	return t.PlacesOf(d)
}

// tight is the smallest width that fits a problem.
func (t *Task) tight(p Problem) (int, error) {
	d := t.Draft(p)
	if !t.cfg.Sequence {
		return t.PlacesOf(d)
	}
	err := d.of.sequences.Write(d.of, d)
	return len(d.Tokens) - 1, err
}

// fit is the padded width for a number of places.
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
	operands := t.kind.Arity
	if n := width >> widthBits; t.Sums() {
		width, operands = width&widthMask, n
	}
	return t.cfg.Shape(&t.kind, width, operands)
}

// Sums reports whether a problem is a sum. Its second length is the number of operands.
func (t *Task) Sums() bool { return t.kind.Name == "sum" }

// Many reports whether the second length of Cell counts entries or operands, not digits.
func (t *Task) Many() bool { return t.Arrays() || t.Sums() }

// Listed reports whether a file lists the problems. Lengths returns their lengths.
func (t *Task) Listed() bool { return t.cfg.Listed() }

// Listed reports whether a file lists the problems, or is a text of windows.
func (c *Config) Listed() bool { return c.Kind == "file" || c.Kind == "text" }

// Reads reports whether problems are windows of a text, which have no answers.
func (t *Task) Reads() bool { return t.cfg.Kind == "text" }

// Retest makes the problems of another file the tests of t. Its tokens are those of the task.
func (t *Task) Retest(file string) error {
	f, ok := t.kind.Family.(interface {
		Retest(*Task, string) (Family, error)
	})
	if !ok {
		return fmt.Errorf("the problems are no lines of a file")
	}
	with, err := f.Retest(t, file)
	if err == nil {
		t.kind.Family, t.cfg.Tests = with, file
	}
	return err
}

// Lengths returns the lengths in tokens of a file's tested prompts, in ascending order.
func (t *Task) Lengths() []int {
	if f, ok := t.kind.Family.(Listing); ok {
		return f.Lengths()
	}
	return nil
}

// The width of sums holds their number of operands above widthBits: both decide how long a
// problem is.
const (
	widthBits = 32
	widthMask = 1<<widthBits - 1
)

// shaped is the width of problems whose numbers have so many places and that have as many
// operands as the draft.
func (t *Task) shaped(places int, d *Draft) int {
	if t.Sums() {
		return len(d.Operands)<<widthBits | places
	}
	return places
}

// number is how many operands example k has. Training examples of one batch have equally many.
func (t *Task) number(k int64, held bool, src *philox.Source) int {
	if !t.Sums() {
		return t.kind.Arity
	}
	if !held {
		src = t.Source(philox.Cells, uint64(k/int64(max(t.cfg.Batch, 1))))
	}
	return t.cfg.OperandsLo + src.Intn(t.cfg.OperandsHi-t.cfg.OperandsLo+1)
}

// Bound is a number as long as the longest answer to operands of these lengths, right or wrong.
func (t *Task) Bound(x [][]byte) []byte {
	n := t.cfg.Asked(len(x[0]), len(x[len(x)-1]))
	if t.kind.Name == "subtraction" {
		return append([]byte("-1"), strings.Repeat("0", n-2)...)
	}
	return append([]byte("1"), strings.Repeat("0", n-1)...)
}
