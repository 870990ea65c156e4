package ptx

import "fmt"

// maxBytes bounds a variable, so that sizes never overflow.
const maxBytes = 1 << 40

// varHead is what the declarations of one statement have in common.
type varHead struct {
	space Space
	typ   Type
	vec   int64
	align int64
}

// varType reads {.align N} {.v2|.v4} .type, after the state space. Of a pointer
// parameter it skips .ptr and what the pointer points to.
func (p *parser) varType(space Space) (varHead, error) {
	h := varHead{space: space, vec: 1}
	for {
		line := p.tok.line
		word := p.tok.text
		if p.tok.kind != dotToken {
			return h, p.errorf("expected a type, found %s", p.tok)
		}
		if err := p.advance(); err != nil {
			return h, err
		}
		switch t := typeNames[word[1:]]; {
		case word == ".align":
			n, err := p.count(".align")
			if err != nil {
				return h, err
			}
			if n == 0 || n&(n-1) != 0 {
				return h, p.errorAt(line, ".align %d is no power of two", n)
			}
			h.align = int64(n)
		case word == ".v2" || word == ".v4":
			h.vec = int64(word[2] - '0')
		case t == Pred || t == TF32:
			return h, p.errorAt(line, "a variable cannot have the type %s", word)
		case t != NoType:
			h.typ = t
			h.align = max(h.align, t.Bytes()*h.vec)
			return h, nil
		default:
			return h, p.errorAt(line, "expected a type, found %q", word)
		}
	}
}

// declarator reads NAME{[N]...}.
func (p *parser) declarator(h varHead) (*Var, error) {
	v := &Var{Line: p.tok.line, Space: h.space, Type: h.typ, Align: h.align}
	var err error
	if v.Name, err = p.name("the name of a variable"); err != nil {
		return nil, err
	}
	size := h.typ.Bytes() * h.vec
	for first := true; p.is("["); first = false {
		if err := p.advance(); err != nil {
			return nil, err
		}
		n := 0
		if !p.is("]") || !first {
			if n, err = p.count("the length of an array"); err != nil {
				return nil, err
			}
		}
		if err := p.expect("]"); err != nil {
			return nil, err
		}
		if n > 0 && size > maxBytes/int64(n) {
			return nil, p.errorAt(v.Line, "%s is too large", v.Name)
		}
		size *= int64(n)
	}
	v.Size = size
	return v, nil
}

// params reads the parameters of a kernel and lays them out.
func (p *parser) params(k *Kernel) error {
	if err := p.advance(); err != nil {
		return err
	}
	for !p.is(")") {
		if len(k.Params) > 0 {
			if err := p.expect(","); err != nil {
				return err
			}
		}
		v, err := p.param()
		if err != nil {
			return err
		}
		if err := p.kernel.declare(v); err != nil {
			return err
		}
		v.Offset = alignUp(k.ParamSize, v.Align)
		k.ParamSize = v.Offset + v.Size
		k.Params = append(k.Params, v)
	}
	limit := int64(4096)
	if p.mod.atLeast(Version{8, 1}, 70) {
		limit = 32764
	}
	if k.ParamSize > limit {
		return p.errorf("the parameters of %s take %d bytes, more than %d", k.Name, k.ParamSize, limit)
	}
	return p.advance()
}

func (p *parser) param() (*Var, error) {
	if err := p.expect(".param"); err != nil {
		return nil, err
	}
	h, err := p.varType(Param)
	if err != nil {
		return nil, err
	}
	if err := p.pointee(); err != nil {
		return nil, err
	}
	v, err := p.declarator(h)
	if err == nil && v.Size == 0 {
		err = p.errorAt(v.Line, "parameter %s has no size", v.Name)
	}
	return v, err
}

// pointee skips .ptr {.space} {.align N}: a promise of the compiler.
func (p *parser) pointee() error {
	if ok, err := p.accept(".ptr"); !ok {
		return err
	}
	switch p.tok.text {
	case ".global", ".const", ".shared", ".local":
		if err := p.advance(); err != nil {
			return err
		}
	}
	if ok, err := p.accept(".align"); !ok {
		return err
	}
	_, err := p.count(".align")
	return err
}

func alignUp(n, align int64) int64 { return (n + align - 1) &^ (align - 1) }

// atLeast says whether the module's language and target are new enough.
func (m *Module) atLeast(v Version, arch int) bool {
	return !m.Version.before(v) && m.Arch >= arch
}

