package check

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/arithlang/mlc/runtime/task/windows"
	"github.com/arithlang/mlc/runtime/tokens"
)

// readText reads the file of a task of text. It returns nil after an error.
func (c *checker) readText(rule tokens.Rule) *Problems {
	file, v := c.values["task.path"], c.get("task.length")
	lo, length := c.get("task.length").pair()
	if lo != length {
		c.report("E0206", v.at, "task.length takes one number for a text, not %s", v.text).WithHelp("write length = %d: every problem is a window of so many tokens", length)
		return nil
	}
	if rule != (tokens.Rule{}) {
		c.report("E0321", c.at("task.tokens"), "the tokens of a text are its characters").WithHelp("leave tokens out")
		return nil
	}
	if file == nil || length == 0 {
		return nil
	}
	key := fmt.Sprintf("%s\ntext\n%d", file.word, length)
	if c.files[key] == nil {
		src, err := c.read(file.word)
		if err != nil {
			c.report("E0107", file.at, "cannot read %s", file.word).WithHelp("%v", err)
			return nil
		}
		p, fault := parseText(src, length)
		if fault != nil {
			c.faulty(file, fault)
			return nil
		}
		c.files[key] = p
	}
	p := c.files[key]
	if err := windows.Check(utf8.RuneCountInString(p.Text), length, c.num("task.holdout")); err != nil {
		c.report("E0321", c.atFirst("task.length", "task.holdout", "task.path"), "%s: %v", file.word, err).
			WithHelp("use a smaller length, a longer text, or another task.holdout")
		return nil
	}
	return p
}

// parseText reads a text for windows of a length. It accepts Windows line ends and a byte order
// mark.
func parseText(src []byte, length int) (*Problems, *fault) {
	if len(src) > MaxFile {
		return nil, &fault{0, fmt.Sprintf("the file has more than %d MiB", MaxFile>>20), "train on a part of it"}
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(src), "\ufeff"), "\r\n", "\n")
	if text == "" {
		return nil, &fault{0, "the file is empty", "write a text into it"}
	}
	if !utf8.ValidString(text) {
		valid := strings.ToValidUTF8(text, "\x00\n")
		at := 0
		for at < len(text) && text[at] == valid[at] {
			at++
		}
		return nil, &fault{1 + strings.Count(text[:at], "\n"), "the line is no UTF-8 text", "save the file as UTF-8"}
	}
	p := &Problems{Text: text, Lines: []int{length}, Lengths: 1, Prompts: 2, Symbols: windows.Characters(text)}
	p.Count = max(1, utf8.RuneCountInString(text)/length)
	if n := len(p.Symbols); n > maxSymbols {
		return nil, &fault{0, fmt.Sprintf("the text has %d different characters, more than %d", n, maxSymbols), "leave rare ones out, or write others for them"}
	}
	return p, nil
}

// reads reports whether problems are windows of a text, without answers.
func (t *Task) reads() bool { return t.Kind == "text" }
