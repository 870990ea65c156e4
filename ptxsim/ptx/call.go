package ptx

import "maps"

// function is a .func. Each call of it is replaced by a copy of its body, so the simulator has no
// code for functions.
type function struct {
	name            string
	results, params []place
	body            *kernelParser // nil if only declared
}

// call is a call that is not yet replaced.
type call struct {
	name          string
	line          int
	results, args []place
}

// function reads a .func with or without a body.
func (p *parser) function(link linkage) {
	p.advance()
	line := p.tok.line
	f := &function{}
	body := newKernelParser(p, &Kernel{Line: line})
	body.what = "function"
	if p.is("(") {
		f.results = body.formals()
	}
	f.name = p.name("the name of a function")
	body.k.Name = f.name
	if p.is("(") {
		f.params = body.formals()
	}
	if !p.accept(".noreturn") && p.tok.kind == dotToken {
		p.fail("unsupported function directive %s", p.tok)
	}
	old := p.funcs[f.name]
	switch {
	case p.vars[f.name] != nil || p.names[f.name] && old == nil:
		p.failAt(line, "%s is defined twice", f.name)
		return
	case old == nil:
		p.names[f.name], p.funcs[f.name] = true, f
		old = f
	}
	if p.accept(";") {
		return
	}
	if old.body != nil || link.extern {
		p.failAt(line, "function %s must not have a body here: it is .extern or defined twice", f.name)
	}
	*old = *f
	old.body = body
	p.kernel = body
	body.body()
	p.kernel = nil
}

// formals reads the parameters or results of a function.
func (p *kernelParser) formals() (places []place) {
	p.advance()
	p.list(")", func() {
		if p.is(".reg") {
			places = append(places, p.formalRegister())
			return
		}
		v := p.param()
		v.Space, v.Frame = Local, true
		places = append(places, place{line: v.Line, name: v.Name, v: v})
		if v.Name != "_" {
			p.declare(v)
		}
	})
	p.advance()
	return places
}

// formalRegister reads .reg .type NAME.
func (p *kernelParser) formalRegister() place {
	p.advance()
	t := p.registerType()
	line := p.tok.line
	if t == Pred {
		p.failAt(line, "a predicate cannot be a parameter of a function")
	}
	name := p.tok.text
	p.register(t, 0)
	at, ok := p.findReg(name)
	if !ok {
		p.failAt(line, "%s cannot be a register parameter of a function", name)
	}
	return place{line: line, name: name, op: Operand{Kind: RegArg, Type: t, Reg: at}}
}

// call reads call (RESULTS), NAME, (ARGUMENTS);
func (p *kernelParser) call(op token, g Guard) {
	c := call{line: op.line}
	p.accept(".uni")
	if p.is("(") {
		c.results = p.actuals(true)
		p.expect(",")
	}
	c.name = p.name("the name of a function")
	if p.accept(",") {
		c.args = p.actuals(false)
	}
	if _, indirect := p.findReg(c.name); indirect || p.is(",") {
		p.failAt(op.line, "a call through a pointer is not supported: call the function by its name")
	}
	p.calls[len(p.k.Instrs)] = c
	p.k.Instrs = append(p.k.Instrs, Instr{Op: op.text, Guard: g, Line: op.line, Loc: p.loc})
	p.expect(";")
}

// actuals reads (NAME, ...): the arguments or the results of a call.
func (p *kernelParser) actuals(result bool) (places []place) {
	if !p.is("(") {
		p.fail("expected arguments in parentheses, found %s", p.tok)
	}
	p.advance()
	p.list(")", func() { places = append(places, p.actual(result)) })
	p.advance()
	return places
}

func (p *kernelParser) actual(result bool) place {
	a := place{line: p.tok.line, name: p.tok.text}
	if p.tok.kind != nameToken || p.is("WARP_SZ") {
		a.op.Kind, a.num = ImmArg, p.constant()
		return a
	}
	p.advance()
	if at, ok := p.findReg(a.name); ok {
		a.op = Operand{Kind: RegArg, Type: p.k.Regs[at].Type, Reg: at}
		return a
	}
	if a.v = p.findVar(a.name); result && a.v == nil && a.name == "_" {
		a.op.Kind = SinkArg
	} else if a.v == nil || !a.v.Frame {
		p.failAt(a.line, "%s is neither a register nor a .param variable of the caller, which is all that a call passes", a.name)
	}
	return a
}

