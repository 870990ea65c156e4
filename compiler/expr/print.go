package expr

import (
	"math"
	"strconv"
	"strings"
)

// String returns text that Parse reads back. Shared subexpressions are printed at each use.
func (e *Expr) String() string {
	var p printer
	p.expr(e, 0)
	return p.String()
}

type printer struct{ strings.Builder }

// expr prints e, in parentheses if it binds looser than prec.
func (p *printer) expr(e *Expr, prec int) {
	switch e.Op {
	case Const:
		p.WriteString(constText(e))
		return
	case Var:
		p.WriteString(e.Name)
		return
	case Elem:
		p.WriteString(e.Name)
		p.list('[', e.Args, ']')
		return
	}
	symbol, own := notation(e)
	if own == 0 {
		p.WriteString(symbol)
		p.list('(', e.Args, ')')
		return
	}
	if own < prec {
		p.WriteByte('(')
		defer p.WriteByte(')')
	}
	if len(e.Args) == 1 {
		p.WriteString(symbol)
		p.unary(e.Args[0])
		return
	}
	p.expr(e.Args[0], own)
	p.WriteString(" " + symbol + " ")
	p.expr(e.Args[1], own+1)
}

// unary prints the operand of a unary operator. A constant is in parentheses, because a
// sign before a number is part of the number.
func (p *printer) unary(e *Expr) {
	if e.Op == Const {
		p.list('(', []*Expr{e}, ')')
		return
	}
	p.expr(e, precUnary)
}

func (p *printer) list(open byte, es []*Expr, shut byte) {
	p.WriteByte(open)
	for i, e := range es {
		if i > 0 {
			p.WriteString(", ")
		}
		p.expr(e, 0)
	}
	p.WriteByte(shut)
}

// notation returns the symbol of e's op and its binding strength. And and Or of Bool have other, looser symbols.
func notation(e *Expr) (symbol string, prec int) {
	switch {
	case e.Type == Bool && e.Op == And:
		return "&&", 2
	case e.Type == Bool && e.Op == Or:
		return "||", 1
	}
	return ops[e.Op].name, ops[e.Op].prec
}

func constText(e *Expr) string {
	switch e.Type {
	case F32:
		return floatText(e.F)
	case I32:
		return strconv.FormatInt(e.I, 10)
	case U32:
		if e.I < 1<<16 {
			return strconv.FormatInt(e.I, 10) + "u"
		}
		return "0x" + strconv.FormatInt(e.I, 16) + "u"
	}
	return strconv.FormatBool(e.I != 0)
}

// floatText returns the shortest text that rounds to the float32 v and is not an integer.
func floatText(v float64) string {
	switch {
	case v != v:
		return "nan"
	case v > math.MaxFloat32:
		return "inf"
	case v < -math.MaxFloat32:
		return "-inf"
	}
	s := strconv.FormatFloat(v, 'g', -1, 32)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}
