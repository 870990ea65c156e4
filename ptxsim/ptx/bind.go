package ptx

import (
	"slices"
	"strings"
)

// A fit is a form that words match, as an instruction without operands, and what has the form.
type fit struct {
	Instr
	version Version
	arch    int
}

// fits returns the forms that words match, in the order of the table, and whether a form has their
// name. The words of an instruction occur often in a module.
func (p *parser) fits(words []string) (all []fit, named bool) {
	for _, f := range formsByHead()[words[0]] {
		n := len(f.words)
		if len(words) < n || !slices.Equal(words[:n], f.words) {
			continue
		}
		named = true
		mods, ok := f.match(words[n:])
		if !ok {
			continue
		}
		in := Instr{Op: f.Op, Mods: mods, Form: f}
		for _, m := range mods {
			if t, ok := typeNames[m]; ok {
				in.Types = append(in.Types, t)
			}
			if s, ok := spaces[m]; ok && in.Space == Generic {
				in.Space = s
			}
		}
		v, arch := f.since(mods)
		all = append(all, fit{in, v, arch})
	}
	return all, named
}

// bind finds the form of an instruction and gives its operands their types.
func (p *kernelParser) bind(line int, words []string, raw []rawOperand) (Instr, error) {
	text := strings.Join(words, ".")
	fits, known := p.known[text]
	named := known
	if !known {
		if fits, named = p.fits(words); len(fits) > 0 {
			p.known[text] = fits
		}
	}
	var failure error // of the form that matched furthest, if any matched beyond its name
	rank := 0         // how far it matched
	fail := func(r int, err error) {
		if r > rank {
			rank, failure = r, err
		}
	}
	for _, f := range fits {
		if !p.mod.atLeast(f.version, f.arch) {
			fail(1, errorAt(line, "%q needs .version %v and .target sm_%d or later", text, f.version, f.arch))
			continue
		}
		b := binder{kernelParser: p, in: f.Instr}
		b.in.Line = line
		if err := b.bind(raw); err != nil {
			fail(2, err)
			continue
		}
		p.fixups = append(p.fixups, b.fixups...)
		return b.in, nil
	}
	switch {
	case failure != nil:
		return Instr{}, failure
	case named:
		return Instr{}, errorAt(line, "unknown modifiers in %q", text)
	}
	return Instr{}, errorAt(line, "unknown instruction %q", text)
}

// binder matches the operands of one instruction with those of a form.
type binder struct {
	*kernelParser
	in     Instr
	fixups []fixup
}

func (b *binder) bind(raw []rawOperand) error {
	in := &b.in
	args := in.Form.args
	least := len(args)
	for least > 0 && args[least-1].optional {
		least--
	}
	if len(raw) < least || len(raw) > len(args) {
		return errorAt(in.Line, "%s takes %s, found %d operands", b.text(), operandCount(least, len(args)), len(raw))
	}
	in.Args = make([]Operand, 0, len(raw))
	for i := range raw {
		a, err := b.operand(&args[i], &raw[i])
		if err != nil {
			return err
		}
		in.Args = append(in.Args, a)
	}
	return b.checkAlignment()
}

func operandCount(least, most int) string {
	plural := "s"
	if most == 1 {
		plural = ""
	}
	if least == most {
		return number{integer, uint64(most)}.String() + " operand" + plural
	}
	return number{integer, uint64(least)}.String() + " to " + number{integer, uint64(most)}.String() + " operands"
}

func (b *binder) text() string {
	return strings.Join(append([]string{b.in.Op}, b.in.Mods...), ".")
}

// vector returns the number of registers of .v2 and .v4, or 0 without them.
func (b *binder) vector() int {
	switch b.in.Pick("v2", "v4") {
	case "v2":
		return 2
	case "v4":
		return 4
	}
	return 0
}

func (b *binder) operand(s *argSpec, r *rawOperand) (Operand, error) {
	t := b.in.resolveType(s.typ)
	switch s.kind {
	case argMem:
		return b.memory(s, r)
	case argVec:
		return b.elements(s, r, t, s.n)
	case argByMods:
		if n := b.vector(); n > 0 {
			return b.elements(s, r, t, n)
		}
		if r.kind == rawVec && len(r.list) == 1 { // a vector of one, as written by Triton
			r = &r.list[0]
		}
	case argSplit:
		return b.split(s, r, t)
	case argLabel, argTable:
		return b.label(s, r)
	}
	if r.kind == rawPair && s.pair != 0 {
		return b.both(s, r, t)
	}
	if s.pair == '|' {
		return Operand{}, errorAt(r.line, "%s needs a pair of destinations d|p", b.text())
	}
	return b.plain(s, r, t)
}

