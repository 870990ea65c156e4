package ptx

import (
	"slices"
	"strings"
)

// kernelParser reads the body of a kernel or a function. Names live in scopes: blocks in braces
// within blocks. A label may be used before it is defined, so branches are resolved at the end.
type kernelParser struct {
	*parser
	k      *Kernel
	what   string // "kernel" or "function"
	scope  *scope
	loc    Loc
	copies map[*Var]*Var // this kernel's copies of the module's shared variables
	calls  map[int]call  // by the instructions that stand for them
	fixups []fixup
}

type scope struct {
	outer  *scope
	regs   map[string]int // index in Kernel.Regs
	types  map[string]Type
	parts  map[string]int // number of parts, by vector; types has the parts themselves: v.x
	ranges map[string]regRange
	vars   map[string]*Var
	labels map[string]int
	tables map[string][]labelUse
}

// regRange is a declaration such as .reg .b32 %r<10>, which declares %r0 to %r9.
type regRange struct {
	typ   Type
	parts int // of vectors; 0 for registers
	count int
}

// labelUse is a mention of a label.
type labelUse struct {
	name string
	line int
}

// fixup is an operand that waits for labels.
type fixup struct {
	instr, arg int
	use        labelUse
	scope      *scope
}

func newKernelParser(p *parser, k *Kernel) *kernelParser {
	kp := &kernelParser{parser: p, k: k, what: "kernel", copies: map[*Var]*Var{}, calls: map[int]call{}}
	kp.push()
	return kp
}

func (p *kernelParser) push() {
	p.scope = &scope{
		outer: p.scope, regs: map[string]int{}, types: map[string]Type{}, parts: map[string]int{}, ranges: map[string]regRange{},
		vars: map[string]*Var{}, labels: map[string]int{}, tables: map[string][]labelUse{},
	}
}

func (s *scope) defines(name string) bool {
	_, reg := s.types[name]
	_, label := s.labels[name]
	_, table := s.tables[name]
	return reg || label || table || s.parts[name] > 0 || s.vars[name] != nil
}

// declare adds a variable or parameter to the current scope.
func (p *kernelParser) declare(v *Var) {
	if p.scope.defines(v.Name) {
		p.failAt(v.Line, "%s is defined twice", v.Name)
	}
	p.scope.vars[v.Name] = v
}

// body reads { ... } and checks it.
func (p *kernelParser) body() {
	p.expect("{")
	for depth := 1; p.err == nil; {
		switch {
		case p.tok.kind == endToken:
			p.fail("%s %s has no end", p.what, p.k.Name)
		case p.is("{"):
			depth++
			p.push()
			p.advance()
		case p.is("}"):
			if depth--; depth == 0 {
				p.resolveLabels()
				p.checkEnd()
				p.advance() // to the module's next directive
				return
			}
			p.scope = p.scope.outer
			p.advance()
		default:
			p.statement()
		}
	}
}

func (p *kernelParser) statement() {
	switch {
	case p.is(";"):
		p.advance()
	case p.tok.kind == dotToken:
		p.bodyDirective()
	case p.is("@"):
		p.instruction()
	case p.tok.kind == nameToken:
		p.labelOrInstr()
	default:
		p.fail("expected an instruction, a label or a directive, found %s", p.tok)
	}
}

func (p *kernelParser) bodyDirective() {
	switch p.tok.text {
	case ".reg":
		p.registers()
	case ".shared", ".local", ".param":
		p.variables(linkage{}, p.bodyVar)
	case ".global", ".const":
		p.variables(linkage{}, p.static)
	case ".extern":
		p.advance()
		if !p.is(".shared") {
			p.fail("expected .shared, found %s", p.tok)
		}
		p.variables(linkage{extern: true}, p.bodyVar)
	case ".loc":
		p.loc = p.readLoc()
	case ".pragma":
		p.pragma()
	case ".file":
		p.file()
	default:
		p.fail("unsupported directive %s in a %s", p.tok, p.what)
	}
}

func (p *kernelParser) bodyVar(v *Var) {
	p.k.Vars = append(p.k.Vars, v)
	p.declare(v)
}

