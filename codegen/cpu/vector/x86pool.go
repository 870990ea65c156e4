package vector

import (
	"maps"
	"slices"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
)

// A pool holds the constants of a file, in a section for each size.
type pool map[int]*section // sections by the words of a constant

type section struct {
	words []uint32
	at    map[[16]uint32]int
}

// constant is the place of a constant of 1, 8 or 16 words.
func (p pool) constant(words ...uint32) operand.Mem {
	s := p[len(words)]
	if s == nil {
		s = &section{at: map[[16]uint32]int{}}
		p[len(words)] = s
	}
	var key [16]uint32
	copy(key[:], words)
	at, ok := s.at[key]
	if !ok {
		at = 4 * len(s.words)
		s.at[key] = at
		s.words = append(s.words, words...)
	}
	return operand.NewDataAddr(sections[len(words)], at)
}

// sizes returns how many words the sections have.
func (p pool) sizes() map[int]int {
	n := map[int]int{}
	for size, s := range p {
		n[size] = len(s.words)
	}
	return n
}

// cut truncates the sections to numbers of words.
func (p pool) cut(n map[int]int) {
	maps.DeleteFunc(p, func(size int, _ *section) bool { return n[size] == 0 })
	for size, s := range p {
		s.words = s.words[:n[size]]
		maps.DeleteFunc(s.at, func(_ [16]uint32, at int) bool { return at >= 4*n[size] })
	}
}

// sections are the names of the sections.
var sections = map[int]operand.Symbol{
	1:  operand.NewStaticSymbol("vectorWords"),
	8:  operand.NewStaticSymbol("vectorVectors"),
	16: operand.NewStaticSymbol("vectorWideVectors"),
}

// all returns a vector of copies of a word.
func (p pool) all(w uint32) operand.Mem { return p.constant(w, w, w, w, w, w, w, w) }

// globals are the sections of the constants.
func (p pool) globals() []*ir.Global {
	var out []*ir.Global
	for _, size := range slices.Sorted(maps.Keys(p)) {
		g := ir.NewGlobal(sections[size])
		g.Attributes = attr.RODATA | attr.NOPTR
		for words := range slices.Chunk(p[size].words, min(size, 2)) {
			if size == 1 {
				g.Append(operand.U32(words[0]))
			} else {
				g.Append(operand.U64(uint64(words[0]) | uint64(words[1])<<32))
			}
		}
		out = append(out, g)
	}
	return out
}
