package arm64

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind says how an instruction is counted.
type Kind uint8

// The kinds of instructions.
const (
	Other  Kind = iota
	Load        // reads memory, parameters included
	Store       // writes memory
	MulAdd      // a fused multiply-add of floating-point numbers
	Jump        // may go elsewhere
)

// form is an instruction with operands of certain kinds.
type form struct {
	name     string // as Op takes it
	mnemonic string // ARM's
	base     uint32 // the word, less operands; 0 if only Go's assembler encodes it
	slots    []slot
	// golang is Go's mnemonic, with these operands from the last to the first, or a template
	// of Go's text: {i} is operand i. If Go's assembler lacks the form, golang is empty and
	// the word is printed.
	golang string
	kind   Kind
	unless func([]Operand) bool // operands that fit, but not together; or nil
}

// encoded is a form whose word we know.
func encoded(name, mnemonic string, base uint32, slots []slot, golang string, kind Kind) *form {
	return &form{name: name, mnemonic: mnemonic, base: base, slots: slots, golang: golang, kind: kind}
}

// slot describes an operand of a form.
type slot struct {
	takes  string               // for messages
	fits   func(Operand) bool   // the functions after it need operands that fit
	bits   func(Operand) uint32 // its part of the word
	arm    func(Operand) string // in ARM's syntax
	golang func(Operand) string // in Go's
}

func (f *form) fits(operands []Operand) bool {
	if len(operands) != len(f.slots) {
		return false
	}
	for i, o := range operands {
		if !f.slots[i].fits(o) {
			return false
		}
	}
	return f.unless == nil || !f.unless(operands)
}

func (f *form) takes() string {
	var all []string
	for _, s := range f.slots {
		all = append(all, s.takes)
	}
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, ", ")
}

// word encodes the instruction.
func (f *form) word(operands []Operand) uint32 {
	w := f.base
	for i, o := range operands {
		w |= f.slots[i].bits(o)
	}
	return w
}

func (f *form) armText(operands []Operand) string {
	var all []string
	for i, o := range operands {
		if t := f.slots[i].arm(o); t != "" {
			all = append(all, t)
		}
	}
	return strings.TrimSpace(f.mnemonic + " " + strings.Join(all, ", "))
}

// goText prints the instruction for Go's assembler.
func (f *form) goText(operands []Operand) string {
	if f.golang == "" {
		return f.wordText(operands)
	}
	mnemonic, template, ok := strings.Cut(f.golang, " ")
	if !ok {
		var all []string
		for i := len(operands) - 1; i >= 0; i-- {
			all = append(all, "{"+strconv.Itoa(i)+"}")
		}
		template = strings.Join(all, ", ")
	}
	for i, o := range operands {
		template = strings.ReplaceAll(template, "{"+strconv.Itoa(i)+"}", f.slots[i].golang(o))
	}
	return strings.TrimSpace(mnemonic + " " + template)
}

func (f *form) wordText(operands []Operand) string {
	return fmt.Sprintf("WORD $0x%08x // %s", f.word(operands), f.armText(operands))
}
