package check

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/tokens"
)

// Bounds of a file of problems. Kernels limit the size of vocabularies.
const (
	MaxFile    = 64 << 20 // bytes of any file that a spec names
	maxLine    = 1000     // tokens
	maxSymbols = 1024     // in a file
)

// Problems are the contents of a file of problems: lines of prompt, separator, answer; or a text.
// Lengths count tokens.
type Problems struct {
	Text    string   // the lines with line ends; tokens are joined by Task.Tokens.Join
	Count   int      // number of lines
	Lines   []int    // distinct lengths of lines, in ascending order
	Lengths int      // number of distinct prompt lengths
	Prompts int      // number of distinct prompts, counted up to 2
	Symbols []string // distinct tokens, in the order of the vocabulary
	Digits  int      // number of digits, which come first in Symbols
	Run     int      // length of the longest run of digits
}

// String returns Text, or "" for nil.
func (p *Problems) String() string {
	if p == nil {
		return ""
	}
	return p.Text
}

// tokens returns the rule that splits text of a task file into tokens.
func (c *checker) tokens() tokens.Rule {
	v := c.get("task.tokens")
	return tokens.Rule{Words: v.is("words"), Numbers: v.int("below")}
}

// readProblems reads the file of problems and the file of tests. It returns nil for other
// tasks and after an error.
func (c *checker) readProblems(rule tokens.Rule) (problems, tests *Problems) {
	if c.kind == "text" {
		c.problems = c.readText(rule)
		return c.problems, nil
	}
	separator := c.word("task.separator")
	if c.kind != "file" || c.values["task.path"] == nil || c.values["task.separator"] == nil || c.values["task.tokens"] == nil {
		return nil, nil
	}
	if separator == "" || strings.ContainsAny(separator, "\r\n") || !utf8.ValidString(separator) {
		c.report("E0321", c.at("task.separator"), "the separator %q cannot stand within a line", separator).WithHelp(`write one such as separator = "="`)
		return nil, nil
	}
	c.problems = c.problemsOf(c.values["task.path"], separator, rule)
	if file := c.values["task.test"]; file != nil {
		c.tests = c.problemsOf(file, separator, rule)
		c.checkTests(file)
	}
	return c.problems, c.tests
}

// problemsOf reads a file of problems, once for all trainings. It returns nil after an
// error.
func (c *checker) problemsOf(file *value, separator string, rule tokens.Rule) *Problems {
	key := fmt.Sprintf("%s\n%s\n%v", file.word, separator, rule)
	if c.files[key] == nil {
		src, err := c.read(file.word)
		if err != nil {
			c.report("E0107", file.at, "cannot read %s", file.word).WithHelp("%v", err)
			return nil
		}
		p, fault := parseProblems(src, separator, rule)
		if fault != nil {
			c.faulty(file, fault)
			return nil
		}
		c.files[key] = p
	}
	return c.files[key]
}

// faulty reports a fault in a file of problems.
func (c *checker) faulty(file *value, f *fault) {
	place := file.word
	if f.line > 0 {
		place = fmt.Sprintf("%s:%d", place, f.line)
	}
	c.report("E0321", file.at, "%s: %s", place, f.what).WithHelp("%s", f.help)
}

// checkTests reports tokens of tests that training never reads.
func (c *checker) checkTests(file *value) {
	if c.problems == nil || c.tests == nil {
		return
	}
	for _, symbol := range c.tests.Symbols {
		if !slices.Contains(c.problems.Symbols, symbol) {
			c.report("E0230", file.at, "%s has the token %q, but %s does not", file.word, symbol, c.word("task.path")).
				WithHelp("add problems with it to %s: training cannot learn a token that it never reads", c.word("task.path"))
			return
		}
	}
}

// A fault is a mistake in a file of problems, at a line if line is not 0.
type fault struct {
	line       int
	what, help string
}

