package ptx

// place is what a call passes, or what a function has for it: a variable, or else
// an operand, which is a register, a constant, or _ for a result that nobody wants.
type place struct {
	line int
	name string
	v    *Var
	op   Operand
	num  number // of an ImmArg
}

// typ is the type of a parameter.
func (x *place) typ() Type {
	if x.v != nil {
		return x.v.Type
	}
	return x.op.Type
}

func (x *place) bytes() int64 {
	if x.v != nil {
		return x.v.Size
	}
	return x.op.Type.Bytes()
}

// untyped are the types that values are copied as, by bytes.
var untyped = map[int64]Type{1: B8, 2: B16, 4: B32, 8: B64}

// fits says whether a value can be copied to or from a parameter. What has no type of
// its own gets that of the parameter.
func (x *place) fits(param *place) bool {
	ok := true
	switch x.op.Kind {
	case ImmArg:
		x.op.Imm, ok = x.num.as(param.typ())
		x.op.Type = param.typ()
	case SinkArg:
		x.op.Type = param.typ()
	}
	return ok && x.bytes() == param.bytes() && untyped[x.bytes()] != NoType
}

// in is the place in a frame.
func (x place) in(f frame) place {
	x.v = f.variable(x.v)
	if x.v == nil && x.op.Kind == RegArg {
		x.op.Reg += f.regs
	}
	return x
}

// from is the instruction that copies a value to a place; one of both is no variable.
func (x *place) from(y *place, line int) Instr {
	t := untyped[x.bytes()]
	in := Instr{Mods: []string{"local", t.String()}, Types: []Type{t}, Space: Local, Line: line}
	switch {
	case x.v != nil:
		in.Op, in.Args = "st", []Operand{memory(x.v), y.op}
	case y.v != nil:
		in.Op, in.Args = "ld", []Operand{x.op, memory(y.v)}
	default:
		in.Op, in.Args, in.Space, in.Mods = "mov", []Operand{x.op, y.op}, Generic, in.Mods[1:]
	}
	return in
}

// memory is the operand [v].
func memory(v *Var) Operand { return Operand{Kind: MemArg, Reg: NoReg, Var: v} }
