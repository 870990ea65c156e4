package check

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a file of problems. Vocabularies are no larger than what kernels keep
// beside each other.
const (
	MaxFile    = 64 << 20 // bytes of a file that a spec names
	maxLine    = 1000     // characters
	maxSymbols = 1024     // different ones in a file
)

// Problems are what a file of problems holds: lines of prompt, separator, answer.
// Lengths count characters.
type Problems struct {
	Text    string // the lines, each with its end
	Count   int    // of lines
	Lines   []int  // lengths of lines, each once, in ascending order
	Lengths int    // how many lengths prompts have
	Prompts int    // different ones, counted to 2
	Symbols int    // different characters
	Digits  int    // which of them are digits
	Run     int    // most digits in a row
}

// String is the lines, each with its end; nothing of none.
func (p *Problems) String() string {
	if p == nil {
		return ""
	}
	return p.Text
}

// readProblems reads the problems of a task file, once for all trainings; nil for
// other tasks and after an error.
func (c *checker) readProblems() *Problems {
	file, separator := c.values["task.path"], c.word("task.separator")
	if c.kind != "file" || file == nil || c.values["task.separator"] == nil {
		return nil
	}
	if separator == "" || strings.ContainsAny(separator, "\r\n") || !utf8.ValidString(separator) {
		c.report("E0321", c.at("task.separator"), "the separator %q cannot stand within a line", separator).WithHelp(`write one such as separator = "="`)
		return nil
	}
	key := file.word + "\n" + separator
	if c.files[key] == nil {
		src, err := c.read(file.word)
		if err != nil {
			c.report("E0107", file.at, "cannot read %s", file.word).WithHelp("%v", err)
			return nil
		}
		p, fault := parseProblems(src, separator)
		if fault != nil {
			place := file.word
			if fault.line > 0 {
				place = fmt.Sprintf("%s:%d", place, fault.line)
			}
			c.report("E0321", file.at, "%s: %s", place, fault.what).WithHelp("%s", fault.help)
			return nil
		}
		c.files[key] = p
	}
	c.problems = c.files[key]
	return c.problems
}

// A fault is what is wrong with a file of problems, at a line if that is not 0.
type fault struct {
	line       int
	what, help string
}

// parseProblems reads a file of problems. Ends of lines may be those of Windows, a
// byte order mark may stand in front, and the last line needs no end.
func parseProblems(src []byte, separator string) (*Problems, *fault) {
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
	p := &Problems{Text: text}
	first := ""
	symbols, lines, prompts := map[rune]bool{}, map[int]bool{}, map[int]bool{}
	for line := range strings.Lines(text) {
		p.Count++
		line = line[:len(line)-1]
		prompt, f := problemOf(line, separator)
		if f != nil {
			f.line = p.Count
			return nil, f
		}
		if p.Count == 1 {
			first, p.Prompts = prompt, 1
		} else if prompt != first {
			p.Prompts = 2
		}
		lines[utf8.RuneCountInString(line)], prompts[utf8.RuneCountInString(prompt)] = true, true
		p.Run = max(p.Run, digitsInARow(line))
		for _, r := range line {
			symbols[r] = true
		}
	}
	p.Symbols, p.Lengths, p.Lines = len(symbols), len(prompts), slices.Sorted(maps.Keys(lines))
	for r := '0'; r <= '9'; r++ {
		if symbols[r] {
			p.Digits++
		}
	}
	if p.Symbols > maxSymbols {
		return nil, &fault{0, fmt.Sprintf("the file has %d different characters, more than %d", p.Symbols, maxSymbols), "each is a token: write problems with fewer"}
	}
	return p, nil
}

// problemOf is the prompt of a line.
func problemOf(line, separator string) (prompt string, f *fault) {
	prompt, answer, found := strings.Cut(line, separator)
	control := strings.IndexFunc(line, func(r rune) bool { return unicode.IsControl(r) && r != '\t' })
	switch n := utf8.RuneCountInString(line); {
	case line == "":
		return "", &fault{0, "the line is empty", "remove it: every line is a problem"}
	case !utf8.ValidString(line):
		return "", &fault{0, "the line is no UTF-8 text", "save the file as UTF-8"}
	case control >= 0:
		return "", &fault{0, fmt.Sprintf("the line has the control character %U", []rune(line[control:])[0]), "remove it"}
	case n > maxLine:
		return "", &fault{0, fmt.Sprintf("the line has %d characters, more than %d", n, maxLine), "remove it, or make it shorter"}
	case !found:
		return "", &fault{0, fmt.Sprintf("the line has no %q", separator), "write prompt" + separator + "answer, or name what stands between them: separator = \"…\""}
	case prompt == "":
		return "", &fault{0, fmt.Sprintf("nothing stands before %q", separator), "write prompt" + separator + "answer"}
	case answer == "":
		return "", &fault{0, fmt.Sprintf("nothing stands behind %q", separator), "write prompt" + separator + "answer"}
	}
	return prompt, nil
}

// digitsInARow is the length of the longest run of digits.
func digitsInARow(line string) (most int) {
	n := 0
	for i := range len(line) {
		n++
		if line[i] < '0' || line[i] > '9' {
			n = 0
		}
		most = max(most, n)
	}
	return most
}

// heldOut is the number of lines that a share of them leaves for testing, all if it
// is 0. Lines that repeat a prompt may change it a little.
func (p *Problems) heldOut(share float64) int {
	if share == 0 {
		return p.Count
	}
	return max(1, int(math.Round(share*float64(p.Count))))
}

// shapes lists the shapes of the problems.
func (p *Problems) shapes(loop bool) []lengths {
	var out []lengths
	for _, n := range p.Lines {
		if loop {
			out = append(out, lengths{0, n})
		} else {
			out = append(out, lengths{n, n})
		}
	}
	return out
}
