package main

import (
	"strings"

	"github.com/arithlang/mlc/codegen/cpu/arm64"
)

// registerBytes and lanes are the sizes of a vector register.
const (
	registerBytes = 16
	lanes         = 4
)

// A writer writes one function. Its parameters are in registers from R0 on.
type writer struct {
	*arm64.Func
	regs map[string]arm64.Reg
	next arm64.Reg
}

// start begins a function with parameters as Go declares them: "dst, src *float32, n int".
func start(name, doc, params string, result *arm64.Parameter) *writer {
	var all []arm64.Parameter
	var open []string
	for _, p := range strings.Split(params, ", ") {
		name, typ, typed := strings.Cut(p, " ")
		open = append(open, name)
		if !typed {
			continue
		}
		for _, name := range open {
			all = append(all, arm64.Parameter{Name: name, GoType: typ, Bytes: bytesOf(typ)})
		}
		open = nil
	}
	w := &writer{Func: arm64.NewFunc(name, name+" "+doc, all, result), regs: map[string]arm64.Reg{}}
	for _, p := range all {
		if p.GoType != "float32" {
			w.regs[p.Name] = w.reg()
			w.Op("ldr", w.regs[p.Name], arm64.Param(p.Name))
		}
	}
	return w
}

func bytesOf(typ string) int {
	if typ == "float32" {
		return 4
	}
	return 8
}

// reg returns an unused register.
func (w *writer) reg() arm64.Reg {
	w.next++
	if w.next > arm64.R15 {
		panic("BUG: " + w.Name + " has too many registers")
	}
	return w.next - 1
}

// times writes a loop that counts n > 0 down to 0.
func (w *writer) times(label arm64.Label, n arm64.Reg, body func()) {
	w.Mark(label)
	body()
	w.Op("sub", n, n, arm64.Imm(1))
	w.Op("cbnz", n, label)
}

// byLanes writes code for 1, 2, 3 and 4 lanes. Only the code for n lanes runs.
func (w *writer) byLanes(prefix string, n arm64.Reg, code func(lanes int)) {
	label := func(s string) arm64.Label { return arm64.Label(prefix + s) }
	w.Op("tbnz", n, arm64.Imm(2), label("Four"))
	w.Op("tbnz", n, arm64.Imm(1), label("Two"))
	code(1)
	w.Op("b", label("End"))
	w.Mark(label("Two"))
	w.Op("tbnz", n, arm64.Imm(0), label("Three"))
	code(2)
	w.Op("b", label("End"))
	w.Mark(label("Three"))
	code(3)
	w.Op("b", label("End"))
	w.Mark(label("Four"))
	code(4)
	w.Mark(label("End"))
}

// An access names the instructions that read or write registers.
type access struct{ list, two, one, element string }

var (
	load  = access{"ld1.4s", "ldr.d", "ldr.s", "ld1.s"}
	store = access{"st1.4s", "str.d", "str.s", "st1.s"}
)

// row reads or writes consecutive registers. It accesses n lanes of the last register and
// nothing beyond; lanes that are not read become 0. Then it increases at by step.
func (w *writer) row(a access, first arm64.Vec, cols, n int, at, step, temporary arm64.Reg) {
	if n == lanes {
		w.Op(a.list, arm64.List{First: first, N: cols}, arm64.PostIndex(at, step))
		return
	}
	if cols > 1 {
		w.Op(a.list, arm64.List{First: first, N: cols - 1}, arm64.At(at, 0))
	}
	last, off := first+arm64.Vec(cols-1), (cols-1)*registerBytes
	if n == 1 {
		w.Op(a.one, last, arm64.At(at, off))
	} else {
		w.Op(a.two, last, arm64.At(at, off))
	}
	if n == 3 {
		w.Op("add", temporary, at, arm64.Imm(off+8))
		w.Op(a.element, arm64.Elem{V: last, I: 2}, arm64.At(temporary, 0))
	}
	w.Op("add", at, at, step)
}

// constant fills a register with bits in all lanes.
func (w *writer) constant(v arm64.Vec, bits uint32, temporary arm64.Reg) {
	w.Op("mov", temporary, arm64.Imm(bits))
	w.Op("dup.4s", v, temporary)
}