// parseProblems reads a file of problems. It accepts Windows line ends, a byte order
// mark, and a last line without an end.
func parseProblems(src []byte, separator string, rule tokens.Rule) (*Problems, *fault) {
	if len(src) > MaxFile {
		return nil, &fault{0, fmt.Sprintf("the file has more than %d MiB", MaxFile>>20), "train on a part of it"}
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(src), "\ufeff"), "\r\n", "\n")
	if text == "" {
		return nil, &fault{0, "the file is empty", "write a problem a line: prompt" + separator + "answer"}
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	p := &Problems{}
	first := ""
	between := rule.Separator(separator)
	used, lines, prompts := map[string]bool{}, map[int]bool{}, map[int]bool{}
	for _, token := range between {
		used[token] = true
	}
	var joined strings.Builder
	for line := range strings.Lines(text) {
		p.Count++
		prompt, answer, f := problemOf(line[:len(line)-1], separator, rule)
		if f != nil {
			f.line = p.Count
			return nil, f
		}
		whole := slices.Concat(prompt, between, answer)
		one := rule.Join(prompt)
		if p.Count == 1 {
			first, p.Prompts = one, 1
		} else if one != first {
			p.Prompts = 2
		}
		lines[len(whole)], prompts[len(prompt)] = true, true
		p.Run = max(p.Run, digitsInARow(whole, rule))
		for _, token := range whole {
			used[token] = true
		}
		joined.WriteString(one + separator + rule.Join(answer) + "\n")
	}
	p.Text, p.Lengths, p.Lines = joined.String(), len(prompts), slices.Sorted(maps.Keys(lines))
	p.Symbols, p.Digits = rule.Vocabulary(used)
	if n := len(p.Symbols); n > maxSymbols {
		return nil, &fault{0, fmt.Sprintf("the file has %d different tokens, more than %d", n, maxSymbols), "write problems with fewer, or choose other tokens by task.tokens"}
	}
	return p, nil
}

// problemOf returns the tokens of a line's prompt and answer.
func problemOf(line, separator string, rule tokens.Rule) (prompt, answer []string, f *fault) {
	fail := func(help, format string, args ...any) ([]string, []string, *fault) {
		return nil, nil, &fault{0, fmt.Sprintf(format, args...), help}
	}
	before, behind, found := strings.Cut(line, separator)
	control := strings.IndexFunc(line, func(r rune) bool { return unicode.IsControl(r) && r != '\t' })
	form := "write prompt" + separator + "answer"
	switch {
	case line == "":
		return fail("remove it: every line is a problem", "the line is empty")
	case !utf8.ValidString(line):
		return fail("save the file as UTF-8", "the line is no UTF-8 text")
	case control >= 0 && line[control] == '\r':
		return fail("save the file with line ends of Unix or Windows", "the line has a carriage return in it")
	case control >= 0:
		return fail("remove it", "the line has the control character %U", []rune(line[control:])[0])
	case !found:
		return fail(form+", or name the text between them: separator = \"…\"", "the line has no %q", separator)
	}
	for _, part := range []struct {
		text string
		to   *[]string
	}{{before, &prompt}, {behind, &answer}} {
		var err error
		if *part.to, err = rule.Cut(part.text); err != nil {
			return fail("write numbers without leading zeros, or raise task.tokens = numbers(below = …)", "%v", err)
		}
	}
	again, _, _ := strings.Cut(rule.Join(prompt)+separator, separator)
	switch n := len(prompt) + len(rule.Separator(separator)) + len(answer); {
	case len(prompt) == 0:
		return fail(form, "nothing stands before %q", separator)
	case len(answer) == 0:
		return fail(form, "nothing stands after %q", separator)
	case n > maxLine:
		return fail("remove it, or make it shorter", "the line has %d %s, more than %d", n, plainTokens(rule), maxLine)
	case again != rule.Join(prompt):
		return fail("separate prompts and answers by something that no prompt has: separator = \"…\"", "the prompt, with one space between tokens, has %q in it", separator)
	}
	return prompt, answer, nil
}

// plainTokens names the tokens for a message.
func plainTokens(rule tokens.Rule) string {
	if rule == (tokens.Rule{}) {
		return "characters"
	}
	return "tokens"
}

// digitsInARow returns the length of the longest run of digits.
func digitsInARow(line []string, rule tokens.Rule) (most int) {
	n := 0
	for _, token := range line {
		n++
		if !rule.Digit(token) {
			n = 0
		}
		most = max(most, n)
	}
	return most
}

// heldOut returns the number of lines that are tested if a share is held out, all if
// share is 0. It is approximate if prompts repeat.
func (p *Problems) heldOut(share float64) int {
	if share == 0 {
		return p.Count
	}
	return max(1, int(math.Round(share*float64(p.Count))))
}

// tested returns the file with the test problems. nil means that the task has no file.
func (t *Task) tested() *Problems {
	if t.TestFile != nil {
		return t.TestFile
	}
	return t.File
}

// shapes lists the shapes of the problems.
func (p *Problems) shapes(of tasks.Config) []lengths {
	var out []lengths
	for _, n := range p.Lines {
		out = append(out, of.LineSize(n))
	}
	return out
}
