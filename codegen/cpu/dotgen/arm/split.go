package main

import "github.com/arithlang/mlc/codegen/cpu/arm64"

// dropped is how many bits of a float32 TF32 lacks.
const dropped = 23 - 10

// halver writes code that splits registers of numbers into halves of TF32.
type halver struct {
	*writer
	one, half, kept arm64.Vec
}

func newHalver(w *writer) *halver {
	h := &halver{w, arm64.V16, arm64.V17, arm64.V18}
	temporary := w.reg()
	w.constant(h.one, 1, temporary)
	w.constant(h.half, 1<<(dropped-1)-1, temporary)
	w.constant(h.kept, 1<<32-1<<dropped, temporary)
	return h
}

// halves splits the register that src points to, and moves src on.
func (h *halver) halves(high, low arm64.Vec) {
	x := arm64.V0
	h.Op("ldr.q", x, arm64.Post(h.regs["src"], registerBytes))
	h.Op("ushr.4s", high, x, arm64.Imm(dropped))
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
// which writes the low halves of whole registers of src once, and the high halves twice.
func halveDown() *arm64.Func {
	w := start("halveDownNEON", "splits registers > 0 registers of numbers.", "low, high, again, src *float32, registers int", nil)
	h := newHalver(w)
	high, low := arm64.V1, arm64.V2
	w.times("loop", w.regs["registers"], func() {
		h.halves(high, low)
		w.Op("str.q", low, arm64.Post(w.regs["low"], registerBytes))
		w.Op("str.q", high, arm64.Post(w.regs["high"], registerBytes))
		w.Op("str.q", high, arm64.Post(w.regs["again"], registerBytes))
	})
	w.Op("ret")
	return w.Func
}

// halveAlong writes
//
//	func halveAlongNEON(dst, src *float32, registers, low int)
//
// which writes three numbers for each number of src. Place low, 0 or 1, has the low half, the
// other places have the high half.
func halveAlong() *arm64.Func {
	w := start("halveAlongNEON", "splits registers > 0 registers of numbers, side by side.", "dst, src *float32, registers, low int", nil)
	h := newHalver(w)
	three := arm64.List{First: arm64.V4, N: 3}
	write := func(label arm64.Label, high, low arm64.Vec) {
		w.times(label, w.regs["registers"], func() {
			h.halves(high, low)
			w.Op("mov.16b", arm64.V6, high)
			w.Op("st3.4s", three, arm64.Post(w.regs["dst"], 3*registerBytes))
		})
		w.Op("ret")
	}
	w.Op("cbnz", w.regs["low"], arm64.Label("second"))
	write("first", arm64.V5, arm64.V4)
	write("second", arm64.V4, arm64.V5)
	return w.Func
}
