package ptx

import (
	"fmt"
	"strconv"
	"strings"
)

// parser reads a module. tok is the next token.
type parser struct {
	lex    lexer
	tok    token
	mod    *Module
	vars   map[string]*Var // variables of module scope
	names  map[string]bool // kernels and functions
	funcs  map[string]*function
	kernel *kernelParser
	bodies []*kernelParser  // of the kernels
	known  map[string][]fit // by opcode with modifiers
	err    error            // the first mistake; nothing is read after it
}

// advance reads the next token, unless there was a mistake.
func (p *parser) advance() {
	if p.err != nil {
		return
	}
	t, err := p.lex.next()
	if p.tok = t; err != nil {
		p.stop(err)
	}
}

// stop ends parsing with an error, unless there was an earlier one.
func (p *parser) stop(err error) {
	if p.err == nil {
		p.err, p.tok = err, token{line: p.tok.line}
	}
}

// fail stops at the next token.
func (p *parser) fail(format string, args ...any) { p.failAt(p.tok.line, format, args...) }

func (p *parser) failAt(line int, format string, args ...any) { p.stop(errorAt(line, format, args...)) }

func errorAt(line int, format string, args ...any) error {
	return &Error{line, fmt.Sprintf(format, args...)}
}

func (p *parser) is(text string) bool {
	return p.tok.text == text && p.tok.kind != stringToken
}

// accept skips the next token if it equals text, and reports whether it does.
func (p *parser) accept(text string) bool {
	if !p.is(text) {
		return false
	}
	p.advance()
	return p.err == nil
}

func (p *parser) expect(text string) {
	if !p.is(text) {
		p.fail("expected %q, found %s", text, p.tok)
	}
	p.advance()
}

// list reads elements separated by commas, up to the mark end.
func (p *parser) list(end string, element func()) {
	for first := true; !p.is(end) && p.err == nil; first = false {
		if !first {
			p.expect(",")
		}
		element()
	}
}

// name reads an identifier.
func (p *parser) name(what string) string {
	t := p.tok
	if t.kind != nameToken {
		p.fail("expected %s, found %s", what, t)
	}
	p.advance()
	return t.text
}

// count reads a non-negative integer constant.
func (p *parser) count(what string) int {
	line := p.tok.line
	n := p.integer(what)
	if n < 0 || n > 1<<31-1 {
		p.failAt(line, "%s is out of range: %d", what, n)
	}
	return int(n)
}

func (p *parser) module() (*Module, error) {
	p.mod = &Module{Files: map[int]string{}}
	p.vars, p.names, p.funcs = map[string]*Var{}, map[string]bool{}, map[string]*function{}
	p.known = map[string][]fit{}
	p.advance()
	p.header()
	for p.tok.kind != endToken {
		p.directive()
	}
	if p.err != nil {
		return nil, p.err
	}
	for _, kp := range p.bodies {
		if err := p.expand(kp); err != nil {
			return nil, err
		}
	}
	return p.mod, nil
}

// header reads .version, .target and .address_size, in this order.
func (p *parser) header() {
	p.expect(".version")
	if _, err := fmt.Sscanf(p.tok.text+"\n", "%d.%d\n", &p.mod.Version.Major, &p.mod.Version.Minor); err != nil {
		p.fail("expected a version such as 7.8, found %s", p.tok)
	}
	p.advance()
	p.expect(".target")
	p.target()
	p.expect(".address_size")
	if !p.is("64") {
		p.fail("only .address_size 64 is supported, found %s", p.tok)
	}
	p.advance()
}

func (p *parser) target() {
	line := p.tok.line
	name := p.name("a target such as sm_80")
	digits := strings.TrimPrefix(name, "sm_")
	p.mod.Suffix = strings.TrimLeft(digits, "0123456789")
	var err error
	p.mod.Arch, err = strconv.Atoi(strings.TrimSuffix(digits, p.mod.Suffix))
	if err != nil || digits == name || p.mod.Suffix != "" && p.mod.Suffix != "a" && p.mod.Suffix != "f" {
		p.failAt(line, "expected a target such as sm_80, found %q", name)
	}
	for p.accept(",") {
		if !p.is("debug") {
			p.fail("unsupported target option %s", p.tok)
		}
		p.advance()
	}
}

