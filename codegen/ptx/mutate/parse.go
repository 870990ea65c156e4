package mutate

import (
	"regexp"
	"slices"
	"strings"
)

// A program is a printed kernel, line by line: the emitter writes an instruction a
// line.
type program struct {
	lines   []string
	instrs  map[int]instr    // by line
	defs    map[string][]int // of a register: lines
	address map[int]bool     // lines whose value is part of an address
	guards  map[string]bool  // predicates that guard an access or a branch
}

// An instr is one instruction.
type instr struct {
	guard    string // "@%p1", "@!%p1" or ""
	op       string
	operands []string
}

var instruction = regexp.MustCompile(`^\s+(?:(@!?%p\d+) )?([a-z][\w.]*)(?: (.*))?;$`)

var register = regexp.MustCompile(`%[a-z]+\d+`)

func parse(text string) *program {
	p := &program{
		lines: strings.Split(text, "\n"), instrs: map[int]instr{}, defs: map[string][]int{},
		address: map[int]bool{}, guards: map[string]bool{},
	}
	for i, line := range p.lines {
		m := instruction.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		in := instr{guard: m[1], op: m[2]}
		for _, o := range strings.Split(m[3], ", ") {
			in.operands = append(in.operands, strings.Trim(o, " "))
		}
		p.instrs[i] = in
		if in.guard != "" {
			p.note(predicate(in.guard))
		}
		if d := in.dst(); d != "" {
			p.defs[d] = append(p.defs[d], i)
		}
	}
	// A predicate may be made of others.
	for changed := true; changed; {
		n := len(p.guards)
		for _, in := range p.instrs {
			if p.guards[in.dst()] && !strings.HasPrefix(in.op, "setp") {
				for _, o := range in.operands[1:] {
					p.note(o)
				}
			}
		}
		changed = len(p.guards) > n
	}
	for i, in := range p.instrs {
		if in.memory() {
			p.address[i] = true
			p.slice(register.FindString(in.place()))
		}
	}
	return p
}

func (p *program) note(pred string) {
	if strings.HasPrefix(pred, "%p") {
		p.guards[pred] = true
	}
}

// slice marks what a register is computed from.
func (p *program) slice(reg string) {
	for _, i := range p.defs[reg] {
		in := p.instrs[i]
		if p.address[i] || strings.HasPrefix(in.op, "ld.") {
			continue
		}
		p.address[i] = true
		for _, o := range in.operands[1:] {
			if r := register.FindString(o); r != "" {
				p.slice(r)
			}
		}
	}
}

// memory says whether an instruction accesses memory that is not its parameters.
func (in instr) memory() bool {
	return (strings.HasPrefix(in.op, "ld.") || strings.HasPrefix(in.op, "st.")) && !strings.HasPrefix(in.op, "ld.param")
}

// place is the operand in brackets.
func (in instr) place() string {
	i := slices.IndexFunc(in.operands, func(o string) bool { return strings.HasPrefix(o, "[") })
	if i < 0 {
		return ""
	}
	return in.operands[i]
}

// dst is the register that an instruction writes.
func (in instr) dst() string {
	if strings.HasPrefix(in.op, "st.") || in.op == "bra" || len(in.operands) == 0 || !strings.HasPrefix(in.operands[0], "%") {
		return ""
	}
	return in.operands[0]
}

func predicate(guard string) string { return strings.TrimLeft(guard, "@!") }
