package main

import . "github.com/arithlang/mlc/codegen/cpu/arm64"

// dropped is how many bits of a float32 TF32 does not have.
const dropped = 23 - 10

// halver writes what splits registers of numbers in halves of TF32.
type halver struct {
	*writer
	one, half, kept Vec
}

func newHalver(w *writer) *halver {
	h := &halver{w, V16, V17, V18}
	temporary := w.reg()
	w.constant(h.one, 1, temporary)
	w.constant(h.half, 1<<(dropped-1)-1, temporary)
	w.constant(h.kept, 1<<32-1<<dropped, temporary)
	return h
}

// halves splits what src points to, and moves on.
func (h *halver) halves(high, low Vec) {
	x := V0
	h.Op("ldr.q", x, Post(h.regs["src"], registerBytes))
	h.Op("ushr.4s", high, x, Imm(dropped))
	h.Op("and.16b", high, high, h.one)
	h.Op("add.4s", high, high, x)
	h.Op("add.4s", high, high, h.half)
	h.Op("and.16b", high, high, h.kept)
	h.Op("fsub.4s", low, x, high)
	h.Op("and.16b", low, low, h.kept)
}

// halveDown writes
//
//	func halveDownNEON(low, high, again, src *float32, registers int)
//
// which writes the low halves of whole registers of src, and twice the high ones.
func halveDown() *Func {
	w := start("halveDownNEON", "splits registers > 0 registers of numbers.", "low, high, again, src *float32, registers int", nil)
	h := newHalver(w)
	high, low := V1, V2
	w.times("loop", w.regs["registers"], func() {
		h.halves(high, low)
		w.Op("str.q", low, Post(w.regs["low"], registerBytes))
		w.Op("str.q", high, Post(w.regs["high"], registerBytes))
		w.Op("str.q", high, Post(w.regs["again"], registerBytes))
	})
	w.Op("ret")
	return w.Func
}

// halveAlong writes
//
//	func halveAlongNEON(dst, src *float32, registers, low int)
//
// which writes three numbers for each of src: the low half at place low, 0 or 1, else the
// high one.
func halveAlong() *Func {
	w := start("halveAlongNEON", "splits registers > 0 registers of numbers, side by side.", "dst, src *float32, registers, low int", nil)
	h := newHalver(w)
	three := List{First: V4, N: 3}
	write := func(label Label, high, low Vec) {
		w.times(label, w.regs["registers"], func() {
			h.halves(high, low)
			w.Op("mov.16b", V6, high)
			w.Op("st3.4s", three, Post(w.regs["dst"], 3*registerBytes))
		})
		w.Op("ret")
	}
	w.Op("cbnz", w.regs["low"], Label("second"))
	write("first", V5, V4)
	write("second", V4, V5)
	return w.Func
}