// directive reads one directive of module scope.
func (p *parser) directive() {
	var link linkage
	for p.is(".visible") || p.is(".weak") || p.is(".extern") || p.is(".common") {
		link.extern = link.extern || p.is(".extern")
		link.common = link.common || p.is(".common")
		p.advance()
	}
	if link.common && !p.is(".global") {
		p.fail(".common is for variables in .global memory, found %s", p.tok)
	}
	switch p.tok.text {
	case ".entry":
		p.entry(link)
	case ".func":
		p.function(link)
	case ".file":
		p.file()
	case ".loc":
		p.readLoc()
	case ".section":
		p.section()
	case ".pragma":
		p.pragma()
	case ".global", ".const", ".shared":
		p.moduleVars(link)
	default:
		p.fail("expected a directive of module scope, found %s", p.tok)
	}
}

// linkage holds the linking directives before a declaration.
type linkage struct{ extern, common bool }

// file reads .file INDEX "NAME" and the optional time and size.
func (p *parser) file() {
	p.advance()
	index := p.count("a file index")
	if p.tok.kind != stringToken {
		p.fail("expected the name of a file, found %s", p.tok)
	}
	p.mod.Files[index] = strings.Trim(p.tok.text, `"`)
	p.advance()
	for p.accept(",") {
		p.constant()
	}
}

// readLoc reads .loc FILE LINE COLUMN and skips the place of inlining.
func (p *parser) readLoc() Loc {
	var l Loc
	p.advance()
	for _, field := range []*int{&l.File, &l.Line, &l.Col} {
		*field = p.count("a place in the source")
	}
	for p.accept(",") {
		p.inlined()
	}
	return l
}

// inlined skips function_name LABEL{+OFFSET} or inlined_at FILE LINE COLUMN.
func (p *parser) inlined() {
	what := p.tok.text
	if what != "function_name" && what != "inlined_at" {
		p.fail("expected function_name or inlined_at, found %s", p.tok)
	}
	p.advance()
	if what == "inlined_at" {
		for range 3 {
			p.count("a place in the source")
		}
		return
	}
	p.name("a label")
	if p.accept("+") {
		p.count("an offset")
	}
}

// section skips debugging information.
func (p *parser) section() {
	line := p.tok.line
	for _, part := range []struct{ end, missing string }{{"{", "a body"}, {"}", "its end"}} {
		for !p.is(part.end) && p.err == nil {
			if p.tok.kind == endToken {
				p.failAt(line, ".section without %s", part.missing)
			}
			p.advance()
		}
	}
	p.advance()
}

// pragma skips hints.
func (p *parser) pragma() {
	for first := true; first || p.is(","); first = false {
		p.advance()
		if p.tok.kind != stringToken {
			p.fail("expected a string, found %s", p.tok)
		}
		p.advance()
	}
	p.expect(";")
}

// entry reads a kernel.
func (p *parser) entry(link linkage) {
	p.advance()
	line := p.tok.line
	name := p.name("the name of a kernel")
	if p.names[name] || p.vars[name] != nil {
		p.failAt(line, "%s is defined twice", name)
	}
	p.names[name] = true
	k := &Kernel{Name: name, Line: line}
	p.kernel = newKernelParser(p, k)
	if p.is("(") {
		p.params(k)
	}
	for p.tok.kind == dotToken {
		p.performance(k)
	}
	if link.extern {
		p.failAt(line, "kernel %s is .extern: only kernels with a body are supported", name)
	}
	p.kernel.body()
	p.bodies = append(p.bodies, p.kernel)
	p.kernel = nil
	p.mod.Kernels = append(p.mod.Kernels, k)
}

// performance reads a directive for the compilation of a kernel.
func (p *parser) performance(k *Kernel) {
	word := p.tok.text
	switch word {
	case ".pragma":
		p.pragma()
	case ".minnctapersm", ".maxnreg":
		p.advance()
		*map[string]*int{".minnctapersm": &k.MinCTAs, ".maxnreg": &k.MaxRegs}[word] = p.count(word)
	case ".maxntid", ".reqntid":
		p.advance()
		dims := [3]int{p.count(word), 1, 1}
		for i := 1; i < 3 && p.accept(","); i++ {
			dims[i] = p.count(word)
		}
		*map[string]*[3]int{".maxntid": &k.MaxThreads, ".reqntid": &k.RequiredThreads}[word] = dims
	case ".noreturn":
		p.fail("a kernel cannot be .noreturn")
	default:
		p.fail("unsupported kernel directive %s", p.tok)
	}
}
