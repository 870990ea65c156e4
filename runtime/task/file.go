package task

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/runtime/philox"
	"github.com/arithlang/mlc/runtime/tokens"
)

// ofFile is the kind of the problems that a file lists.
const ofFile = "file"

// lines are problems that a file lists, one a line. A problem has one operand, its
// prompt, and is written as it stands. Training walks the lines again and again,
// each epoch in an order of its own.
type lines struct {
	text      string
	separator string
	between   []int32       // the tokens of the separator
	all       []entry       // those that are trained on, those held out, those of the file of tests
	trained   int           // lines that are trained on
	tests     map[int][]int // lines that are tested, by the length of their prompt
	long      entry         // with most tokens
	most      int           // which are so many, without the end
	answer    int           // tokens of the longest answer
}

// An entry is the places in the text of a line, the end of its prompt and its end.
type entry struct{ start, prompt, end int32 }

// readFile reads the lines of the Config.
func (t *Task) readFile() error {
	f := &lines{text: t.cfg.Problems + t.cfg.Tests, separator: t.cfg.Separator, tests: map[int][]int{}}
	for _, token := range t.cfg.Tokens.Separator(t.cfg.Separator) {
		f.between = append(f.between, t.vocab.idOf([]byte(token)))
	}
	if err := f.split(t.cfg.Problems, t.cfg.Holdout, t.seedOf(philox.Split)); err != nil {
		return err
	}
	t.cfg.Examples, t.trained = int64(len(f.all)), int64(f.trained)
	tested := f.trained % len(f.all) // all, where none is held out
	if t.cfg.Tests != "" {
		tested = len(f.all)
		if err := f.cut(t.cfg.Tests, len(t.cfg.Problems), func(e entry, _ string) { f.all = append(f.all, e) }); err != nil {
			return fmt.Errorf("the tests: %w", err)
		}
	}
	count := t.cfg.Tokens.Count
	for i, e := range f.all {
		prompt, answer := count(f.prompt(e)), count(f.answerOf(e))
		if n := prompt + len(f.between) + answer; n > f.most {
			f.most, f.long = n, e
		}
		f.answer = max(f.answer, answer)
		if i >= tested {
			f.tests[prompt] = append(f.tests[prompt], i)
		}
	}
	t.kind.family = f
	return nil
}

// cut calls f with each line of a file that begins at a place of the text, and with its
// prompt.
func (f *lines) cut(file string, at int, each func(e entry, prompt string)) error {
	number := 1
	for line := range strings.Lines(file) {
		prompt, answer, found := strings.Cut(strings.TrimSuffix(line, "\n"), f.separator)
		if !found || prompt == "" || answer == "" {
			return fmt.Errorf("line %d is no problem: want prompt%sanswer", number, f.separator)
		}
		each(entry{int32(at), int32(at + len(prompt)), int32(at + len(prompt) + len(f.separator) + len(answer))}, prompt)
		at += len(line)
		number++
	}
	return nil
}

// split orders the lines of a file by a hash of prompt and seed and holds out the last
// of them, at least one if any are asked for. Lines with the same prompt are on the same
// side.
func (f *lines) split(file string, share float64, seed uint64) error {
	type keyed struct {
		entry
		key uint64
	}
	var all []keyed
	err := f.cut(file, 0, func(e entry, prompt string) {
		src := philox.NewSource(seed, philox.Split, fnv(uint64(fnvOffset), prompt), 0)
		all = append(all, keyed{e, uint64(src.Uint32())<<32 | uint64(src.Uint32())})
	})
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b keyed) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.start, b.start)) })
	n := len(all)
	f.trained = n
	if share > 0 && n > 0 {
		f.trained = n - max(1, int(math.Round(share*float64(n))))
		together := func(i int) bool { return i < n && i > 0 && all[i-1].key == all[i].key }
		for together(f.trained) {
			f.trained--
		}
		if f.trained == 0 { // then the first prompt is trained on, whatever its share
			for f.trained = 1; together(f.trained); f.trained++ {
			}
		}
		if f.trained == n {
			return fmt.Errorf("a file of one prompt has none to hold out")
		}
	}
	for _, k := range all {
		f.all = append(f.all, k.entry)
	}
	if n == 0 {
		return fmt.Errorf("a file without problems")
	}
	return nil
}

func (f *lines) prompt(e entry) string { return f.text[e.start:e.prompt] }

func (f *lines) answerOf(e entry) string { return f.text[int(e.prompt)+len(f.separator) : e.end] }

// fromFile makes example k of the lines that are trained on, or held out.
func (t *Task) fromFile(d *draft, k int64, held bool) {
	line := t.placeInSet(k, held)
	if !held {
		order := t.order(philox.Epochs, t.trained, uint32(k/t.trained), 0)
		line = order.at(line)
	}
	src := t.source(d, side(held), uint64(k))
	t.kind.family.draw(t, d, line, src)
	t.decorate(d, src, held)
}

