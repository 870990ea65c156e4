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
	defs    map[string][]int // lines, by register
	address map[int]bool     // lines whose value is part of an address
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
	p := &program{lines: strings.Split(text, "\n"), instrs: map[int]instr{}, defs: map[string][]int{}, address: map[int]bool{}}
	for i, line := range p.lines {
		if m := instruction.FindStringSubmatch(line); m != nil {
			in := instr{m[1], m[2], strings.Split(m[3], ", ")}
			p.instrs[i] = in
			p.defs[in.operands[0]] = append(p.defs[in.operands[0]], i)
		}
	}
	for i, in := range p.instrs {
		if in.memory() {
			p.address[i] = true
			for _, o := range in.operands {
				if strings.HasPrefix(o, "[") || in.copies() {
					p.slice(register.FindString(o))
				}
			}
		}
	}
	return p
}

// slice marks the instructions that compute a register.
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

// writes returns the registers that an instruction sets, reads the registers that it reads.
func (in instr) writes() []string {
	if n := in.results(); n > 0 {
		return register.FindAllString(strings.Join(in.operands[:n], " "), -1)
	}
	return nil
}

func (in instr) reads() []string {
	return register.FindAllString(in.guard+" "+strings.Join(in.operands[in.results():], " "), -1)
}

// results returns the number of written operands. Each element of a vector counts.
func (in instr) results() int {
	switch {
	case strings.HasPrefix(in.op, "st.") || strings.HasPrefix(in.op, "cp.") || strings.HasPrefix(in.op, "bar.") || in.op == "bra" || in.op == "ret" || in.op == "":
		return 0
	case strings.HasPrefix(in.operands[0], "{"):
		return 1 + slices.IndexFunc(in.operands, func(o string) bool { return strings.HasSuffix(o, "}") })
	}
	return 1
}

// memory reports whether an instruction accesses memory other than parameters.
func (in instr) memory() bool {
	return (strings.HasPrefix(in.op, "ld.") || strings.HasPrefix(in.op, "st.")) && !strings.HasPrefix(in.op, "ld.param") ||
		strings.HasPrefix(in.op, "ldmatrix.") || in.copies()
}

// copies reports whether an instruction is an asynchronous copy to shared memory. The last
// operand is the number of bytes; zeros follow them.
func (in instr) copies() bool { return strings.HasPrefix(in.op, "cp.async.cg.") }