// static declares a variable that is visible only in the body, and exists once for all threads
// and launches.
func (p *kernelParser) static(v *Var) {
	p.mod.Vars = append(p.mod.Vars, v)
	p.declare(v)
}

// registers reads .reg {.v2|.v4} .type NAME{<N>}, ...;
func (p *kernelParser) registers() {
	p.advance()
	parts := 0
	if p.is(".v2") || p.is(".v4") {
		parts = int(p.tok.text[2] - '0')
		p.advance()
	}
	line := p.tok.line
	t := p.registerType()
	if parts > 0 && (t == Pred || t.Bits()*parts > 128) {
		p.failAt(line, "a vector of %d .%s: want no predicates and at most 128 bits", parts, t)
	}
	for more := true; more; more = p.accept(",") {
		p.register(t, parts)
	}
	p.expect(";")
}

func (p *kernelParser) registerType() Type {
	t := typeNames[strings.TrimPrefix(p.tok.text, ".")]
	if p.tok.kind != dotToken || t == NoType || t == TF32 {
		p.fail("expected the type of a register, found %s", p.tok)
	}
	p.advance()
	return t
}

func (p *kernelParser) register(t Type, parts int) {
	line := p.tok.line
	name := p.name("the name of a register")
	s := p.scope
	if !p.accept("<") {
		if s.defines(name) {
			p.failAt(line, "%s is defined twice", name)
		}
		if parts == 0 {
			s.types[name] = t
			return
		}
		s.parts[name] = parts
		for _, c := range "xyzw"[:parts] {
			s.types[name+"."+string(c)] = t
		}
		return
	}
	// An expression would read the closing bracket as an operator.
	n, ok := parseNumber(p.tok.text)
	if p.tok.kind != numberToken || !ok || n.kind != integer || n.bits > 1<<30 {
		p.fail("expected a number of registers, found %s", p.tok)
	}
	if _, twice := s.ranges[name]; twice {
		p.failAt(line, "%s<%d> is defined twice", name, n.bits)
	}
	s.ranges[name] = regRange{t, parts, int(n.bits)}
	p.advance()
	p.expect(">")
}

// findReg returns the index of a register. A register gets an index at its first use.
func (p *kernelParser) findReg(name string) (int, bool) {
	for s := p.scope; s != nil; s = s.outer {
		if at, ok := s.regs[name]; ok {
			return at, true
		}
		if t, ok := s.declared(name); ok {
			at := len(p.k.Regs)
			s.regs[name] = at
			p.k.Regs = append(p.k.Regs, Reg{name, t})
			return at, true
		}
	}
	return 0, false
}

// declared finds a register by its own declaration or in a range.
func (s *scope) declared(name string) (Type, bool) {
	if t, ok := s.types[name]; ok {
		return t, true
	}
	name, part, isPart := strings.Cut(name, ".")
	r, ok := s.numbered(name)
	if !isPart {
		return r.typ, ok && r.parts == 0
	}
	at := strings.Index("xyzw", part)
	return r.typ, ok && len(part) == 1 && at >= 0 && at < r.parts
}

// vectorSize returns the number of parts of the vector with this name, or 0 if there is no such
// vector.
func (p *kernelParser) vectorSize(name string) int {
	for s := p.scope; s != nil; s = s.outer {
		if n := s.parts[name]; n > 0 || s.defines(name) {
			return n
		}
		if r, ok := s.numbered(name); ok {
			return r.parts
		}
	}
	if _, ok := specialNames[name+".x"]; ok {
		return 4
	}
	return 0
}

// numbered returns the range that contains a name.
func (s *scope) numbered(name string) (regRange, bool) {
	number := 0
	for at, unit := len(name)-1, 1; at > 0 && digit(name[at]) && len(name)-at < 10; at, unit = at-1, unit*10 {
		number += int(name[at]-'0') * unit
		if name[at] == '0' && at < len(name)-1 {
			continue // a leading zero
		}
		if r, ok := s.ranges[name[:at]]; ok && number < r.count {
			return r, true
		}
	}
	return regRange{}, false
}

