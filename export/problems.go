package export

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/tokens"
)

// A pyKind is a kind of problems as template/task.py.tmpl has one: what package task
// knows of it.
type pyKind struct {
	Kind     string
	Op       string // between the operands, as people write it
	Arity    int    // operands; 0: any number
	Family   string // numbers, vectors, arrays
	Expects  string
	Example  string
	Suffix   string // of its functions, where problems are of several kinds
	Sign     string // what the model reads for Op
	Single   bool   // the second operand is a digit
	Reversed bool   // answers are written lowest digit first
	Repeats  bool   // answers are widened with their first digit
	Grows    int    // how many digits the longest answer has more than the longest operand
	Partial  bool   // answers are all sums on the way
	Products bool   // to a product
}

// unbounded is more than numbers of one length grow by.
const unbounded = 1 << 20

var pyKinds = []pyKind{
	{Kind: "successor", Arity: 1, Family: "numbers", Expects: "a number", Example: "99999", Grows: 1},
	{Kind: "addition", Op: "+", Arity: 2, Family: "numbers", Expects: "two numbers with a + between them", Example: "123+456", Grows: 1},
	{Kind: "subtraction", Op: "-", Arity: 2, Family: "numbers", Expects: "two numbers with a - between them", Example: "123-456", Grows: 1},
	{Kind: "multiplication", Op: "*", Arity: 2, Family: "numbers", Expects: "two numbers with a * between them", Example: "12*34", Grows: unbounded},
	{Kind: "nx1", Op: "*", Arity: 2, Family: "numbers", Expects: "a number and a digit with a * between them", Example: "123*4", Single: true, Grows: 1},
	{Kind: "parity", Arity: 1, Family: "numbers", Expects: "a number", Example: "1011"},
	{Kind: "copy", Arity: 1, Family: "numbers", Expects: "a number", Example: "12345"},
	{Kind: "or", Op: "+", Arity: 2, Family: "vectors", Expects: "two vectors of bits with a + between them", Example: "001+00000"},
	{Kind: "sum", Op: "+", Family: "numbers", Expects: "two or more numbers with a + between them", Example: "12+34+56"},
	{Kind: "sort", Family: "arrays", Expects: "numbers with commas between them", Example: "75946,36999,81201"},
}

// pyTask is what template/task.py.tmpl is filled in with.
type pyTask struct {
	Vocabulary string // a list of Python
	Symbols    string // which tokens are those of symbols in texts
	End        int32
	Base       int
	Letters    string // a list of Python; "" where no problem has letters
	Each       []pyKind

	Sequence, Mixed, Hinted, Interleave, ReversedOperands, Scratchpad, HasNumbers bool
	XDigit                                                                        bool // x is a digit of the base
	Opens, Closes                                                                 string
	Kinds, ReversedKinds                                                          string // of a mix

	Padding, Widths, Room bool
	Blind                 bool // nothing in the file is computed from the right answer
	Ends                  bool // answers have an end
	Extra                 int  // Blind: places that answers may need, and operands not
	To, Step              int
	Less, Minus           string // what answers are narrower by
	Trims                 bool   // zeros in front of an answer mean nothing

	Listed, Words, Numbers bool // of a file
	SeparatorText          string
	Separator, Join        string
	Longest, Line          int
}

// newTask says of a task what Python needs to know. The pad is that of tests.
func newTask(c *config.Task, pad config.Pad, t *task.Task) pyTask {
	p := pyTask{Vocabulary: list(t.Vocabulary()), End: t.EOS(), Base: c.Base, Sequence: c.Sequence,
		Mixed: c.Kind == "mixed", Hinted: c.Hinted(), Interleave: c.Interleave, ReversedOperands: c.ReversedOperands}
	switch { // others are no symbols of a text
	case c.Sequence && c.Started && !c.Used:
		p.Symbols = "token == 2 or token >= 4 and token != 18"
	case c.Sequence && !c.Used:
		p.Symbols = "token >= 4 and token != 18"
	}
	p.Ends = !c.Unended
	if c.Kind == "file" {
		p.listed(c)
		return p
	}
	kinds := []string{c.Kind}
	if p.Mixed {
		kinds = c.Of
		p.Kinds = list(kinds)
	}
	var reversed []string
	for _, name := range kinds {
		k := pyKinds[slices.IndexFunc(pyKinds, func(k pyKind) bool { return k.Kind == name })]
		k.Sign = k.Op
		if c.Sequence && k.Op == "*" {
			k.Sign = "x"
		}
		k.Reversed = c.Reversed && (name != "parity" || c.Scratchpad)
		k.Repeats = name == "parity" && c.Scratchpad
		k.Partial = name == "sum" && c.Scratchpad
		k.Products = c.Kind == "multiplication" && c.Scratchpad
		if p.Mixed {
			k.Suffix = "_" + name
			if k.Reversed {
				reversed = append(reversed, k.Suffix)
			}
		}
		p.Scratchpad = p.Scratchpad || k.Repeats
		p.HasNumbers = p.HasNumbers || k.Family != "arrays"
		p.Trims = p.Trims || k.Family == "numbers" && !k.Repeats || p.Mixed
		p.Each = append(p.Each, k)
	}
	p.ReversedKinds = list(reversed)
	if kinds[0] == "sort" || p.Hinted {
		p.Letters = list(task.Letters())
	}
	p.XDigit = c.Base > 33
	p.Opens, p.Closes = "^", "$"
	if c.Sequence {
		p.Opens, p.Closes = "", "="
		if c.Started {
			p.Opens = "^"
		}
	}
	p.Padding, p.To, p.Step = pad.To > 0, pad.To, max(pad.Step, 0)
	p.Widths = p.Padding || c.Interleave || !c.Sequence
	p.Room = p.Padding && !c.Sequence
	if pad.Less != 0 {
		p.Less, p.Minus = signed(pad.Less), signed(-pad.Less)
	}
	return p
}

// blind leaves out the right answer, if the lengths of operands alone say how wide a
// problem is written: those of a loop, if answers never need more places.
func (p *pyTask) blind(less int) {
	if !p.Padding || p.Mixed || p.Hinted || p.Base == 2 { // of base 2, a digit makes no number longer
		return
	}
	p.Extra = max(0, p.Each[0].Grows+less)
	p.Blind = p.Extra == 0 || !p.Sequence || !p.Ends
}

// listed says it of problems that a file lists.
func (p *pyTask) listed(c *config.Task) {
	p.Listed, p.Symbols = true, "token >= 2"
	p.Words, p.Numbers = c.Tokens != tokens.Rule{}, c.Tokens.Numbers > 0
	p.SeparatorText = c.Separator
	p.Separator, p.Join = list(c.Tokens.Separator(c.Separator)), `""`
	if p.Words {
		p.Join = `" "`
	}
	for line := range strings.Lines(c.Problems + c.Tests) {
		prompt, answer, _ := strings.Cut(strings.TrimSuffix(line, "\n"), c.Separator)
		n := c.Tokens.Count(answer)
		p.Longest = max(p.Longest, n)
		p.Line = max(p.Line, c.Tokens.Count(prompt)+len(c.Tokens.Separator(c.Separator))+n)
	}
}

func signed(n int) string {
	if n < 0 {
		return fmt.Sprintf(" - %d", -n)
	}
	return fmt.Sprintf(" + %d", n)
}

// list is a list of strings in Python.
func list(all []string) string {
	quoted := make([]string, len(all))
	for i, s := range all {
		quoted[i] = quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// quote is a string literal of Python.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString("\\" + string(r))
		case r < ' ' || r == 0x7f || r == 0xfffd:
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
