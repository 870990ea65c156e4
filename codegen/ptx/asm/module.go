package asm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// dynamicShared is the name of the dynamic shared memory.
const dynamicShared = "dynamic"

// A Module is a module under construction.
type Module struct {
	Header string // the first line, a comment
	files  []string
	funcs  []*Func
}

// File returns the number of a source file, for Func.Loc.
func (m *Module) File(name string) int {
	if !slices.Contains(m.files, name) {
		m.files = append(m.files, name)
	}
	return slices.Index(m.files, name) + 1
}

// Add puts a finished entry into the module.
func (m *Module) Add(f *Func) { m.funcs = append(m.funcs, f) }

// Arch is the architecture that modules are for. Later ones take them, too.
const Arch = 80

// Text returns the module. It needs a driver that reads PTX 7.8, or a later one.
func (m *Module) Text() []byte {
	var b strings.Builder
	if m.Header != "" {
		fmt.Fprintf(&b, "// %s\n\n", m.Header)
	}
	fmt.Fprintf(&b, ".version 7.8\n.target sm_%d\n.address_size 64\n", Arch)
	for i, f := range m.files {
		fmt.Fprintf(&b, ".file %d %q\n", i+1, f)
	}
	fmt.Fprintf(&b, "\n.extern .shared .align 16 .b8 %s[];\n", dynamicShared)
	for _, f := range m.funcs {
		b.WriteByte('\n')
		b.WriteString(f.String())
	}
	return []byte(b.String())
}

// String returns an entry as text.
func (f *Func) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".visible .entry %s(\n\t%s\n)\n.reqntid %d\n", f.Name, strings.Join(f.params, ",\n\t"), f.Threads)
	if f.Beside > 0 {
		fmt.Fprintf(&b, ".minnctapersm %d\n", f.Beside)
	}
	b.WriteString("{\n")
	p := printer{registers: new(numbered[string]), count: map[Class]int{}}
	p.instrs(f.body)
	for _, c := range []Class{Pred, Half, Word, Float, Wide} {
		if n := p.count[c]; n > 0 {
			fmt.Fprintf(&b, "\t.reg .%s %s<%d>;\n", classes[c].typ, classes[c].prefix, n+1)
		}
	}
	for _, s := range f.shared {
		fmt.Fprintf(&b, "\t%s\n", s)
	}
	return b.String() + "\n" + p.b.String() + "}\n"
}

// String returns an instruction without its body, for messages.
func (i *Instr) String() string {
	p := printer{}
	switch p.instr(i); i.op {
	case opIf, opLoop:
		return i.op + " " + p.value(i.args[0])
	}
	return strings.TrimSpace(p.b.String())
}

// A printer gives numbers to the registers and labels that it meets, in order.
type printer struct {
	b         strings.Builder
	registers *numbered[string] // nil: they are called by their numbers in the function
	count     map[Class]int
	labels    int
}

func (p *printer) line(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

func (p *printer) label() string {
	p.labels++
	return fmt.Sprintf("$L%d", p.labels)
}

func (p *printer) instrs(is []*Instr) {
	for _, i := range is {
		switch i.op {
		case opIf:
			end := p.label()
			p.line("\t@!%s bra %s;", p.value(i.args[0]), end)
			p.instrs(i.body)
			p.line("%s:", end)
		case opLoop:
			again := p.label()
			p.line("%s:", again)
			p.instrs(i.body)
			p.line("\t@%s bra %s;", p.value(i.args[0]), again)
		default:
			p.instr(i)
		}
	}
}

// instr prints an instruction that is no region.
func (p *printer) instr(i *Instr) {
	switch i.op {
	case opComment, opLoc, opPragma:
		p.line("\t%s %s", i.op, i.text)
		return
	}
	op, operands := i.op, append(p.all(i.dst), p.all(i.args)...)
	fragments := i.fragments()
	switch {
	case i.op == opLoad:
		op, operands = i.access(i.dst), []string{p.vector(i.dst), p.address(i.args[0], i.bytes)}
	case i.op == opStore:
		op, operands = i.access(i.args[1:]), []string{p.address(i.args[0], i.bytes), p.vector(i.args[1:])}
	case i.op == opCopy:
		operands = []string{p.address(i.args[0], i.bytes), p.address(i.args[1], i.behind), fmt.Sprint(copied), p.value(i.args[2])}
	case i.loadsMatrices():
		operands = []string{p.braces(i.dst), p.address(i.args[0], i.bytes)}
	case fragments != nil:
		operands = nil
		for _, vs := range fragments {
			operands = append(operands, p.braces(vs))
		}
	}
	if i.text != "" {
		operands = append(operands, i.text)
	}
	if i.guard.Valid() {
		op = "@" + p.value(i.guard) + " " + op
	}
	p.b.WriteString("\t" + strings.TrimSpace(op+" "+strings.Join(operands, ", ")) + ";\n")
}

// access returns the op of an access with its space, width and type.
func (i *Instr) access(vs []Value) string {
	op := i.op
	if i.memory.Space != Generic {
		op += "." + string(i.memory.Space)
	}
	if len(vs) > 1 {
		op += fmt.Sprintf(".v%d", len(vs))
	}
	return op + "." + classes[vs[0].class].typ
}

func (p *printer) vector(vs []Value) string {
	if len(vs) == 1 {
		return p.value(vs[0])
	}
	return p.braces(vs)
}

func (p *printer) braces(vs []Value) string { return "{" + strings.Join(p.all(vs), ", ") + "}" }

func (p *printer) address(base Value, bytes int) string {
	if bytes == 0 {
		return "[" + p.value(base) + "]"
	}
	return "[" + p.value(base) + "+" + strconv.Itoa(bytes) + "]"
}

func (p *printer) all(vs []Value) []string {
	texts := make([]string, len(vs), len(vs)+4)
	for i, v := range vs {
		texts[i] = p.value(v)
	}
	return texts
}

func (p *printer) value(v Value) string {
	switch {
	case v.kind == constant && v.class == Float:
		return fmt.Sprintf("0f%08X", v.n)
	case v.kind == constant:
		return strconv.FormatInt(v.n, 10)
	case p.registers == nil:
		return classes[v.class].prefix + strconv.FormatInt(v.n, 10)
	}
	text := p.registers.of(v)
	if text == "" {
		p.count[v.class]++
		text = classes[v.class].prefix + strconv.Itoa(p.count[v.class])
		p.registers.set(v, text)
	}
	return text
}