// findVar returns a variable. For a shared variable of the module, it returns the kernel's copy.
func (p *kernelParser) findVar(name string) *Var {
	v, own := p.visible(name)
	if v == nil || own || v.Space != Shared {
		return v
	}
	if p.copies[v] == nil {
		mine := *v
		p.copies[v] = &mine
		p.k.Vars = append(p.k.Vars, &mine)
	}
	return p.copies[v]
}

// visible returns a variable of the body, or else of the module.
func (p *kernelParser) visible(name string) (v *Var, own bool) {
	for s := p.scope; s != nil; s = s.outer {
		if v := s.vars[name]; v != nil {
			return v, true
		}
	}
	return p.vars[name], false
}

// layout assigns the offsets of the shared and local variables.
func (p *kernelParser) layout() {
	k := p.k
	dynamic := int64(1)
	for _, v := range k.Vars {
		size := &k.StaticSize
		switch {
		case v.Extern:
			dynamic = max(dynamic, v.Align)
			continue
		case v.Space == Local:
			size = &k.LocalSize
		}
		v.Offset = alignUp(*size, v.Align)
		*size = v.Offset + v.Size
	}
	k.DynamicOffset = alignUp(k.StaticSize, dynamic)
	for _, v := range k.Vars {
		if v.Extern {
			v.Offset = k.DynamicOffset
		}
	}
}

// labelOrInstr reads NAME: or an instruction.
func (p *kernelParser) labelOrInstr() {
	word := p.tok
	p.advance()
	if !p.accept(":") {
		p.opcode(word, Guard{})
		return
	}
	if p.scope.defines(word.text) {
		p.failAt(word.line, "%s is defined twice", word.text)
	}
	if p.is(".branchtargets") {
		p.branchTargets(word.text)
		return
	}
	p.scope.labels[word.text] = len(p.k.Instrs)
	p.k.Labels = append(p.k.Labels, Label{word.text, len(p.k.Instrs)})
}

func (p *kernelParser) branchTargets(name string) {
	var uses []labelUse
	for first := true; first || p.is(","); first = false {
		p.advance()
		line := p.tok.line
		uses = append(uses, labelUse{p.name("a label"), line})
	}
	p.scope.tables[name] = uses
	p.expect(";")
}

func (s *scope) label(name string) (int, bool) {
	for ; s != nil; s = s.outer {
		if at, ok := s.labels[name]; ok {
			return at, true
		}
	}
	return 0, false
}

func (s *scope) table(name string) ([]labelUse, *scope) {
	for ; s != nil; s = s.outer {
		if uses, ok := s.tables[name]; ok {
			return uses, s
		}
	}
	return nil, nil
}

func (p *kernelParser) resolveLabels() {
	for _, f := range p.fixups {
		arg := &p.k.Instrs[f.instr].Args[f.arg]
		uses, scope := []labelUse{f.use}, f.scope
		if arg.Kind == TableArg {
			if uses, scope = f.scope.table(f.use.name); uses == nil {
				p.failAt(f.use.line, "no .branchtargets list %s", f.use.name)
			}
		}
		for _, use := range uses {
			at, ok := scope.label(use.name)
			if !ok {
				p.failAt(use.line, "no label %s", use.name)
			}
			arg.Targets = append(arg.Targets, at)
		}
	}
}

// checkEnd checks that no path leaves the end of the kernel: the last instruction returns or
// jumps, and no branch leads past it.
func (p *kernelParser) checkEnd() {
	n := len(p.k.Instrs)
	if n == 0 {
		p.fail("%s %s does not end in ret or exit", p.what, p.k.Name)
		return
	}
	leaves := []string{"ret", "exit", "trap", "bra", "brx.idx"}
	if last := &p.k.Instrs[n-1]; last.Guard.Used || !slices.Contains(leaves, last.Op) {
		p.failAt(last.Line, "%s %s does not end in ret or exit", p.what, p.k.Name)
	}
	for i := range p.k.Instrs {
		in := &p.k.Instrs[i]
		for _, a := range in.Args {
			if slices.Contains(a.Targets, n) {
				p.failAt(in.Line, "the branch leads to the end of %s %s, which has no ret or exit there", p.what, p.k.Name)
			}
		}
	}
}
