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
func (p *kernelParser) instruction() error {
	if err := p.advance(); err != nil {
		return err
	}
	g := Guard{Used: true}
	var err error
	if g.Not, err = p.accept("!"); err != nil {
		return err
	}
	line := p.tok.line
	name, err := p.name("a predicate")
	if err != nil {
		return err
	}
	at, ok := p.findReg(name)
	if !ok || p.k.Regs[at].Type != Pred {
		return p.errorAt(line, "%s is no predicate register", name)
	}
	g.Reg = at
	op := p.tok
	if _, err := p.name("an instruction"); err != nil {
		return err
	}
	return p.opcode(op, g)
}

// opcode reads the rest of an instruction.
func (p *kernelParser) opcode(op token, g Guard) error {
	if op.text == "call" {
		return p.call(op, g)
	}
	words := []string{op.text}
	for p.tok.kind == dotToken {
		words = append(words, p.tok.text[1:])
		if err := p.advance(); err != nil {
			return err
		}
	}
	var raw []rawOperand
	for !p.is(";") {
		if len(raw) > 0 {
			if err := p.expect(","); err != nil {
				return err
			}
		}
		o, err := p.operand()
		if err != nil {
			return err
		}
		raw = append(raw, o)
	}
	in, err := p.bind(op.line, words, raw)
	if err != nil {
		return err
	}
	in.Guard, in.Line, in.Loc = g, op.line, p.loc
	p.k.Instrs = append(p.k.Instrs, in)
	return p.advance()
}

// operand reads an operand or a pair of them.
func (p *kernelParser) operand() (rawOperand, error) {
	o, err := p.single()
	if err != nil || !p.is("|") {
		return o, err
	}
	if err := p.advance(); err != nil {
		return o, err
	}
	second, err := p.single()
	return rawOperand{kind: rawPair, line: o.line, list: []rawOperand{o, second}}, err
}

func (p *kernelParser) single() (rawOperand, error) {
	o := rawOperand{line: p.tok.line}
	var err error
	switch {
	case p.is("["):
		return p.memory()
	case p.is("{"):
		return p.vector()
	case p.tok.kind == nameToken && !p.is("WARP_SZ"):
		err = p.named(&o)
	case p.is("!"):
		if err = p.advance(); err != nil {
			return o, err
		}
		if o.not = p.tok.kind == nameToken; o.not {
			err = p.named(&o)
			break
		}
		o.kind = rawConst
		var n number
		if n, err = p.unary(0); err == nil {
			o.num, err = negate(p.parser, token{text: "!", line: o.line}, n)
		}
	default:
		o.kind = rawConst
		o.num, err = p.constant()
	}
	return o, err
}

// named reads NAME, NAME.x or NAME+OFFSET.
func (p *kernelParser) named(o *rawOperand) error {
	var err error
	if o.name, err = p.name("an operand"); err != nil {
		return err
	}
	if p.tok.kind == dotToken {
		o.name += p.tok.text
		return p.advance()
	}
	if !p.is("+") && !p.is("-") {
		return nil
	}
	n, err := p.integer("an offset")
	o.num = number{integer, uint64(n)}
	return err
}

func (p *kernelParser) memory() (rawOperand, error) {
	o := rawOperand{kind: rawMem, line: p.tok.line}
	if err := p.advance(); err != nil {
		return o, err
	}
	var err error
	if p.tok.kind == nameToken && !p.is("WARP_SZ") {
		err = p.named(&o)
	} else {
		var n int64
		n, err = p.integer("an address")
		o.num = number{integer, uint64(n)}
	}
	if err != nil {
		return o, err
	}
	return o, p.expect("]")
}

func (p *kernelParser) vector() (rawOperand, error) {
	o := rawOperand{kind: rawVec, line: p.tok.line}
	for first := true; first || p.is(","); first = false {
		if err := p.advance(); err != nil {
			return o, err
		}
		if p.is("{") || p.is("[") {
			return o, p.errorf("expected a register, found %s", p.tok)
		}
		e, err := p.single()
		if err != nil {
			return o, err
		}
		o.list = append(o.list, e)
	}
	return o, p.expect("}")
}