func (v Version) before(w Version) bool {
	return v.Major < w.Major || v.Major == w.Major && v.Minor < w.Minor
}

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// moduleVars reads global, const or shared variables of module scope.
func (p *parser) moduleVars(link linkage) error {
	return p.variables(link, func(v *Var) error {
		if p.vars[v.Name] != nil || p.names[v.Name] {
			return p.errorAt(v.Line, "%s is defined twice", v.Name)
		}
		p.vars[v.Name] = v
		p.mod.Vars = append(p.mod.Vars, v)
		return nil
	})
}

var varSpaces = map[string]Space{".global": Global, ".const": Const, ".shared": Shared, ".local": Local, ".param": Local}

// variables reads a declaration from its state space on.
func (p *parser) variables(link linkage, declare func(*Var) error) error {
	space, frame := varSpaces[p.tok.text], p.is(".param")
	if err := p.advance(); err != nil {
		return err
	}
	h, err := p.varType(space)
	if err != nil {
		return err
	}
	for {
		v, err := p.declarator(h)
		if err != nil {
			return err
		}
		v.Extern, v.Frame = link.extern, frame
		if err := p.initialiser(v, h); err != nil {
			return err
		}
		switch {
		case v.Size == 0 && !v.Extern:
			return p.errorAt(v.Line, "%s has no size", v.Name)
		case v.Extern && space != Shared:
			return p.errorAt(v.Line, "%s is .extern: only shared memory can be", v.Name)
		}
		if err := declare(v); err != nil {
			return err
		}
		if ok, err := p.accept(","); err != nil {
			return err
		} else if !ok {
			return p.expect(";")
		}
	}
}

// initialiser reads = VALUE or = {VALUE, ...}.
func (p *parser) initialiser(v *Var, h varHead) error {
	if ok, err := p.accept("="); !ok {
		return err
	}
	if v.Extern || v.Space != Global && v.Space != Const {
		return p.errorAt(v.Line, "%s cannot have an initialiser", v.Name)
	}
	in := initialiser{p: p, v: v, step: h.typ.Bytes()}
	if v.Size > 1<<26 {
		return p.errorAt(v.Line, "%s is too large to have an initialiser", v.Name)
	}
	open := v.Size == 0 // the length is that of the initialiser
	if open {
		in.limit = 1 << 26
	} else {
		in.limit = v.Size
	}
	if err := in.values(); err != nil {
		return err
	}
	if open {
		v.Size = alignUp(int64(len(v.Init)), h.typ.Bytes()*h.vec)
	}
	v.Init = append(v.Init, make([]byte, v.Size-int64(len(v.Init)))...)
	return nil
}

type initialiser struct {
	p     *parser
	v     *Var
	step  int64
	limit int64
}

func (in *initialiser) values() error {
	p := in.p
	if ok, err := p.accept("{"); err != nil {
		return err
	} else if !ok {
		return in.value()
	}
	for {
		if err := in.value(); err != nil {
			return err
		}
		if ok, err := p.accept(","); err != nil {
			return err
		} else if !ok {
			return p.expect("}")
		}
	}
}

func (in *initialiser) value() error {
	p, v := in.p, in.v
	at := int64(len(v.Init))
	if at+in.step > in.limit {
		return p.errorf("too many values for %s", v.Name)
	}
	if p.tok.kind == nameToken && !p.is("WARP_SZ") {
		if err := in.address(at); err != nil {
			return err
		}
		v.Init = append(v.Init, make([]byte, in.step)...)
		return nil
	}
	line := p.tok.line
	n, err := p.constant()
	if err != nil {
		return err
	}
	bits, ok := n.as(v.Type)
	if !ok {
		return p.errorAt(line, "this constant cannot initialise a .%s", v.Type)
	}
	for i := range in.step {
		v.Init = append(v.Init, byte(bits>>(8*i)))
	}
	return nil
}

// address reads SYMBOL{+OFFSET} or generic(SYMBOL){+OFFSET}.
func (in *initialiser) address(at int64) error {
	p := in.p
	line := p.tok.line
	name, err := p.name("a variable")
	if err != nil {
		return err
	}
	r := Reloc{Offset: at, Size: int(in.step), Generic: name == "generic" && p.is("(")}
	if r.Generic {
		if err := p.advance(); err != nil {
			return err
		}
		if name, err = p.name("a variable"); err != nil {
			return err
		}
		if err := p.expect(")"); err != nil {
			return err
		}
	}
	if r.Var = p.vars[name]; r.Var == nil || r.Var.Space == Shared {
		return p.errorAt(line, "%s is no variable whose address can be taken here", name)
	}
	if r.Size < 4 || in.v.Type.Class() == Float {
		return p.errorAt(line, "an address does not fit a .%s", in.v.Type)
	}
	if p.is("+") || p.is("-") {
		if r.Addend, err = p.integer("an offset"); err != nil {
			return err
		}
	}
	in.v.Relocs = append(in.v.Relocs, r)
	return nil
}
