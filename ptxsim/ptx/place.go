package ptx

// place is an argument or result of a call, or the function's parameter for it. It is a variable
// or an operand: a register, a constant, or _ for an unused result.
type place struct {
	line int
	name string
	v    *Var
	op   Operand
	num  number // of an ImmArg
}

// typ returns the type of a parameter.
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

// untyped are the types for copying values, by bytes.
var untyped = map[int64]Type{1: B8, 2: B16, 4: B32, 8: B64}

// fits reports whether a value can be copied to or from a parameter. A value without a type gets
// the parameter's type.
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

// in returns the place in a frame.
func (x place) in(f frame) place {
	x.v = f.variable(x.v)
	if x.v == nil && x.op.Kind == RegArg {
		x.op.Reg += f.regs
	}
	return x
}

// from returns the instruction that copies a value to a place. At least one of them is not a
// variable.
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

// memory returns the operand [v].
func memory(v *Var) Operand { return Operand{Kind: MemArg, Reg: NoReg, Var: v} }
