package mutate

import (
	"math"
	"strconv"
	"strings"
)

// A span is the values that a register may have, both ends included.
type span struct{ lo, hi int64 }

var anything = span{math.MinInt32, math.MaxUint32}

// decided says whether a guard, or a predicate, is the same in every thread of
// every launch, as the emitter's test whether a loop over a constant range has any
// rounds is: deleting that changes nothing that could be found.
func (p *program) decided(guard string) bool {
	defs := p.defs[predicate(guard)]
	if len(defs) != 1 {
		return false
	}
	in := p.instrs[defs[0]]
	if !strings.HasPrefix(in.op, "setp.") || strings.HasSuffix(in.op, "f32") {
		return false
	}
	a, b := p.span(in.operands[1], 0), p.span(in.operands[2], 0)
	switch strings.Split(in.op, ".")[1] {
	case "lt":
		return a.hi < b.lo || a.lo >= b.hi
	case "le":
		return a.hi <= b.lo || a.lo > b.hi
	case "gt":
		return a.lo > b.hi || a.hi <= b.lo
	case "ge":
		return a.lo >= b.hi || a.hi < b.lo
	}
	return false
}

// span bounds an operand that is written once.
func (p *program) span(operand string, depth int) span {
	if n, err := strconv.ParseInt(operand, 10, 64); err == nil {
		return span{n, n}
	}
	if operand == "%tid.x" {
		return span{0, int64(p.threads() - 1)}
	}
	defs := p.defs[operand]
	if len(defs) != 1 || depth > 8 {
		return anything
	}
	in := p.instrs[defs[0]]
	of := func(i int) span { return p.span(in.operands[i], depth+1) }
	switch op, _, _ := strings.Cut(in.op, "."); op {
	case "mov":
		return of(1)
	case "and":
		if b := of(2); b.lo == b.hi && b.lo >= 0 {
			return span{0, b.hi}
		}
	case "shr":
		if a, b := of(1), of(2); a.lo >= 0 && b.lo == b.hi {
			return span{a.lo >> b.lo, a.hi >> b.lo}
		}
	case "div":
		if a, b := of(1), of(2); a.lo >= 0 && b.lo == b.hi && b.lo > 0 {
			return span{a.lo / b.lo, a.hi / b.lo}
		}
	}
	return anything
}

// threads is the size of a block.
func (p *program) threads() int {
	for _, line := range p.lines {
		if rest, ok := strings.CutPrefix(line, ".reqntid "); ok {
			if n, err := strconv.Atoi(rest); err == nil {
				return n
			}
		}
	}
	return 1024
}
