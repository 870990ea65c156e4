package dsl

import (
	"strconv"
	"strings"
)

// precedence of binary operators. Higher binds tighter.
var precedence = map[string]int{
	"||": 1, "&&": 2,
	"==": 3, "!=": 3, "<=": 3, ">=": 3, "<": 3, ">": 3,
	"..": 4, "+": 5, "-": 5, "*": 6, "/": 6,
}

// The precedence of the other forms.
const (
	unaryLevel = 7
	atomLevel  = 8
)

// Format prints an expression in the standard style: with the fewest parentheses that
// keep its meaning, and with numbers in their shortest form.
func Format(e *Expr) string {
	var b strings.Builder
	format(&b, e, 0)
	return b.String()
}

func level(e *Expr) int {
	switch e.Kind {
	case Binary:
		return precedence[e.Text]
	case Unary:
		return unaryLevel
	}
	return atomLevel
}

// format prints e as an operand, in parentheses if its level is below least.
func format(b *strings.Builder, e *Expr, least int) {
	if level(e) < least {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	switch e.Kind {
	case Number:
		b.WriteString(Canonical(e.Text) + e.Unit)
	case String:
		b.WriteString(strconv.Quote(e.Text))
	case Name:
		b.WriteString(e.Text)
	case Call:
		b.WriteString(e.Text)
		formatArgs(b, "(", e.Args, ")")
	case List:
		formatArgs(b, "[", e.Args, "]")
	case Index:
		format(b, e.Arg(0), atomLevel)
		formatArgs(b, "[", e.Args[1:], "]")
	case Unary:
		b.WriteString(e.Text)
		format(b, e.Arg(0), atomLevel)
	case Binary:
		formatBinary(b, e)
	}
}

// formatBinary prints chains of + - * / && || to the left. Comparisons and ranges do not
// chain.
func formatBinary(b *strings.Builder, e *Expr) {
	p := precedence[e.Text]
	left := p
	if p == precedence["<"] || p == precedence[".."] {
		left = p + 1
	}
	format(b, e.Arg(0), left)
	if e.Text == ".." {
		b.WriteString("..")
	} else {
		b.WriteString(" " + e.Text + " ")
	}
	format(b, e.Arg(1), p+1)
}

func formatArgs(b *strings.Builder, open string, args []Arg, end string) {
	b.WriteString(open)
	for i, a := range args {
		if i > 0 {
			b.WriteString(", ")
		}
		if a.Name != nil {
			b.WriteString(a.Name.Name + " = ")
		}
		format(b, a.Value, 0)
	}
	b.WriteString(end)
}
