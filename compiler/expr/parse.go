package expr

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Parse reads the text of one expression. types returns the type of a variable or of an array's elements, and false for
// an unknown name. Structurally equal subexpressions become one node. An error begins with its column, in bytes from 1.
func Parse(text string, types func(name string) (Type, bool)) (*Expr, error) {
	p := &parser{text: text, types: types, in: NewInterner()}
	p.next()
	e := p.binary(1)
	if p.err == nil && p.tok != "" {
		p.fail("unexpected %q", p.tok)
	}
	if p.err != nil {
		return nil, p.err
	}
	return e, nil
}

// A parser has one token of look-ahead: tok is text[at:end], empty at the end of the text. After an error
// every method returns nil or a placeholder, and the first error is kept.
type parser struct {
	text  string
	at    int
	end   int
	tok   string
	types func(string) (Type, bool)
	in    *Interner
	err   error
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("column %d: %s", p.at+1, fmt.Sprintf(format, args...))
	}
	p.at, p.end, p.tok = len(p.text), len(p.text), ""
}

// symbols are the tokens of two bytes. Any other sign is a token of one byte.
var symbols = []string{"&&", "||", "==", "!=", "<=", ">=", "<<", ">>"}

// next moves to the next token.
func (p *parser) next() {
	p.at = p.end
	for p.at < len(p.text) && strings.IndexByte(" \t\n", p.text[p.at]) >= 0 {
		p.at++
	}
	rest := p.text[p.at:]
	n := 0
	switch {
	case rest == "":
	case isDigit(rest[0]):
		n = numberLen(rest)
	case identByte(rest[0], true):
		for n < len(rest) && identByte(rest[n], false) {
			n++
		}
	default:
		n = 1
		for _, s := range symbols {
			if strings.HasPrefix(rest, s) {
				n = 2
			}
		}
	}
	p.end = p.at + n
	p.tok = rest[:n]
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// numberLen returns the length of the number at the beginning of s: identifier
// characters, and a sign after the e of a decimal.
func numberLen(s string) int {
	n := 1
	for n < len(s) {
		signed := (s[n] == '+' || s[n] == '-') && s[n-1] == 'e' && !strings.HasPrefix(s, "0x")
		if !signed && !identByte(s[n], false) {
			break
		}
		n++
	}
	return n
}

// take moves past the token if it is tok.
func (p *parser) take(tok string) bool {
	if p.tok != tok {
		return false
	}
	p.next()
	return true
}

func (p *parser) want(tok string) {
	if !p.take(tok) {
		p.fail("want %q, have %q", tok, p.tok)
	}
}

// node returns op over args. at is its column.
func (p *parser) node(at int, op Op, args ...*Expr) *Expr {
	if p.err != nil {
		return nil
	}
	if _, err := infer(op, args); err != nil {
		p.at = at
		p.fail("%v", err)
		return nil
	}
	return p.in.node(New(op, args...))
}

// binding returns the op of a symbol between operands and its binding strength, or 0.
func binding(tok string) (op Op, prec int) {
	switch tok {
	case "&&":
		return And, 2
	case "||":
		return Or, 1
	case ">":
		return Lt, ops[Lt].prec
	case ">=":
		return Le, ops[Le].prec
	}
	op, ok := operator(tok, 2)
	if !ok {
		return 0, 0
	}
	return op, ops[op].prec
}

// binary reads operands joined by operators that bind at least as strongly as prec. All associate to the left.
func (p *parser) binary(prec int) *Expr {
	e := p.unary()
	for {
		at, tok := p.at, p.tok
		op, own := binding(tok)
		if own < prec || own == 0 {
			return e
		}
		p.next()
		args := []*Expr{e, p.binary(own + 1)}
		if tok[0] == '>' && tok != ">>" {
			args[0], args[1] = args[1], args[0]
		}
		e = p.node(at, op, args...)
		if e != nil && (tok == "&&" || tok == "||") && e.Type != Bool {
			p.at = at
			p.fail("%s wants operands of bool", tok)
		}
	}
}

// unary reads an operand with the operators before it. A minus before a number is part of the number.
func (p *parser) unary() *Expr {
	at := p.at
	if p.take("-") {
		if p.tok != "" && isDigit(p.tok[0]) || p.tok == "inf" {
			return p.number("-")
		}
		return p.node(at, Neg, p.unary())
	}
	if p.take("!") {
		return p.node(at, Not, p.unary())
	}
	return p.primary()
}

func (p *parser) primary() *Expr {
	switch {
	case p.tok == "":
		p.fail("the expression ends early")
		return nil
	case isDigit(p.tok[0]):
		return p.number("")
	case identByte(p.tok[0], true):
		return p.named()
	}
	p.want("(")
	e := p.binary(1)
	p.want(")")
	return e
}

// named reads a literal, a variable, an element or a call.
func (p *parser) named() *Expr {
	at, name := p.at, p.tok
	if e := literal(name); e != nil {
		p.next()
		return p.in.node(e)
	}
	p.next()
	if p.take("(") {
		args := p.list(")")
		op, ok := FuncByName(name)
		if !ok {
			p.at = at
			p.fail("unknown function %s", name)
			return nil
		}
		return p.node(at, op, args...)
	}
	t, ok := p.types(name)
	if !ok {
		p.at = at
		p.fail("unknown name %s", name)
		return nil
	}
	e := &Expr{Op: Var, Type: t, Name: name}
	if p.take("[") {
		e.Op, e.Args = Elem, p.list("]")
	}
	if p.err != nil {
		return nil
	}
	if err := checkNode(e); err != nil {
		p.at = at
		p.fail("%v", err)
		return nil
	}
	return p.in.node(e)
}

// list reads comma-separated expressions, up to and past shut.
func (p *parser) list(shut string) []*Expr {
	var es []*Expr
	for p.err == nil && !p.take(shut) {
		if len(es) > 0 {
			p.want(",")
		}
		es = append(es, p.binary(1))
	}
	return es
}

// number reads a constant after its sign.
func (p *parser) number(sign string) *Expr {
	e, err := numeral(sign + p.tok)
	if err != nil {
		p.fail("%s%s is no number", sign, p.tok)
		return nil
	}
	p.next()
	return p.in.node(e)
}

// numeral returns the constant with the text s: U32 with the suffix u, F32 with a point or an exponent, else I32.
func numeral(s string) (*Expr, error) {
	if digits, ok := strings.CutSuffix(s, "u"); ok {
		v, err := strconv.ParseUint(digits, 0, 32)
		return U(uint32(v)), err
	}
	if s == "-inf" || strings.ContainsAny(s, ".e") {
		v, err := strconv.ParseFloat(s, 32)
		return F(v), err
	}
	v, err := strconv.ParseInt(s, 10, 32)
	return Int(int64(int32(v))), err
}

// literal returns the constant with the given name, or nil.
func literal(name string) *Expr {
	switch name {
	case "true", "false":
		return B(name == "true")
	case "inf":
		return F(math.Inf(1))
	case "nan":
		return F(math.NaN())
	}
	return nil
}
