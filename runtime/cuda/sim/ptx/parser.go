package ptx

import (
	"fmt"
	"strconv"
	"strings"
)

// parser reads a module; tok is the token that comes next.
type parser struct {
	lex    lexer
	tok    token
	mod    *Module
	vars   map[string]*Var // of module scope
	names  map[string]bool // kernels and functions
	funcs  map[string]*function
	kernel *kernelParser
	bodies []*kernelParser // of the kernels
}

func (p *parser) advance() error {
	t, err := p.lex.next()
	p.tok = t
	return err
}

func (p *parser) errorf(format string, args ...any) error {
	return p.errorAt(p.tok.line, format, args...)
}

func (p *parser) errorAt(line int, format string, args ...any) error {
	return &Error{line, fmt.Sprintf(format, args...)}
}

func (p *parser) is(text string) bool {
	return p.tok.text == text && p.tok.kind != stringToken
}

// accept takes the next token if it is this one.
func (p *parser) accept(text string) (bool, error) {
	if !p.is(text) {
		return false, nil
	}
	err := p.advance()
	return err == nil, err
}

func (p *parser) expect(text string) error {
	if !p.is(text) {
		return p.errorf("expected %q, found %s", text, p.tok)
	}
	return p.advance()
}

// name takes an identifier.
func (p *parser) name(what string) (string, error) {
	t := p.tok
	if t.kind != nameToken {
		return "", p.errorf("expected %s, found %s", what, t)
	}
	return t.text, p.advance()
}

// count takes a non-negative integer constant.
func (p *parser) count(what string) (int, error) {
	line := p.tok.line
	n, err := p.integer(what)
	if err == nil && (n < 0 || n > 1<<31-1) {
		err = p.errorAt(line, "%s is out of range: %d", what, n)
	}
	return int(n), err
}

func (p *parser) module() (*Module, error) {
	p.mod = &Module{Files: map[int]string{}}
	p.vars, p.names, p.funcs = map[string]*Var{}, map[string]bool{}, map[string]*function{}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if err := p.header(); err != nil {
		return nil, err
	}
	for p.tok.kind != endToken {
		if err := p.directive(); err != nil {
			return nil, err
		}
	}
	for _, kp := range p.bodies {
		if err := p.expand(kp); err != nil {
			return nil, err
		}
	}
	return p.mod, nil
}

// header reads .version, .target and .address_size, in their order.
func (p *parser) header() error {
	if err := p.expect(".version"); err != nil {
		return err
	}
	if _, err := fmt.Sscanf(p.tok.text+"\n", "%d.%d\n", &p.mod.Version.Major, &p.mod.Version.Minor); err != nil {
		return p.errorf("expected a version such as 7.8, found %s", p.tok)
	}
	if err := p.advance(); err != nil {
		return err
	}
	if err := p.expect(".target"); err != nil {
		return err
	}
	if err := p.target(); err != nil {
		return err
	}
	if err := p.expect(".address_size"); err != nil {
		return err
	}
	if !p.is("64") {
		return p.errorf("only .address_size 64 is supported, found %s", p.tok)
	}
	return p.advance()
}

func (p *parser) target() error {
	line := p.tok.line
	name, err := p.name("a target such as sm_80")
	if err != nil {
		return err
	}
	digits := strings.TrimPrefix(name, "sm_")
	p.mod.Suffix = strings.TrimLeft(digits, "0123456789")
	p.mod.Arch, err = strconv.Atoi(strings.TrimSuffix(digits, p.mod.Suffix))
	if err != nil || digits == name || p.mod.Suffix != "" && p.mod.Suffix != "a" && p.mod.Suffix != "f" {
		return p.errorAt(line, "expected a target such as sm_80, found %q", name)
	}
	for {
		if ok, err := p.accept(","); !ok {
			return err
		}
		if !p.is("debug") {
			return p.errorf("unsupported target option %s", p.tok)
		}
		if err := p.advance(); err != nil {
			return err
		}
	}
}

// directive reads one directive of module scope.
func (p *parser) directive() error {
	var link linkage
	for {
		switch p.tok.text {
		case ".visible", ".weak":
		case ".extern":
			link.extern = true
		case ".entry":
			return p.entry(link)
		case ".func":
			return p.function(link)
		case ".file":
			return p.file()
		case ".loc":
			_, err := p.loc()
			return err
		case ".section":
			return p.section()
		case ".pragma":
			return p.pragma()
		case ".global", ".const", ".shared":
			return p.moduleVars(link)
		default:
			return p.errorf("expected a directive of module scope, found %s", p.tok)
		}
		if err := p.advance(); err != nil {
			return err
		}
	}
}

// linkage is what stands before a declaration.
type linkage struct{ extern bool }