func (b *binder) both(s *argSpec, r *rawOperand, t Type) (Operand, error) {
	o := Operand{Kind: PairArg, Type: t}
	for i, t := range []Type{t, Pred} {
		e, err := b.plain(&argSpec{dest: true, sink: t == Pred || s.sink}, &r.list[i], t)
		if err != nil {
			return o, err
		}
		o.Elems = append(o.Elems, e)
	}
	return o, nil
}

func (b *binder) elements(s *argSpec, r *rawOperand, t Type, n int) (Operand, error) {
	o := Operand{Kind: VecArg, Type: t}
	if r.kind != rawVec || len(r.list) != n {
		return o, errorAt(r.line, "%s needs %d elements in braces here", b.text(), n)
	}
	each := *s
	each.sink = s.dest
	for i := range r.list {
		e, err := b.plain(&each, &r.list[i], t)
		if err != nil {
			return o, err
		}
		o.Elems = append(o.Elems, e)
	}
	return o, nil
}

// split reads {a, b} or {a, b, c, d} as one register.
func (b *binder) split(s *argSpec, r *rawOperand, t Type) (Operand, error) {
	if r.kind == rawVec && (len(r.list) == 2 || len(r.list) == 4) {
		for _, part := range []Type{B8, B16, B32, B64} {
			if part.Bits()*len(r.list) == t.Bits() {
				return b.elements(s, r, part, len(r.list))
			}
		}
	}
	return Operand{}, errorAt(r.line, "expected 2 or 4 registers in braces that make up a .%s", t)
}

func (b *binder) label(s *argSpec, r *rawOperand) (Operand, error) {
	o := Operand{Kind: LabelArg}
	if s.kind == argTable {
		o.Kind = TableArg
	}
	if r.kind != rawName || r.not || r.at || r.num != (number{}) {
		return o, errorAt(r.line, "expected a label")
	}
	use := labelUse{r.name, r.line}
	b.fixups = append(b.fixups, fixup{len(b.k.Instrs), len(b.in.Args), use, b.scope})
	return o, nil
}

// plain reads a register, a constant, a special register or an address.
func (b *binder) plain(s *argSpec, r *rawOperand, t Type) (Operand, error) {
	o := Operand{Type: t, Reg: NoReg}
	switch {
	case r.kind == rawConst && !s.dest:
		return b.constant(s, r, o)
	case r.kind != rawName:
		return o, errorAt(r.line, "%s does not take an operand of this kind here", b.text())
	case r.not && (s.dest || t != Pred):
		return o, errorAt(r.line, "%s does not take a negation here", b.text())
	case s.imm:
		return o, errorAt(r.line, "%s needs a constant here", b.text())
	case r.name == "_":
		o.Kind = SinkArg
		if !s.sink {
			return o, errorAt(r.line, "%s does not take _ here", b.text())
		}
		return o, nil
	}
	if at, ok := b.findReg(r.name); ok {
		o.Reg, o.Not = at, r.not
		if r.at || r.num != (number{}) {
			return o, errorAt(r.line, "an offset to a register is allowed in brackets only")
		}
		if have := b.k.Regs[at].Type; !fits(have, t, s.wide) {
			return o, errorAt(r.line, "%s is a .%s register, but %s needs a .%s here", r.name, have, b.text(), t)
		}
		return o, nil
	}
	if s.dest || r.not {
		return o, errorAt(r.line, "no register %s", r.name)
	}
	if special, ok := specialNames[r.name]; ok && !r.at {
		return b.special(special, r, o)
	}
	return b.address(r, o)
}

// special reads a special register. Only moves and conversions can read one.
func (b *binder) special(s Special, r *rawOperand, o Operand) (Operand, error) {
	o.Kind, o.Special = SpecialArg, s
	if b.in.Op != "mov" && b.in.Op != "cvt" {
		return o, errorAt(r.line, "%s cannot read %s: mov it to a register first", b.text(), r.name)
	}
	if !fits(s.Type(), o.Type, false) {
		return o, errorAt(r.line, "%s is a .%s register, but %s needs a .%s here", r.name, s.Type(), b.text(), o.Type)
	}
	return o, nil
}

// address reads the address of a variable.
func (b *binder) address(r *rawOperand, o Operand) (Operand, error) {
	o.Kind, o.Var = SymArg, b.findVar(r.name)
	if o.Var == nil {
		return o, errorAt(r.line, "%s is not declared", r.name)
	}
	var err error
	if o.Off, err = r.offset(o.Var); err != nil {
		return o, err
	}
	c := o.Type.Class()
	if b.in.Op != "mov" && b.in.Op != "cvta" || o.Type.Bits() < 32 || o.Type.Bits() > 64 || c == Float || c == Predicate {
		return o, errorAt(r.line, "%s needs a .%s here, not the address of %s", b.text(), o.Type, r.name)
	}
	return o, nil
}

