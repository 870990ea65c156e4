package ptx

import "strings"

// rawOperand is an operand as written, before the form of the instruction gives it a meaning.
type rawOperand struct {
	kind rawKind
	line int
	not  bool
	name string // rawName; with the component of a vector: %tid.x
	num  number // rawConst, or the offset of rawMem and rawName
	at   bool   // num is an index of rawName, not an offset: a[2]
	list []rawOperand
}

type rawKind uint8

const (
	rawName  rawKind = iota
	rawConst         // num
	rawMem           // [name+num] or [num]
	rawVec           // {list}
	rawPair          // list[0]|list[1]
)

// instruction reads @p OPCODE OPERANDS;
func (p *kernelParser) instruction() {
	p.advance()
	g := Guard{Used: true, Not: p.accept("!")}
	line := p.tok.line
	name := p.name("a predicate")
	at, ok := p.findReg(name)
	if !ok || p.k.Regs[at].Type != Pred {
		p.failAt(line, "%s is not a predicate register", name)
	}
	g.Reg = at
	op := p.tok
	p.name("an instruction")
	p.opcode(op, g)
}

// opcode reads the rest of an instruction.
func (p *kernelParser) opcode(op token, g Guard) {
	if op.text == "call" {
		p.call(op, g)
		return
	}
	words := []string{op.text}
	for p.tok.kind == dotToken {
		words = append(words, p.tok.text[1:])
		p.advance()
	}
	var raw []rawOperand
	p.list(";", func() { raw = append(raw, p.operand()) })
	if len(words) > 1 && words[0] == "mov" && (words[1] == "v2" || words[1] == "v4") {
		p.moveVector(op, words, raw, g)
	} else {
		p.add(op, words, raw, g)
	}
	p.advance()
}

// add appends an instruction with its operands to the body.
func (p *kernelParser) add(op token, words []string, raw []rawOperand, g Guard) {
	if p.err != nil {
		return
	}
	in, err := p.bind(op.line, words, raw)
	if err != nil {
		p.stop(err)
	}
	in.Guard, in.Line, in.Loc = g, op.line, p.loc
	p.k.Instrs = append(p.k.Instrs, in)
}

// moveVector appends a move for each part.
func (p *kernelParser) moveVector(op token, words []string, raw []rawOperand, g Guard) {
	n := int(words[1][1] - '0')
	part := append([]string{"mov"}, words[2:]...)
	written := map[string]bool{}
	for i := range n {
		for _, o := range raw {
			if len(raw) != 2 || o.kind != rawVec || len(o.list) != n {
				p.failAt(op.line, "mov.%s takes 2 vectors of %d", words[1], n)
				return
			}
		}
		to, from := raw[0].list[i], raw[1].list[i]
		if written[from.name] {
			p.failAt(op.line, "unsupported: mov.%s that writes %s before it is read", words[1], from.name)
		}
		written[to.name] = to.kind == rawName
		p.add(op, part, []rawOperand{to, from}, g)
	}
}

// operand reads an operand or a pair of them.
func (p *kernelParser) operand() rawOperand {
	o := p.single()
	if !p.accept("|") {
		return o
	}
	return rawOperand{kind: rawPair, line: o.line, list: []rawOperand{o, p.single()}}
}

func (p *kernelParser) single() rawOperand {
	o := rawOperand{line: p.tok.line}
	switch {
	case p.is("["):
		return p.memory()
	case p.is("{"):
		return p.vector()
	case p.tok.kind == nameToken && !p.is("WARP_SZ"):
		p.named(&o)
	case p.is("!"):
		p.advance()
		if o.not = p.tok.kind == nameToken; o.not {
			p.named(&o)
			break
		}
		o.kind = rawConst
		o.num = p.negate(token{text: "!", line: o.line}, p.unary(0))
	default:
		o.kind = rawConst
		o.num = p.constant()
	}
	return o
}

// named reads NAME, NAME.x, NAME[INDEX] or NAME+OFFSET. The name of a vector stands for its
// parts.
func (p *kernelParser) named(o *rawOperand) {
	o.name = p.name("an operand")
	parts := p.vectorSize(o.name)
	switch {
	case p.tok.kind == dotToken:
		part := p.tok.text
		if at := strings.Index("rgba", part[1:]); parts > 0 && len(part) == 2 && at >= 0 {
			part = "." + "xyzw"[at:at+1]
		}
		o.name += part
		p.advance()
	case parts > 0:
		o.kind = rawVec
		for _, c := range "xyzw"[:parts] {
			o.list = append(o.list, rawOperand{line: o.line, name: o.name + "." + string(c)})
		}
	case p.is("["):
		p.index(o)
	case p.is("+") || p.is("-"):
		o.num = number{integer, uint64(p.integer("an offset"))}
	}
}

// index reads [INDEX].
func (p *kernelParser) index(o *rawOperand) {
	p.advance()
	if p.tok.kind == nameToken && !p.is("WARP_SZ") {
		p.fail("unsupported: the index %s of %s in a register: compute the address first", p.tok, o.name)
	}
	o.num, o.at = number{integer, uint64(p.integer("an index"))}, true
	p.expect("]")
}

func (p *kernelParser) memory() rawOperand {
	o := rawOperand{kind: rawMem, line: p.tok.line}
	p.advance()
	if p.tok.kind == nameToken && !p.is("WARP_SZ") {
		if p.named(&o); o.at || o.kind != rawMem {
			p.failAt(o.line, "%s is not an address: want a register or a variable in the brackets, and an offset", o.name)
		}
	} else {
		o.num = number{integer, uint64(p.integer("an address"))}
	}
	p.expect("]")
	return o
}

func (p *kernelParser) vector() rawOperand {
	o := rawOperand{kind: rawVec, line: p.tok.line}
	for first := true; first || p.is(","); first = false {
		p.advance()
		if p.is("{") || p.is("[") {
			p.fail("expected a register, found %s", p.tok)
		}
		part := p.single()
		if part.kind == rawVec {
			p.failAt(part.line, "expected a register, found the vector %s", part.name)
		}
		o.list = append(o.list, part)
	}
	p.expect("}")
	return o
}