// file reads .file INDEX "NAME" and the optional time and size.
func (p *parser) file() error {
	if err := p.advance(); err != nil {
		return err
	}
	index, err := p.count("a file index")
	if err != nil {
		return err
	}
	if p.tok.kind != stringToken {
		return p.errorf("expected the name of a file, found %s", p.tok)
	}
	p.mod.Files[index] = strings.Trim(p.tok.text, `"`)
	if err := p.advance(); err != nil {
		return err
	}
	for {
		if ok, err := p.accept(","); !ok {
			return err
		}
		if _, err := p.constant(); err != nil {
			return err
		}
	}
}

// loc reads .loc FILE LINE COLUMN and skips where the line was inlined.
func (p *parser) loc() (Loc, error) {
	var l Loc
	if err := p.advance(); err != nil {
		return l, err
	}
	for _, field := range []*int{&l.File, &l.Line, &l.Col} {
		var err error
		if *field, err = p.count("a place in the source"); err != nil {
			return l, err
		}
	}
	for {
		if ok, err := p.accept(","); !ok {
			return l, err
		}
		if err := p.inlined(); err != nil {
			return l, err
		}
	}
}

// inlined skips function_name LABEL{+OFFSET} or inlined_at FILE LINE COLUMN.
func (p *parser) inlined() error {
	what := p.tok.text
	if what != "function_name" && what != "inlined_at" {
		return p.errorf("expected function_name or inlined_at, found %s", p.tok)
	}
	if err := p.advance(); err != nil {
		return err
	}
	if what == "inlined_at" {
		for range 3 {
			if _, err := p.count("a place in the source"); err != nil {
				return err
			}
		}
		return nil
	}
	if _, err := p.name("a label"); err != nil {
		return err
	}
	if ok, err := p.accept("+"); !ok {
		return err
	}
	_, err := p.count("an offset")
	return err
}

// section skips debugging information.
func (p *parser) section() error {
	line := p.tok.line
	for !p.is("{") {
		if p.tok.kind == endToken {
			return p.errorAt(line, ".section without a body")
		}
		if err := p.advance(); err != nil {
			return err
		}
	}
	for !p.is("}") {
		if p.tok.kind == endToken {
			return p.errorAt(line, ".section without its end")
		}
		if err := p.advance(); err != nil {
			return err
		}
	}
	return p.advance()
}

// pragma skips hints.
func (p *parser) pragma() error {
	for first := true; first || p.is(","); first = false {
		if err := p.advance(); err != nil {
			return err
		}
		if p.tok.kind != stringToken {
			return p.errorf("expected a string, found %s", p.tok)
		}
		if err := p.advance(); err != nil {
			return err
		}
	}
	return p.expect(";")
}

// entry reads a kernel.
func (p *parser) entry(link linkage) error {
	if err := p.advance(); err != nil {
		return err
	}
	line := p.tok.line
	name, err := p.name("the name of a kernel")
	if err != nil {
		return err
	}
	if p.names[name] || p.vars[name] != nil {
		return p.errorAt(line, "%s is defined twice", name)
	}
	p.names[name] = true
	k := &Kernel{Name: name, Line: line}
	p.kernel = newKernelParser(p, k)
	if p.is("(") {
		if err := p.params(k); err != nil {
			return err
		}
	}
	for p.tok.kind == dotToken {
		if err := p.performance(k); err != nil {
			return err
		}
	}
	if link.extern {
		return p.errorAt(line, "kernel %s is .extern: only kernels with a body are supported", name)
	}
	if err := p.kernel.body(); err != nil {
		return err
	}
	p.bodies = append(p.bodies, p.kernel)
	p.kernel = nil
	p.mod.Kernels = append(p.mod.Kernels, k)
	return nil
}

// performance reads a directive on how a kernel is to be compiled.
func (p *parser) performance(k *Kernel) error {
	word := p.tok.text
	if word == ".pragma" {
		return p.pragma()
	}
	if word == ".noreturn" {
		return p.errorf("a kernel cannot be .noreturn")
	}
	one := map[string]*int{".minnctapersm": &k.MinCTAs, ".maxnreg": &k.MaxRegs}[word]
	three := map[string]*[3]int{".maxntid": &k.MaxThreads, ".reqntid": &k.RequiredThreads}[word]
	if one == nil && three == nil {
		return p.errorf("unsupported kernel directive %s", p.tok)
	}
	if err := p.advance(); err != nil {
		return err
	}
	if one != nil {
		n, err := p.count(word)
		*one = n
		return err
	}
	*three = [3]int{1, 1, 1}
	for i := range 3 {
		if i > 0 {
			if ok, err := p.accept(","); !ok {
				return err
			}
		}
		n, err := p.count(word)
		if err != nil {
			return err
		}
		three[i] = n
	}
	return nil
}