func (b *binder) constant(s *argSpec, r *rawOperand, o Operand) (Operand, error) {
	o.Kind = ImmArg
	var ok bool
	if o.Imm, ok = r.num.as(o.Type); !ok {
		return o, errorAt(r.line, "this constant is not of type .%s, which %s needs here", o.Type, b.text())
	}
	if s.choices != nil && !slices.Contains(s.choices, o.Imm) {
		return o, errorAt(r.line, "%s does not take %d here", b.text(), o.Imm)
	}
	return o, nil
}

// fits reports whether an instruction may use a register as a type. Sizes must agree, and kinds
// if both have one; signs need not.
func fits(reg, t Type, wide bool) bool {
	rc, tc := reg.Class(), t.Class()
	if rc == Predicate || tc == Predicate {
		return reg == t
	}
	if wide && rc != Float && reg.Bits() > t.Bits() {
		return true
	}
	if rc == Float && tc == Float {
		return reg == t
	}
	return reg.Bits() == t.Bits() && (rc == Bits || tc == Bits || rc != Float && tc != Float)
}

// offset returns the operand's offset in a variable. An index counts scalars, whatever the
// dimensions of the array.
func (r *rawOperand) offset(v *Var) (int64, error) {
	switch {
	case !r.at:
		return int64(r.num.bits), nil
	case len(v.Dims) == 0:
		return 0, errorAt(r.line, "%s is not an array and has no element %d", r.name, int64(r.num.bits))
	}
	return int64(r.num.bits) * v.Type.Bytes(), nil
}

// memory reads [reg+offset], [variable+offset], [constant] or, in a load or store, array[index].
func (b *binder) memory(s *argSpec, r *rawOperand) (Operand, error) {
	o := Operand{Kind: MemArg, Type: b.in.resolveType(s.typ), Reg: NoReg, Off: int64(r.num.bits)}
	element := r.kind == rawName && r.at && !r.not && (b.in.Op == "ld" || b.in.Op == "st")
	if r.kind != rawMem && !element {
		return o, errorAt(r.line, "%s needs an address in brackets here", b.text())
	}
	if r.name == "" {
		return o, nil
	}
	if at, ok := b.findReg(r.name); ok && !element {
		o.Reg = at
		have := b.k.Regs[at].Type
		if b.in.Space == Param && b.what == "function" {
			b.in.Space = Local // where a function has its parameters
		}
		if c := have.Class(); c == Float || c == Predicate || have.Bits() != 64 && have.Bits() != 32 {
			return o, errorAt(r.line, "%s is a .%s register and cannot hold an address", r.name, have)
		}
		return o, nil
	}
	if o.Var = b.findVar(r.name); o.Var == nil {
		return o, errorAt(r.line, "%s is not declared", r.name)
	}
	var err error
	if o.Off, err = r.offset(o.Var); err != nil {
		return o, err
	}
	space := s.space
	if space == Generic {
		space = b.in.Space
	}
	if o.Var.Frame && space == Param {
		b.in.Space, space = Local, Local
	}
	if have := o.Var.Space; have != space && (space != Generic || have != Global) {
		return o, errorAt(r.line, "%s lies in .%s memory, but the access is to .%s", r.name, have, space)
	}
	if o.Var.Space == Param || o.Var.Frame {
		bytes := o.Type.Bytes() * int64(max(b.vector(), 1))
		if o.Off < 0 || o.Off > o.Var.Size-bytes {
			return o, errorAt(r.line, "the access lies outside of parameter %s, which has %d bytes", r.name, o.Var.Size)
		}
	}
	return o, nil
}

// checkAlignment finds accesses that are misaligned for all contents of the registers: they would
// always fault.
func (b *binder) checkAlignment() error {
	lanes := int64(max(b.vector(), 1))
	for _, a := range b.in.Args {
		if a.Kind != MemArg || a.Type == NoType {
			continue
		}
		bytes := a.Type.Bytes() * lanes
		if bytes > 16 {
			return errorAt(b.in.Line, "%s accesses %d bytes at once, more than 16", b.text(), bytes)
		}
		known := a.Reg == NoReg && (a.Var == nil || a.Var.Align%bytes == 0)
		if known && a.Off%bytes != 0 {
			return errorAt(b.in.Line, "%s at offset %d is not aligned to %d bytes", b.text(), a.Off, bytes)
		}
	}
	return nil
}