// maxExpanded limits the instructions of a kernel with all its calls expanded, and the
// instructions read on the way.
const maxExpanded = 1 << 18

// assertFail is the function that compilers call if an assertion fails. On a GPU the driver
// provides it; it prints the assertion and stops the kernel.
const assertFail = "__assertfail"

// expansion replaces the calls of a kernel.
type expansion struct {
	*parser
	k      *Kernel
	shared map[*Var]*Var // the kernel's copies, by the module's variables
	code   []Instr
	read   int // instructions of all copies
	frames map[*function]frame
	active []*function
}

// frame is shared by all copies of one function. No lane is in two copies at a time, so they
// share registers and variables.
type frame struct {
	regs int // the number of the first register
	vars map[*Var]*Var
}

// expand replaces all calls of a kernel, and lays out its memory.
func (p *parser) expand(kp *kernelParser) error {
	if len(kp.calls) > 0 {
		e := &expansion{parser: p, k: kp.k, shared: kp.copies, frames: map[*function]frame{}}
		at, err := e.copy(kp, frame{})
		if err != nil {
			return err
		}
		for i := range kp.k.Labels {
			l := &kp.k.Labels[i]
			l.At = at[l.At]
		}
		kp.k.Instrs = e.code
	}
	kp.layout()
	return nil
}

// copy appends the instructions of a body and returns their positions.
func (e *expansion) copy(b *kernelParser, f frame) ([]int, error) {
	n := len(b.k.Instrs)
	at := make([]int, n+1)
	var moved []int // instructions of this body
	emit := func(in Instr) {
		moved = append(moved, len(e.code))
		e.code = append(e.code, in)
	}
	for i := range b.k.Instrs {
		at[i] = len(e.code)
		in := f.rename(&b.k.Instrs[i])
		c, isCall := b.calls[i]
		switch {
		case isCall:
			if in.Guard.Used {
				skip := in.Guard
				skip.Not = !skip.Not
				emit(jump(&in, skip, i+1))
			}
			if err := e.call(&c, f); err != nil {
				return nil, err
			}
		case in.Op == "ret" && len(e.active) > 0:
			if i < n-1 || in.Guard.Used {
				emit(jump(&in, in.Guard, n))
			}
		default:
			emit(in)
		}
		if e.read++; e.read > maxExpanded {
			return nil, errorAt(in.Line, "with its calls expanded kernel %s has more than %d instructions", e.k.Name, maxExpanded)
		}
	}
	at[n] = len(e.code)
	for _, m := range moved {
		for _, a := range e.code[m].Args {
			for j := range a.Targets {
				a.Targets[j] = at[a.Targets[j]]
			}
		}
	}
	return at, nil
}

// jump returns a branch that replaces an instruction.
func jump(in *Instr, g Guard, target int) Instr {
	return Instr{Op: "bra", Guard: g, Line: in.Line, Loc: in.Loc, Args: []Operand{{Kind: LabelArg, Targets: []int{target}}}}
}