func (f *lines) cells(t *Task) int64 { return t.cfg.Examples }

// draw takes a line.
func (f *lines) draw(t *Task, d *draft, line int64, _ *philox.Source) {
	d.of = t
	f.take(d, f.all[line])
}

func (f *lines) take(d *draft, e entry) {
	d.room(1)
	d.operands[0] = append(d.operands[0][:0], f.prompt(e)...)
	d.answer = append(d.answer[:0], f.answerOf(e)...)
}

// count is the number of test problems with prompts of i tokens.
func (f *lines) count(_ *Task, i, _ int) uint64 { return uint64(len(f.tests[i])) }

func (f *lines) test(t *Task, d *draft, i, _ int, n int64, src *philox.Source) {
	f.draw(t, d, int64(f.tests[i][n]), src)
}

func (f *lines) longest(_ *Task, d *draft, _, _ int) { f.take(d, f.long) }

// parse wants tokens that the file has, and gives them as it has them.
func (f *lines) parse(t *Task, text string) (string, error) {
	cut, err := t.cfg.Tokens.Cut(text)
	if err != nil {
		return "", err
	}
	for _, token := range cut {
		if t.vocab.idOf([]byte(token)) == padID {
			return "", fmt.Errorf("the file has no %q, its tokens are %s", token, t.someTokens())
		}
	}
	return t.cfg.Tokens.Join(cut), nil
}

// someTokens lists the first tokens of a file.
func (t *Task) someTokens() string {
	const few = 20
	var own []string
	for _, token := range t.vocab.symbols[t.vocab.digits[0]:] {
		if strings.TrimSpace(token) != token {
			token = strconv.Quote(token)
		}
		own = append(own, token)
	}
	if len(own) <= few {
		return strings.Join(own, " ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(own[:few], " "), len(own)-few)
}

// extent is the longest prompt that is trained on, in tokens.
func (f *lines) extent(rule tokens.Rule) (most int) {
	for _, e := range f.all[:f.trained] {
		most = max(most, rule.Count(f.prompt(e)))
	}
	return most
}

// room is how many tokens an answer may have that is not known: those of the longest
// in the file, but no more than the longest line leaves behind a prompt.
func (f *lines) room(prompt int) int { return max(1, min(f.answer, f.most-prompt)) }

// Listed reports whether problems are those of a file, whose lengths are not to be
// chosen: Lengths has them.
func (t *Task) Listed() bool { return t.cfg.Listed() }

// Listed reports whether problems are those of a file.
func (c *Config) Listed() bool { return c.Kind == ofFile }

// Lengths are the lengths in tokens of the prompts that can be tested, in ascending
// order, if problems are those of a file.
func (t *Task) Lengths() []int {
	f, ok := t.kind.family.(*lines)
	if !ok {
		return nil
	}
	return slices.Sorted(maps.Keys(f.tests))
}

// parseListed reads a prompt, or a prompt with its answer as the file has them. The
// answer to a prompt alone is that of the file's first line with it, or not known.
func (t *Task) parseListed(text string) (Problem, error) {
	f := t.kind.family.(*lines)
	prompt, answer, _ := strings.Cut(text, f.separator)
	for _, x := range []*string{&prompt, &answer} {
		var err error
		if *x, err = f.parse(t, *x); err != nil {
			return Problem{}, fmt.Errorf("%s: %w; expected %s", quote(text), err, t.kind.expects)
		}
	}
	if prompt == "" {
		return Problem{}, fmt.Errorf("%s: the prompt is missing; expected %s", quote(text), t.kind.expects)
	}
	if answer == "" {
		first := len(f.text)
		for _, e := range f.all {
			if f.prompt(e) == prompt && int(e.start) < first {
				first, answer = int(e.start), f.answerOf(e)
			}
		}
	}
	return Problem{Kind: ofFile, Operands: []string{prompt}, Answer: answer}, nil
}

// checkFile wants a Config of a file that makes problems.
func (c *Config) checkFile() error {
	switch {
	case !c.Sequence:
		return fmt.Errorf("encoder-decoders do not have it: use a decoder-only model")
	case c.Separator == "":
		return fmt.Errorf("no separator stands between prompt and answer")
	case len(c.Problems)+len(c.Tests) > math.MaxInt32:
		return fmt.Errorf("%d bytes of problems: at most %d can be numbered", len(c.Problems)+len(c.Tests), math.MaxInt32)
	case c.Holdout < 0 || c.Holdout >= 1 || c.RandomPad < 0 || c.RandomPad > 1:
		return fmt.Errorf("a hold-out of %g, random padding of %g: want fractions", c.Holdout, c.RandomPad)
	}
	return nil
}
