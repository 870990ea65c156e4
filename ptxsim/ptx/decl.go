package ptx

import (
	"fmt"
	"math/bits"
	"slices"
)

// maxBytes limits the size of a variable, so that sizes never overflow.
const maxBytes = 1 << 40

// varHead is shared by the declarations of one statement.
type varHead struct {
	space Space
	typ   Type
	vec   int64
	align int64
}

// varType reads {.attribute(.managed)} {.align N} {.v2|.v4} .type, after the state space. For a
// pointer parameter it skips .ptr and the attributes of the pointee.
func (p *parser) varType(space Space) varHead {
	h := varHead{space: space, vec: 1}
	for p.err == nil {
		line := p.tok.line
		word := p.tok.text
		if p.tok.kind != dotToken {
			p.fail("expected a type, found %s", p.tok)
			break
		}
		p.advance()
		switch t := typeNames[word[1:]]; {
		case word == ".align":
			n := p.count(".align")
			if n == 0 || n&(n-1) != 0 {
				p.failAt(line, ".align %d is not a power of two", n)
			}
			h.align = int64(n)
		case word == ".attribute":
			p.attributes(space)
		case word == ".v2" || word == ".v4":
			h.vec = int64(word[2] - '0')
		case t == Pred || t == TF32:
			p.failAt(line, "a variable cannot have the type %s", word)
		case t != NoType:
			h.typ = t
			h.align = max(h.align, t.Bytes()*h.vec)
			return h
		default:
			p.failAt(line, "expected a type, found %q", word)
		}
	}
	return h
}

// attributes reads (.managed): the host may also access the variable. Here it can access all
// memory.
func (p *parser) attributes(space Space) {
	p.expect("(")
	p.list(")", func() {
		switch {
		case !p.is(".managed"):
			p.fail("unsupported attribute %s of a variable", p.tok)
		case space != Global:
			p.fail(".managed is for variables in .global memory")
		}
		p.advance()
	})
	p.expect(")")
}

// declarator reads NAME{[N]...}.
func (p *parser) declarator(h varHead) *Var {
	v := &Var{Line: p.tok.line, Space: h.space, Type: h.typ, Align: h.align}
	v.Name = p.name("the name of a variable")
	v.Size = h.typ.Bytes() * h.vec
	for first := true; p.is("["); first = false {
		p.advance()
		n := 0
		if !p.is("]") || !first {
			n = p.count("the length of an array")
		}
		p.expect("]")
		if n > 0 && v.Size > maxBytes/int64(n) {
			p.failAt(v.Line, "%s is too large", v.Name)
		}
		v.Size *= int64(n)
		v.Dims = append(v.Dims, int64(n))
		if len(v.Dims) > maxDepth {
			p.failAt(v.Line, "%s has more than %d dimensions", v.Name, maxDepth)
			return v
		}
	}
	return v
}

// params reads the parameters of a kernel and lays them out.
func (p *parser) params(k *Kernel) {
	p.advance()
	p.list(")", func() {
		v := p.param()
		p.kernel.declare(v)
		v.Offset = alignUp(k.ParamSize, v.Align)
		k.ParamSize = v.Offset + v.Size
		k.Params = append(k.Params, v)
	})
	limit := int64(4096)
	if p.mod.atLeast(Version{8, 1}, 70) {
		limit = 32764
	}
	if k.ParamSize > limit {
		p.fail("the parameters of %s take %d bytes, more than %d", k.Name, k.ParamSize, limit)
	}
	p.advance()
}

func (p *parser) param() *Var {
	p.expect(".param")
	h := p.varType(Param)
	p.pointee()
	v := p.declarator(h)
	if v.Size == 0 {
		p.failAt(v.Line, "parameter %s has no size", v.Name)
	}
	return v
}

// pointee skips .ptr {.space} {.align N}, a promise of the compiler.
func (p *parser) pointee() {
	if !p.accept(".ptr") {
		return
	}
	switch p.tok.text {
	case ".global", ".const", ".shared", ".local":
		p.advance()
	}
	if p.accept(".align") {
		p.count(".align")
	}
}

func alignUp(n, align int64) int64 { return (n + align - 1) &^ (align - 1) }

// atLeast reports whether the module's language and target are new enough.
func (m *Module) atLeast(v Version, arch int) bool {
	return !m.Version.before(v) && m.Arch >= arch
}

func (v Version) before(w Version) bool {
	return v.Major < w.Major || v.Major == w.Major && v.Minor < w.Minor
}

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// moduleVars reads global, const or shared variables of module scope.
func (p *parser) moduleVars(link linkage) {
	p.variables(link, func(v *Var) {
		if p.vars[v.Name] != nil || p.names[v.Name] {
			p.failAt(v.Line, "%s is defined twice", v.Name)
		}
		p.vars[v.Name] = v
		p.mod.Vars = append(p.mod.Vars, v)
	})
}

var varSpaces = map[string]Space{".global": Global, ".const": Const, ".shared": Shared, ".local": Local, ".param": Local}

// variables reads a declaration, starting at its state space.
func (p *parser) variables(link linkage, declare func(*Var)) {
	space, frame := varSpaces[p.tok.text], p.is(".param")
	p.advance()
	h := p.varType(space)
	for more := true; more; more = p.accept(",") {
		v := p.declarator(h)
		v.Extern, v.Frame = link.extern, frame
		p.initialiser(v, h)
		switch {
		case v.Size == 0 && !v.Extern:
			p.failAt(v.Line, "%s has no size", v.Name)
		case v.Extern && space != Shared:
			p.failAt(v.Line, "%s is .extern: only shared memory can be", v.Name)
		}
		declare(v)
	}
	p.expect(";")
}

