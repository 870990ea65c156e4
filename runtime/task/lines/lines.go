// Package lines makes the problems of tasks that a file lists.
package lines

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/arithlang/mlc/runtime/philox"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/task/sequence"
	"github.com/arithlang/mlc/runtime/tokens"
)

// lines are problems that a file lists, one a line. A problem has one operand, its prompt, and
// is written unchanged. Training walks the lines epoch by epoch, each epoch in its own order.
type lines struct {
	vocab     *sequence.Vocabulary
	text      string
	separator string
	between   []int32       // the tokens of the separator
	all       []entry       // trained on, then held out, then the file of tests
	trained   int           // lines that are trained on
	tests     map[int][]int // tested lines, by the length of their prompt
	long      entry         // has the most tokens
	most      int           // tokens of long, without the end
	answer    int           // tokens of the longest answer
}

// An entry is where a line starts in the text, where its prompt ends and where it ends.
type entry struct{ start, prompt, end int32 }

// Kind returns the kind "file".
func Kind() task.Kind {
	return task.Kind{Name: "file", Arity: 1, Family: &lines{}, Fill: '0', Expects: "a prompt as the file has them"}
}

// Read reads the lines of a task's Config.
func (*lines) Read(t *task.Task) (_ task.Listing, all, trained int, err error) {
	c := t.Config()
	f := &lines{vocab: t.Sequences().(*sequence.Vocabulary), text: c.Problems + c.Tests, separator: c.Separator, tests: map[int][]int{}}
	for _, token := range c.Tokens.Separator(c.Separator) {
		f.between = append(f.between, f.id([]byte(token)))
	}
	if err := f.split(c.Problems, c.Holdout, t.SplitSeed()); err != nil {
		return nil, 0, 0, err
	}
	all = len(f.all)
	tested := f.trained % all // all, if none is held out
	if c.Tests != "" {
		tested = all
		if err := f.cut(c.Tests, len(c.Problems), func(e entry, _ string) { f.all = append(f.all, e) }); err != nil {
			return nil, 0, 0, fmt.Errorf("the tests: %w", err)
		}
	}
	f.measure(c, 0, tested)
	return f, all, f.trained, nil
}

// measure counts the tokens of the lines from first on. Those from tested on are tests.
func (f *lines) measure(c *task.Config, first, tested int) {
	for i, e := range f.all[first:] {
		prompt, answer := c.Tokens.Count(f.prompt(e)), c.Tokens.Count(f.answerOf(e))
		if n := prompt + len(f.between) + answer; n > f.most {
			f.most, f.long = n, e
		}
		f.answer = max(f.answer, answer)
		if first+i >= tested {
			f.tests[prompt] = append(f.tests[prompt], first+i)
		}
	}
}

// Retest reads a file with any line ends, with or without a byte order mark.
func (f *lines) Retest(t *task.Task, file string) (task.Family, error) {
	var text strings.Builder
	for line := range strings.Lines(strings.TrimPrefix(file, "\ufeff")) {
		line = strings.TrimRight(line, "\r\n")
		p, err := f.ParseLine(t, line)
		if _, answer, _ := strings.Cut(line, f.separator); err == nil && answer == "" {
			err = fmt.Errorf("%s: want prompt%sanswer", task.Quote(line), f.separator)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", 1+strings.Count(text.String(), "\n"), err)
		}
		text.WriteString(p.Operands[0] + f.separator + p.Answer + "\n")
	}
	if text.Len() == 0 || text.Len() > math.MaxInt32-len(f.text) {
		return nil, fmt.Errorf("%d bytes of problems: want a problem a line, in a file that is not too large", text.Len())
	}
	g, n := *f, len(f.all)
	g.text, g.all, g.tests = f.text+text.String(), slices.Clone(f.all), map[int][]int{}
	err := g.cut(text.String(), len(f.text), func(e entry, _ string) { g.all = append(g.all, e) })
	g.measure(t.Config(), n, n)
	return &g, err
}

// cut calls each with every line and its prompt. The file begins at a place of the text.
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

