package export

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/task/sequence"
	"github.com/arithlang/mlc/runtime/tokens"
)

// A pyKind describes a kind of problems for template/task.py.tmpl.
type pyKind struct {
	Kind     string
	Op       string // the sign between the operands, as people write it
	Arity    int    // operands; 0: any number
	Family   string // numbers, vectors, arrays
	Expects  string
	Example  string
	Suffix   string // ends the names of its functions, if problems are of several kinds
	Sign     string // the sign that the model reads
	Single   bool   // the second operand is a digit
	Reversed bool   // answers are written lowest digit first
	Repeats  bool   // answers are padded with their first digit
	Grows    int    // digits of the longest answer beyond the longest operand
	Partial  bool   // an answer lists all partial sums
	Products bool   // an answer ends in a product

	PartialProducts bool // a product of a digit stands before each sum on the way
}

// unbounded is larger than any growth of numbers of a given length.
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

// pyTask is the data of template/task.py.tmpl.
type pyTask struct {
	Vocabulary string // a Python list
	Symbols    string // condition on token: it is a symbol of texts
	End        int32
	Base       int
	Letters    string // a Python list; "" if no problem has letters
	Each       []pyKind

	Sequence, Mixed, Hinted, Interleave, ReversedOperands, Scratchpad, HasNumbers bool
	XDigit                                                                        bool // x is a digit of the base
	Opens, Closes                                                                 string
	Kinds, ReversedKinds                                                          string // of a mix

	Padding, Widths, Room bool
	Blind                 bool // the file computes nothing from the right answer
	Ends                  bool // answers have an end
	Extra                 int  // if Blind: places that answers may need beyond the operands'
	To, Step              int
	Less, Minus           string // the width that answers lack
	Trims                 bool   // leading zeros of an answer mean nothing

	Listed, Words, Numbers bool // for a file
	SeparatorText          string
	Separator, Join        string
	Longest, Line          int
}

// newTask describes a task for Python. pad is the padding of tests.
func newTask(c *config.Task, pad config.Pad, t *task.Task) pyTask {
	p := pyTask{Vocabulary: list(t.Vocabulary()), End: t.EOS(), Base: c.Base, Sequence: c.Sequence,
		Mixed: c.Kind == "mixed", Hinted: c.Hinted(), Interleave: c.Interleave, ReversedOperands: c.ReversedOperands}
	switch { // other tokens are no symbols of a text
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
		k.PartialProducts = k.Products && c.PartialProducts
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
		p.Letters = list(sequence.Letters())
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

// blind leaves out the right answer if the lengths of the operands determine the width of a
// problem. A problem of a loop must also have room for every answer.
func (p *pyTask) blind(less int) {
	if !p.Padding || p.Mixed || p.Hinted || p.Base == 2 { // in base 2, the model adds no digit to a number
		return
	}
	p.Extra = max(0, p.Each[0].Grows+less)
	p.Blind = p.Extra == 0 || !p.Sequence || !p.Ends
}

// listed describes the problems that a file lists.
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

// list writes a Python list of strings.
func list(all []string) string {
	quoted := make([]string, len(all))
	for i, s := range all {
		quoted[i] = quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// quote writes a Python string literal.
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