// initialiser reads = VALUE or = {VALUE, ...}.
func (p *parser) initialiser(v *Var, h varHead) {
	if !p.accept("=") {
		return
	}
	switch {
	case v.Extern || v.Space != Global && v.Space != Const:
		p.failAt(v.Line, "%s cannot have an initialiser", v.Name)
		return
	case v.Size > mostInit:
		p.failAt(v.Line, "%s is too large to have an initialiser", v.Name)
		return
	}
	in := initialiser{p: p, v: v, step: h.typ.Bytes()}
	open := v.Size == 0 // the initialiser sets the length
	limit := v.Size
	if open {
		limit = mostInit
	}
	dims := v.Dims
	if h.vec > 1 {
		dims = append(slices.Clone(dims), h.vec)
	}
	if p.is("{") {
		in.values(dims, limit)
	} else {
		in.value(limit)
	}
	if open {
		part := in.part(dims)
		if part == 0 || part > mostInit {
			p.failAt(v.Line, "%s is empty or too large to have an initialiser", v.Name)
			return
		}
		v.Size = (int64(len(v.Init)) + part - 1) / part * part
	}
	if p.err == nil {
		v.Init = append(v.Init, make([]byte, v.Size-int64(len(v.Init)))...)
	}
}

type initialiser struct {
	p    *parser
	v    *Var
	step int64
}

// mostInit limits the bytes of an initialiser.
const mostInit = 1 << 26

// part returns the size of an element of an array with these dimensions, or more than mostInit.
func (in *initialiser) part(dims []int64) int64 {
	size := in.step
	for _, n := range dims[min(1, len(dims)):] {
		size = min(size*n, mostInit+1)
	}
	return size
}

// values reads {VALUE, ...} for an array with these dimensions, up to limit bytes of the
// initialiser. The elements are values, or such lists for each part of the array. Missing values
// are zero.
func (in *initialiser) values(dims []int64, limit int64) {
	p, v := in.p, in.v
	p.expect("{")
	nested := len(dims) > 1 && p.is("{")
	part := in.part(dims)
	p.list("}", func() {
		if !nested {
			in.value(limit)
			return
		}
		end := int64(len(v.Init)) + part
		if end > limit {
			p.fail("too many values for %s", v.Name)
		}
		in.values(dims[1:], end)
		if p.err == nil {
			v.Init = append(v.Init, make([]byte, end-int64(len(v.Init)))...)
		}
	})
	p.expect("}")
}

// value reads a constant, the address of a variable, or a byte of an address.
func (in *initialiser) value(limit int64) {
	p, v := in.p, in.v
	at := int64(len(v.Init))
	if at+in.step > limit {
		p.fail("too many values for %s", v.Name)
		return
	}
	if p.tok.kind == nameToken && !p.is("WARP_SZ") {
		in.address(at)
		v.Init = append(v.Init, make([]byte, in.step)...)
		return
	}
	line := p.tok.line
	n := p.constant()
	if p.is("(") {
		in.byteOf(at, n, line)
		v.Init = append(v.Init, make([]byte, in.step)...)
		return
	}
	bits, ok := n.as(v.Type)
	if !ok {
		p.failAt(line, "this constant cannot initialise a .%s", v.Type)
	}
	for i := range in.step {
		v.Init = append(v.Init, byte(bits>>(8*i)))
	}
}

// address reads an address that fills an element.
func (in *initialiser) address(at int64) {
	line := in.p.tok.line
	r := in.symbol()
	if in.step < 4 || in.v.Type.Class() == Float {
		in.p.failAt(line, "an address does not fit a .%s: a byte of it, as 0xff00(%s), fits a .u8", in.v.Type, r.name())
	}
	r.Offset, r.Size = at, int(in.step)
	in.v.Relocs = append(in.v.Relocs, r)
}

// byteOf reads the rest of MASK(ADDRESS).
func (in *initialiser) byteOf(at int64, mask number, line int) {
	p := in.p
	shift := bits.TrailingZeros64(mask.bits) &^ 7
	switch {
	case mask.kind != integer || mask.bits != 0xff<<shift:
		p.failAt(line, "expected a mask of one byte before the bracket, such as 0xff00")
	case in.v.Type != U8 && in.v.Type != U32 && in.v.Type != U64:
		p.failAt(line, "a byte of an address cannot initialise a .%s, but a .u8", in.v.Type)
	}
	p.expect("(")
	r := in.symbol()
	p.expect(")")
	r.Offset, r.Size, r.Mask = at, int(in.step), mask.bits
	in.v.Relocs = append(in.v.Relocs, r)
}

// symbol reads SYMBOL{+OFFSET} or generic(SYMBOL){+OFFSET}.
func (in *initialiser) symbol() (r Reloc) {
	p := in.p
	line := p.tok.line
	name := p.name("a variable")
	r.Generic = name == "generic" && p.is("(")
	if r.Generic {
		p.advance()
		name = p.name("a variable")
		p.expect(")")
	}
	r.Var = p.vars[name]
	if p.kernel != nil {
		r.Var, _ = p.kernel.visible(name)
	}
	if r.Var == nil || r.Var.Space != Global && r.Var.Space != Const {
		p.failAt(line, "%s is not a variable whose address can be taken here", name)
	}
	if p.is("+") || p.is("-") {
		r.Addend = p.integer("an offset")
	}
	return r
}

func (r *Reloc) name() string {
	if r.Var == nil {
		return ""
	}
	return r.Var.Name
}