// split orders the lines of a file by a hash of prompt and seed, and holds out the last, at
// least one if share > 0. Lines with the same prompt are on the same side.
func (f *lines) split(file string, share float64, seed uint64) error {
	type keyed struct {
		entry
		key uint64
	}
	var all []keyed
	err := f.cut(file, 0, func(e entry, prompt string) {
		src := philox.NewSource(seed, philox.Split, task.Hash(uint64(task.HashOffset), prompt), 0)
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
		if f.trained == 0 { // train on the first prompt, whatever its share
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

func (f *lines) Cells(t *task.Task) int64 { return t.Config().Examples }

// Draw takes a line.
func (f *lines) Draw(_ *task.Task, d *task.Draft, line int64, _ *philox.Source) {
	f.take(d, f.all[line])
}

func (f *lines) take(d *task.Draft, e entry) {
	d.Room(1)
	d.Operands[0] = append(d.Operands[0][:0], f.prompt(e)...)
	d.Answer = append(d.Answer[:0], f.answerOf(e)...)
}

// Count is the number of test problems with prompts of i tokens.
func (f *lines) Count(_ *task.Task, i, _ int) uint64 { return uint64(len(f.tests[i])) }

func (f *lines) Test(t *task.Task, d *task.Draft, i, _ int, n int64, src *philox.Source) {
	f.Draw(t, d, int64(f.tests[i][n]), src)
}

func (f *lines) Longest(_ *task.Task, d *task.Draft, _, _ int) { f.take(d, f.long) }

// Parse returns text in the file's tokens. It fails on a token that the file lacks.
func (f *lines) Parse(t *task.Task, text string) (string, error) {
	cut, err := t.Config().Tokens.Cut(text)
	if err != nil {
		return "", err
	}
	for _, token := range cut {
		if f.id([]byte(token)) == sequence.PadID {
			return "", fmt.Errorf("the file has no %q, its tokens are %s", token, f.someTokens())
		}
	}
	return t.Config().Tokens.Join(cut), nil
}

// someTokens lists the first tokens of a file.
func (f *lines) someTokens() string {
	const few = 20
	var own []string
	for _, token := range f.vocab.Vocabulary().Symbols[first:] {
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

// Extent is the length of the longest trained prompt, in tokens.
func (f *lines) Extent(t *task.Task) (most int) {
	for _, e := range f.all[:f.trained] {
		most = max(most, t.Config().Tokens.Count(f.prompt(e)))
	}
	return most
}

// room is the most tokens of an unknown answer: as many as the longest answer of the file has,
// if the line stays no longer than the longest line.
func (f *lines) room(prompt int) int { return max(1, min(f.answer, f.most-prompt)) }

// Lengths returns the lengths in tokens of the tested prompts, in ascending order.
func (f *lines) Lengths() []int { return slices.Sorted(maps.Keys(f.tests)) }

// ParseLine reads a prompt, or a prompt with its answer as the file writes them. A prompt alone
// gets the answer of the file's first line with this prompt, if any.
func (f *lines) ParseLine(t *task.Task, text string) (task.Problem, error) {
	prompt, answer, _ := strings.Cut(text, f.separator)
	for _, x := range []*string{&prompt, &answer} {
		var err error
		if *x, err = f.Parse(t, *x); err != nil {
			return task.Problem{}, fmt.Errorf("%s: %w; expected %s", task.Quote(text), err, t.Kind().Expects)
		}
	}
	if prompt == "" {
		return task.Problem{}, fmt.Errorf("%s: the prompt is missing; expected %s", task.Quote(text), t.Kind().Expects)
	}
	if answer == "" {
		first := len(f.text)
		for _, e := range f.all {
			if f.prompt(e) == prompt && int(e.start) < first {
				first, answer = int(e.start), f.answerOf(e)
			}
		}
	}
	return task.Problem{Kind: "file", Operands: []string{prompt}, Answer: answer}, nil
}

// first is the first token that comes from the file.
const first = 2

// Vocabulary returns a file's tokens after a filler and the end.
func (*lines) Vocabulary(c *task.Config) *sequence.Vocabulary {
	used := map[string]bool{}
	take := func(text string) {
		for rest := []byte(text); len(rest) > 0; {
			var token []byte
			token, rest = c.Tokens.Next(rest)
			used[string(token)] = true
		}
	}
	for _, file := range []string{c.Problems, c.Tests} {
		for line := range strings.Lines(file) {
			prompt, answer, _ := strings.Cut(strings.TrimSuffix(line, "\n"), c.Separator)
			take(prompt)
			take(answer)
		}
	}
	for _, token := range c.Tokens.Separator(c.Separator) {
		used[token] = true
	}
	own, digits := c.Tokens.Vocabulary(used)
	v := sequence.Of(append([]string{" ", "$"}, own...), 1, first, digits)
	if c.Tokens != (tokens.Rule{}) {
		v.Words = map[string]int32{}
	}
	for i, token := range own {
		id := int32(first + i)
		if r, _ := utf8.DecodeRuneInString(token); v.Words == nil {
			v.Set(r, id)
		} else {
			v.Words[token] = id
		}
	}
	return v
}

// id is the number of a token; sequence.PadID if it is unknown.
func (f *lines) id(token []byte) int32 {
	if f.vocab.Words != nil {
		return f.vocab.Words[string(token)]
	}
	r, _ := utf8.DecodeRune(token)
	return f.vocab.ID(r)
}

// Write writes a line, with fillers for an unknown answer.
func (f *lines) Write(_ *sequence.Vocabulary, d *task.Draft) {
	f.put(d, d.Operands[0])
	for _, id := range f.between {
		sequence.Add(d, id)
	}
	sequence.Asks(d)
	f.put(d, d.Answer)
	if len(d.Answer) == 0 {
		for range f.room(d.Prompt) {
			d.Tokens = append(d.Tokens, sequence.PadID)
		}
	}
}

// put writes the tokens of a text.
func (f *lines) put(d *task.Draft, text []byte) {
	for len(text) > 0 {
		var token []byte
		token, text = d.Task().Config().Tokens.Next(text)
		sequence.Add(d, f.id(token))
	}
}

func (*lines) Distinct(*task.Config, int) float64 { return math.Inf(1) }

func (*lines) Domain(*task.Task, func([][]byte) bool) {}

func (*lines) Chance(*task.Task, task.Problem) float64 { return 0 }