// call appends the body of a function. Parameters in memory are the variables that the caller
// passes, named by f. Other parameters are copied before and after.
func (e *expansion) call(c *call, f frame) error {
	fn := e.funcs[c.name]
	if c.name == assertFail && fn != nil && fn.body == nil {
		e.code = append(e.code, Instr{Op: "trap", Line: c.line})
		return nil
	}
	if fn == nil || fn.body == nil {
		return errorAt(c.line, "the module has no function %s with a body", c.name)
	}
	for _, caller := range e.active {
		if caller == fn {
			return errorAt(c.line, "%s calls itself, directly or through others: recursion is not supported", c.name)
		}
	}
	own := e.frame(fn)
	callee := frame{own.regs, maps.Clone(own.vars)}
	results, err := e.bind(c, "result", fn.results, c.results, f, callee)
	if err != nil {
		return err
	}
	args, err := e.bind(c, "argument", fn.params, c.args, f, callee)
	if err != nil {
		return err
	}
	for _, a := range args {
		e.code = append(e.code, a.formal.from(&a.actual, c.line))
	}
	e.active = append(e.active, fn)
	_, err = e.copy(fn.body, callee)
	e.active = e.active[:len(e.active)-1]
	for _, r := range results {
		if r.actual.op.Kind != SinkArg {
			e.code = append(e.code, r.actual.from(&r.formal, c.line))
		}
	}
	return err
}

// copied is a pair of places, one of which gets the other's value.
type copied struct{ formal, actual place }

// bind matches a call's arguments with the callee's parameters, or its results with the callee's
// results. It returns the values to copy.
func (e *expansion) bind(c *call, what string, formals, actuals []place, f, callee frame) (list []copied, err error) {
	if len(formals) != len(actuals) {
		return nil, errorAt(c.line, "function %s has %d %ss, found %d", c.name, len(formals), what, len(actuals))
	}
	for i, x := range formals {
		y := actuals[i]
		if x.v != nil && y.v != nil {
			if x.v.Size != y.v.Size || x.v.Align > y.v.Align {
				return nil, errorAt(c.line, "%s %d of function %s has %d bytes at multiples of %d, found %s with %d at multiples of %d",
					what, i+1, c.name, x.v.Size, x.v.Align, y.name, y.v.Size, y.v.Align)
			}
			callee.vars[x.v] = f.variable(y.v)
			continue
		}
		if !y.fits(&x) || what == "result" && y.op.Kind == ImmArg {
			return nil, errorAt(c.line, "%s %d of function %s is a .%s of %d bytes, which %s is not", what, i+1, c.name, x.typ(), x.bytes(), y.name)
		}
		if x.v != nil && callee.vars[x.v] == nil {
			mine := *x.v
			e.k.Vars = append(e.k.Vars, &mine)
			callee.vars[x.v], e.frames[e.funcs[c.name]].vars[x.v] = &mine, &mine
		}
		list = append(list, copied{x.in(callee), y.in(f)})
	}
	return list, nil
}

// frame allocates the registers and variables of a function in the kernel.
func (e *expansion) frame(fn *function) frame {
	if f, ok := e.frames[fn]; ok {
		return f
	}
	f := frame{len(e.k.Regs), map[*Var]*Var{}}
	e.k.Regs = append(e.k.Regs, fn.body.k.Regs...)
	module := map[*Var]*Var{} // the module's variables, by the body's copies
	for of, mine := range fn.body.copies {
		module[mine] = of
	}
	for _, v := range fn.body.k.Vars {
		of := module[v]
		if of != nil && e.shared[of] != nil {
			f.vars[v] = e.shared[of]
			continue
		}
		mine := *v
		f.vars[v] = &mine
		e.k.Vars = append(e.k.Vars, &mine)
		if of != nil {
			e.shared[of] = &mine
		}
	}
	e.frames[fn] = f
	return f
}

// variable returns the kernel's variable for a variable of the body.
func (f frame) variable(v *Var) *Var {
	if mine := f.vars[v]; mine != nil {
		return mine
	}
	return v
}

// rename copies an instruction into the frame.
func (f frame) rename(in *Instr) Instr {
	out := *in
	if out.Guard.Used {
		out.Guard.Reg += f.regs
	}
	out.Args = f.operands(in.Args)
	return out
}

func (f frame) operands(args []Operand) []Operand {
	out := append([]Operand(nil), args...)
	for i := range out {
		o := &out[i]
		if o.Kind == RegArg || o.Kind == MemArg && o.Reg != NoReg {
			o.Reg += f.regs
		}
		o.Var = f.variable(o.Var)
		o.Elems = f.operands(o.Elems)
		o.Targets = append([]int(nil), o.Targets...)
	}
	return out
}
