package arm64

import (
	"fmt"
	"iter"
	"strings"
)

// Parameter is a parameter or the result of a function, of one word at most.
type Parameter struct {
	Name, GoType string
	Bytes        int
}

// Func is a function as a list of instructions.
type Func struct {
	Name, Doc string
	params    []Parameter
	result    *Parameter
	places    map[string]argument
	area      int // bytes of parameters and result
	lines     []line
	marks     map[Label]bool
}

// line is an instruction, or a label if label is not empty.
type line struct {
	label Label
	inst  Inst
}

// Inst is an instruction of a function.
type Inst struct {
	Op       string
	Operands []Operand
	form     *form
	known    []Operand // Operands, with a place for each Param
}

// Kind returns how the instruction is counted.
func (i Inst) Kind() Kind { return i.form.kind }

// String prints the instruction as ARM's manual does.
func (i Inst) String() string { return i.form.armText(i.known) }

// NewFunc returns an empty function. Parameters lie as in Go's ABI0: one after another, each
// at a multiple of its size, the result at a multiple of 8.
func NewFunc(name, doc string, params []Parameter, result *Parameter) *Func {
	f := &Func{Name: name, Doc: doc, params: params, places: map[string]argument{}, marks: map[Label]bool{}}
	for _, p := range params {
		f.place(p)
	}
	if result != nil {
		f.area = (f.area + 7) &^ 7
		r := *result
		if r.Name == "" {
			r.Name = "ret"
		}
		f.result = &r
		f.place(r)
	}
	return f
}

func (f *Func) place(p Parameter) {
	if p.Bytes != 1 && p.Bytes != 2 && p.Bytes != 4 && p.Bytes != 8 {
		panic(fmt.Sprintf("BUG: parameter %s of %s has %d bytes", p.Name, f.Name, p.Bytes))
	}
	if _, twice := f.places[p.Name]; twice {
		panic(fmt.Sprintf("BUG: %s has two parameters named %s", f.Name, p.Name))
	}
	off := (f.area + p.Bytes - 1) &^ (p.Bytes - 1)
	f.places[p.Name] = argument{p.Name, off, p.Bytes}
	f.area = off + p.Bytes
}

// Op appends an instruction, its destination first. It panics if there is no such instruction,
// or if no form takes the operands.
func (f *Func) Op(name string, operands ...Operand) {
	known := make([]Operand, len(operands))
	for i, o := range operands {
		known[i] = o
		if p, ok := o.(Param); ok {
			a, ok := f.places[string(p)]
			if !ok {
				panic(fmt.Sprintf("BUG: %s: %s has no parameter %s", name, f.Name, p))
			}
			known[i] = a
		}
	}
	form, err := find(name, known)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	f.lines = append(f.lines, line{inst: Inst{name, operands, form, known}})
}

// Mark puts a label before the next instruction.
func (f *Func) Mark(l Label) {
	if l == "" || f.marks[l] {
		panic(fmt.Sprintf("BUG: label %q of %s is empty or marked twice", l, f.Name))
	}
	f.marks[l] = true
	f.lines = append(f.lines, line{label: l})
}

// Insts yields the instructions in their order.
func (f *Func) Insts() iter.Seq[Inst] {
	return func(yield func(Inst) bool) {
		for _, l := range f.lines {
			if l.label == "" && !yield(l.inst) {
				return
			}
		}
	}
}

// find returns the form of the instruction that takes the operands.
func find(name string, operands []Operand) (*form, error) {
	forms := instructions()[name]
	if len(forms) == 0 {
		return nil, fmt.Errorf("%s: no such instruction", name)
	}
	var takes []string
	for _, f := range forms {
		if f.fits(operands) {
			return f, nil
		}
		takes = append(takes, f.takes())
	}
	var have []string
	for _, o := range operands {
		have = append(have, fmt.Sprint(o))
	}
	return nil, fmt.Errorf("%s does not take the operands %s; it takes %s",
		name, strings.Join(have, ", "), strings.Join(takes, "; or "))
}
