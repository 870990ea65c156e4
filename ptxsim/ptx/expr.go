package ptx

import (
	"math"
	"strconv"
	"strings"
)

// number is a constant: an integer, or a float with the precision of its spelling.
type number struct {
	kind numberKind
	bits uint64 // of the integer, the single, or the double
}

type numberKind uint8

const (
	integer numberKind = iota
	single             // 0f and eight digits
	double             // 0d and sixteen digits, or a decimal fraction
)

// parseNumber returns the number with this spelling.
func parseNumber(s string) (number, bool) {
	low := strings.ToLower(s)
	switch {
	case strings.HasPrefix(low, "0f"):
		v, err := strconv.ParseUint(low[2:], 16, 32)
		return number{single, v}, err == nil && len(low) == 10
	case strings.HasPrefix(low, "0d"):
		v, err := strconv.ParseUint(low[2:], 16, 64)
		return number{double, v}, err == nil && len(low) == 18
	case strings.HasPrefix(low, "0x"):
		v, err := strconv.ParseUint(strings.TrimSuffix(low[2:], "u"), 16, 64)
		return number{integer, v}, err == nil
	case strings.HasPrefix(low, "0b"):
		v, err := strconv.ParseUint(strings.TrimSuffix(low[2:], "u"), 2, 64)
		return number{integer, v}, err == nil
	case strings.ContainsAny(low, ".e"):
		v, err := strconv.ParseFloat(low, 64)
		return number{double, math.Float64bits(v)}, err == nil && !strings.Contains(low, "_")
	}
	digits, base := strings.TrimSuffix(low, "u"), 10
	if len(digits) > 1 && digits[0] == '0' {
		base = 8
	}
	v, err := strconv.ParseUint(digits, base, 64)
	return number{integer, v}, err == nil
}

// as returns the bits of a constant in a type.
func (n number) as(t Type) (uint64, bool) {
	mask := ^uint64(0)
	if t.Bits() < 64 {
		mask = 1<<t.Bits() - 1
	}
	switch {
	case n.kind == integer && t == Pred:
		return min(n.bits, 1), true
	case n.kind == integer:
		return n.bits & mask, t.Class() != Float
	case n.kind == single:
		switch t {
		case F32, B32:
			return n.bits, true
		case F64:
			return math.Float64bits(float64(math.Float32frombits(uint32(n.bits)))), true
		}
	case n.kind == double:
		switch t {
		case F64, B64:
			return n.bits, true
		case F32:
			return uint64(math.Float32bits(float32(math.Float64frombits(n.bits)))), true
		}
	}
	return 0, false
}

// precedence has the precedence of operators in constant expressions; higher numbers bind
// tighter.
var precedence = map[string]int{
	"*": 10, "/": 10, "%": 10, "+": 9, "-": 9, "<<": 8, ">>": 8, "<": 7, "<=": 7, ">": 7, ">=": 7,
	"==": 6, "!=": 6, "&": 5, "^": 4, "|": 3, "&&": 2, "||": 1,
}

// maxDepth limits the nesting of expressions.
const maxDepth = 64

// constant reads a constant expression.
func (p *parser) constant() number { return p.choice(0) }

// choice reads A, or A ? B : C.
func (p *parser) choice(depth int) number {
	n := p.binary(1, depth)
	line := p.tok.line
	if !p.accept("?") {
		return n
	}
	yes := p.choice(depth + 1)
	p.expect(":")
	no := p.choice(depth + 1)
	if n.kind != integer || yes.kind != integer || no.kind != integer {
		p.failAt(line, "a choice with ? and : needs integers")
	}
	if n.bits != 0 {
		return yes
	}
	return no
}

// integer reads a constant expression that is an integer.
func (p *parser) integer(what string) int64 {
	line := p.tok.line
	n := p.constant()
	if n.kind != integer {
		p.failAt(line, "expected an integer for %s", what)
	}
	return int64(n.bits)
}

func (p *parser) binary(lowest, depth int) number {
	left := p.unary(depth)
	for p.tok.kind == markToken && precedence[p.tok.text] >= lowest {
		op, line := p.tok.text, p.tok.line
		p.advance()
		right := p.binary(precedence[op]+1, depth+1)
		var ok bool
		if left, ok = combine(op, left, right); !ok {
			p.failAt(line, "cannot compute this constant expression with %q", op)
		}
	}
	return left
}

func (p *parser) unary(depth int) number {
	t := p.tok
	switch {
	case depth > maxDepth:
		p.fail("constant expression nested too deeply")
		return number{}
	case t.kind == numberToken:
		n, ok := parseNumber(t.text)
		if !ok {
			p.fail("%s is not a number", t)
		}
		p.advance()
		return n
	case t.text == "WARP_SZ":
		p.advance()
		return number{integer, 32}
	case t.kind != markToken || !strings.Contains("-+~!(", t.text):
		p.fail("expected a constant, found %s", t)
		return number{}
	}
	p.advance()
	if t.text == "(" {
		n := p.choice(depth + 1)
		p.expect(")")
		return n
	}
	return p.negate(t, p.unary(depth+1))
}

func (p *parser) negate(op token, n number) number {
	switch {
	case op.text == "+":
		return n
	case op.text == "-" && n.kind == integer:
		return number{integer, -n.bits}
	case op.text == "-" && n.kind == single:
		return number{single, n.bits ^ 1<<31}
	case op.text == "-":
		return number{double, n.bits ^ 1<<63}
	case op.text == "~" && n.kind == integer:
		return number{integer, ^n.bits}
	case op.text == "!" && n.kind == integer:
		return truth(n.bits == 0)
	}
	p.failAt(op.line, "%s needs an integer", op)
	return n
}

func truth(b bool) number {
	if b {
		return number{integer, 1}
	}
	return number{}
}

// combine computes in signed integers or, for two fractions, in doubles.
func combine(op string, x, y number) (number, bool) {
	if x.kind == double && y.kind == double {
		return combineFloats(op, math.Float64frombits(x.bits), math.Float64frombits(y.bits))
	}
	if x.kind != integer || y.kind != integer {
		return number{}, false
	}
	a, b := int64(x.bits), int64(y.bits)
	switch op {
	case "*":
		a *= b
	case "/", "%":
		if b == 0 || b == -1 && a == math.MinInt64 {
			return number{}, false
		}
		if op == "/" {
			a /= b
		} else {
			a %= b
		}
	case "+":
		a += b
	case "-":
		a -= b
	case "<<":
		a <<= min(y.bits, 64)
	case ">>":
		a >>= min(y.bits, 63)
	case "&":
		a &= b
	case "^":
		a ^= b
	case "|":
		a |= b
	default:
		return truth(compare(op, a, b)), true
	}
	return number{integer, uint64(a)}, true
}

func combineFloats(op string, a, b float64) (number, bool) {
	switch op {
	case "*":
		a *= b
	case "/":
		a /= b
	case "+":
		a += b
	case "-":
		a -= b
	case "<", "<=", ">", ">=", "==", "!=":
		return truth(compare(op, a, b)), true
	default:
		return number{}, false
	}
	return number{double, math.Float64bits(a)}, true
}

func compare[T int64 | float64](op string, a, b T) bool {
	switch op {
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	case ">=":
		return a >= b
	case "==":
		return a == b
	case "!=":
		return a != b
	case "&&":
		return a != 0 && b != 0
	}
	return a != 0 || b != 0
}

func (n number) String() string { return strconv.FormatInt(int64(n.bits), 10) }
