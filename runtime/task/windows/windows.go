// Package windows makes the problems of a text: windows of it, in which each token predicts the
// next one. The text ends with a part that training never reads.
package windows

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/arithlang/mlc/runtime/philox"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/task/sequence"
)

// windows are the problems of a text. A problem has one operand: the tokens that the model reads
// and the one after them. Training draws where a window begins. Held-out windows follow each other
// and share one token, so that each token after the first is predicted once.
type windows struct {
	symbols []string
	tokens  []uint16 // of the whole text
	length  int      // tokens that a problem reads, at most
	trained int      // tokens of the text that are trained on
}

// Kind returns the kind "text".
func Kind() task.Kind {
	return task.Kind{Name: "text", Arity: 1, Family: &windows{}, Expects: "the beginning of a text"}
}

// Cut returns how many of n tokens are trained on if a share of them, at the end, is held out.
func Cut(n int, share float64) int { return n - int(math.Round(share*float64(n))) }

// Check wants windows of the given length, in tokens, in both parts of a text of n tokens.
func Check(n, length int, share float64) error {
	trained := Cut(n, share)
	switch held := n - trained; {
	case trained < length+1:
		return fmt.Errorf("training has %d characters of the text, and a window of length %d needs %d", trained, length, length+1)
	case share > 0 && held < length+1:
		return fmt.Errorf("%d characters of the text are held out, and a window of length %d needs %d", held, length, length+1)
	}
	return nil
}

// Read reads the text of a task's Config.
func (*windows) Read(t *task.Task) (_ task.Listing, all, trained int, err error) {
	c := t.Config()
	f := &windows{symbols: t.Sequences().Vocabulary().Symbols, length: c.LengthHi}
	f.tokens = make([]uint16, 0, len(c.Problems))
	v := t.Sequences().(*sequence.Vocabulary)
	for _, r := range c.Problems {
		f.tokens = append(f.tokens, uint16(v.ID(r)))
	}
	f.trained = Cut(len(f.tokens), c.Holdout)
	if err := Check(len(f.tokens), f.length, c.Holdout); err != nil {
		return nil, 0, 0, err
	}
	trained = f.windows(f.trained)
	if c.Holdout > 0 {
		all = f.windows(len(f.tokens) - f.trained)
	}
	return f, trained + all, trained, nil
}

// windows returns how many windows predict each token of a text of n, except the first.
func (f *windows) windows(n int) int { return (n - 1 + f.length - 1) / f.length }

// tested returns the tokens that tests read: those held out, or all that are trained on.
func (f *windows) tested() []uint16 {
	if f.trained == len(f.tokens) {
		return f.tokens
	}
	return f.tokens[f.trained:]
}

// take makes the problem of a window that begins at a token of a text.
func (f *windows) take(d *task.Draft, text []uint16, at int) {
	d.Room(1)
	d.Operands[0], d.Answer = d.Operands[0][:0], d.Answer[:0]
	for _, id := range text[at:min(at+f.length+1, len(text))] {
		d.Operands[0] = append(d.Operands[0], f.symbols[id]...)
	}
}

func (f *windows) Cells(t *task.Task) int64 { return t.Config().Examples }

// Draw takes a window of training from anywhere, whatever its number, and a held-out window by its
// number. The first held-out numbers are spread over all of the part.
func (f *windows) Draw(t *task.Task, d *task.Draft, number int64, src *philox.Source) {
	trained := f.windows(f.trained)
	if number < int64(trained) {
		f.take(d, f.tokens[:f.trained], src.Intn(f.trained-f.length))
		return
	}
	held := f.windows(len(f.tokens) - f.trained)
	f.take(d, f.tested(), spread(int(number)-trained, held)*f.length)
}

// spread is place k of an order of 0 … n-1 in which the first places are far apart.
func spread(k, n int) int {
	step := int(math.Round(float64(n) * (math.Sqrt(5) - 1) / 2))
	for step > 1 && common(step, n) > 1 {
		step--
	}
	return int(int64(k) * int64(max(step, 1)) % int64(n))
}

// common is the greatest common divisor.
func common(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// Count is the number of windows that tests read.
func (f *windows) Count(*task.Task, int, int) uint64 { return uint64(f.windows(len(f.tested()))) }

// Test takes a tested window.
func (f *windows) Test(_ *task.Task, d *task.Draft, _, _ int, n int64, _ *philox.Source) {
	f.take(d, f.tested(), int(n)*f.length)
}

func (f *windows) Longest(_ *task.Task, d *task.Draft, _, _ int) { f.take(d, f.tokens, 0) }

// Parse wants text whose characters the vocabulary has.
func (f *windows) Parse(_ *task.Task, text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", fmt.Errorf("the text is no UTF-8")
	}
	for _, c := range strings.Split(text, "") {
		if !slices.Contains(f.symbols, c) {
			return "", fmt.Errorf("the text that was trained on has no %q, its characters are %q", c, strings.Join(f.symbols, ""))
		}
	}
	return text, nil
}

// Extent is the number of tokens that a problem reads.
func (f *windows) Extent(*task.Task) int { return f.length }

// Lengths are none: tests are not divided by length.
func (f *windows) Lengths() []int { return nil }

// ParseLine reads the beginning of a text.
func (f *windows) ParseLine(t *task.Task, text string) (task.Problem, error) {
	if text == "" {
		return task.Problem{}, fmt.Errorf("a text begins with a character at least")
	}
	if _, err := f.Parse(t, text); err != nil {
		return task.Problem{}, fmt.Errorf("%s: %w", task.Quote(text), err)
	}
	return task.Problem{Kind: "text", Operands: []string{text}}, nil
}

// Characters returns the different characters of a text, in the order of Unicode.
func Characters(text string) []string {
	used := map[rune]bool{}
	for _, r := range text {
		used[r] = true
	}
	var all []string
	for r := range used {
		all = append(all, string(r))
	}
	slices.Sort(all) // the bytes of UTF-8 have the order of Unicode
	return all
}

// Vocabulary returns the characters of a text. Nothing else is a token.
func (*windows) Vocabulary(c *task.Config) *sequence.Vocabulary {
	all := Characters(c.Problems)
	v := sequence.Of(all, int32(len(all)), 0, 0)
	v.Endless, v.Vocabulary().Filler = true, -1
	for id, symbol := range all {
		r, _ := utf8.DecodeRuneInString(symbol)
		v.Set(r, int32(id))
	}
	return v
}

// Write writes a window. Every token after the first is to be predicted.
func (f *windows) Write(v *sequence.Vocabulary, d *task.Draft) {
	for i, r := range string(d.Operands[0]) {
		sequence.Add(d, v.ID(r))
		if i == 0 {
			sequence.Asks(d)
		}
	}
}

func (*windows) Distinct(*task.Config, int) float64 { return math.Inf(1) }

func (*windows) Domain(*task.Task, func([][]byte) bool) {}

func (*windows) Chance(*task.Task, task.Problem) float64 { return 0 }
