package ptx

// rawOperand is an operand as written, before the form of the instruction says
// what it is.
type rawOperand struct {
	kind rawKind
	line int
	not  bool
	name string // rawName; with the component of a special register: %tid.x
	num  number // rawConst, or the offset of rawMem and rawName
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
		p.failAt(line, "%s is no predicate register", name)
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
	if p.err != nil {
		return
	}
	in, err := p.bind(op.line, words, raw)
	if err != nil {
		p.stop(err)
	}
	in.Guard, in.Line, in.Loc = g, op.line, p.loc
	p.k.Instrs = append(p.k.Instrs, in)
	p.advance()
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

// named reads NAME, NAME.x or NAME+OFFSET.
func (p *kernelParser) named(o *rawOperand) {
	o.name = p.name("an operand")
	if p.tok.kind == dotToken {
		o.name += p.tok.text
		p.advance()
		return
	}
	if p.is("+") || p.is("-") {
		o.num = number{integer, uint64(p.integer("an offset"))}
	}
}

func (p *kernelParser) memory() rawOperand {
	o := rawOperand{kind: rawMem, line: p.tok.line}
	p.advance()
	if p.tok.kind == nameToken && !p.is("WARP_SZ") {
		p.named(&o)
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
		o.list = append(o.list, p.single())
	}
	p.expect("}")
	return o
}
