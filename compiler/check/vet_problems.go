package check

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/arithlang/mlc/runtime/tokens"
)

// An oddity is a probable mistake in a file of problems: the first line with it, and the
// number of further lines.
type oddity struct {
	code string
	fault
	more int
}

// oddities collects the oddities of a file, one of each kind.
type oddities []*oddity

// note counts a line with an oddity. format describes the first one.
func (o *oddities) note(code, help string, line int, format string, args ...any) {
	for _, known := range *o {
		if known.code == code && known.help == help {
			known.more++
			return
		}
	}
	*o = append(*o, &oddity{code, fault{line, fmt.Sprintf(format, args...), help}, 0})
}

// oddities returns lines that contradict or repeat others and, if characters are tokens,
// characters that are invisible.
func (p *Problems) oddities(separator string, rule tokens.Rule) oddities {
	type first struct {
		line   int
		answer string
	}
	var found oddities
	seen := make(map[string]first)
	number := 0
	for line := range strings.Lines(p.Text) {
		number++
		prompt, answer, _ := strings.Cut(line[:len(line)-1], separator)
		if known, again := seen[prompt]; !again {
			seen[prompt] = first{number, answer}
		} else if known.answer != answer {
			found.note("V019", "leave one of the lines: at most one of the answers can be right in a test", number,
				"the answer to %q is %q, and in line %d it is %q", prompt, answer, known.line, known.answer)
		} else {
			found.note("V020", "leave one of the lines, unless it is meant to be trained on more often", number, "the line repeats line %d", known.line)
		}
		if rule == (tokens.Rule{}) {
			found.unseen(number, prompt, answer, separator)
		}
	}
	return found
}

// unseen notes spaces at the ends of a prompt or an answer, and invisible characters.
func (o *oddities) unseen(line int, prompt, answer, separator string) {
	const code = "V021"
	trim := fmt.Sprintf("remove it, or make it part of the separator: separator = %q", " "+strings.TrimSpace(separator)+" ")
	switch {
	case strings.TrimRight(answer, " \t") != answer:
		o.note(code, "remove it: each space is a token of the answer, which the model must predict", line, "the answer %q ends with a space", answer)
	case strings.TrimLeft(answer, " \t") != answer:
		o.note(code, trim, line, "the answer %q begins with a space, which is a token of it", answer)
	case strings.TrimRight(prompt, " \t") != prompt:
		o.note(code, trim, line, "the prompt %q ends with a space, which is a token of it", prompt)
	case strings.TrimLeft(prompt, " \t") != prompt:
		o.note(code, "remove it: each space is a token", line, "the prompt %q begins with a space", prompt)
	}
	hidden := func(r rune) bool { return r != ' ' && (unicode.IsSpace(r) || unicode.Is(unicode.Cf, r)) }
	for _, part := range []string{prompt, answer} {
		if at := strings.IndexFunc(part, hidden); at >= 0 {
			o.note(code, "write a space, or nothing: each character is a token", line, "%q has the character %U, which is invisible", part, []rune(part[at:])[0])
			return
		}
	}
}

// vetProblems warns of oddities in a task's files, and of tests that training contains.
func (c *checker) vetProblems(s *Spec) {
	if s.Task.reads() {
		return
	}
	for _, file := range []struct {
		path string
		*Problems
	}{{"task.path", s.Task.File}, {"task.test", s.Task.TestFile}} {
		if file.Problems == nil {
			continue
		}
		if _, known := c.odd[file.Problems]; !known {
			c.odd[file.Problems] = file.oddities(s.Task.Separator, s.Task.Tokens)
		}
		for _, o := range c.odd[file.Problems] {
			c.reportOddity(file.path, o)
		}
	}
	if s.Task.TestFile != nil {
		for _, o := range c.trainedTests(s) {
			c.reportOddity("task.test", o)
		}
	}
}

func (c *checker) reportOddity(path string, o *oddity) {
	if !c.wanted(o.code) {
		return
	}
	more := ""
	if o.more > 0 {
		more = fmt.Sprintf("; also in %s", plural(o.more, "more line"))
	}
	c.report(o.code, c.at(path), "%s:%d: %s%s", c.word(path), o.line, o.what, more).WithHelp("%s", o.help)
}

// trainedTests returns the test problems that the training file also has.
func (c *checker) trainedTests(s *Spec) (found oddities) {
	lines := make(map[string]int)
	prompts := func(p *Problems, each func(number int, prompt string)) {
		number := 0
		for line := range strings.Lines(p.Text) {
			number++
			prompt, _, _ := strings.Cut(line, s.Task.Separator)
			each(number, prompt)
		}
	}
	prompts(s.Task.File, func(number int, prompt string) { lines[prompt] = number })
	prompts(s.Task.TestFile, func(number int, prompt string) {
		if there := lines[prompt]; there > 0 {
			found.note("V022", "remove it from one of the files: a test on training problems measures memory", number,
				"%q is trained on: it stands in line %d of %s", prompt, there, c.word("task.path"))
		}
	})
	return found
}
