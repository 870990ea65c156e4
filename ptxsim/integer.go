package ptxsim

import (
	"math/bits"

	"github.com/arithlang/mlc/ptxsim/num"
	"github.com/arithlang/mlc/ptxsim/ptx"
)

func isFloat(t ptx.Type) bool  { return t.Class() == ptx.Float }
func isSigned(t ptx.Type) bool { return t.Class() == ptx.Signed }

// arithmetic decodes instructions that exist for both integers and floats.
func (d *decoder) arithmetic() exec {
	if d.in.Has("cc") {
		return d.carry()
	}
	if isFloat(d.typ(0)) {
		return d.float()
	}
	t := d.typ(0)
	n, signed, all := t.Bits(), isSigned(t), mask(t.Bits())
	switch d.in.Op {
	case "add":
		return d.intAdd(n, all)
	case "sub":
		if d.in.Has("sat") {
			return d.map2(func(a, b uint64) uint64 { return uint64(num.SubSat(uint32(a), uint32(b))) })
		}
		return d.map2(func(a, b uint64) uint64 { return (a - b) & all })
	case "mul":
		return d.intMul(n, signed, all)
	case "mad":
		return d.intMad(n, signed, all)
	case "div", "rem":
		return d.division(n, signed)
	case "min":
		return d.extreme(t, num.MinInt)
	case "max":
		return d.extreme(t, num.MaxInt)
	case "neg":
		return d.map1(func(a uint64) uint64 { return -a & all })
	case "abs":
		return d.map1(func(a uint64) uint64 {
			if num.SignExtend(n, a) < 0 {
				a = -a
			}
			return a & all
		})
	}
	return nil
}

func (d *decoder) intAdd(n int, all uint64) exec {
	switch {
	case d.in.Has("sat"):
		return d.map2(func(a, b uint64) uint64 { return uint64(num.AddSat(uint32(a), uint32(b))) })
	case n == 32:
		return d.fast2(func(o, a, b *column) {
			for i := range o {
				o[i] = uint64(uint32(a[i]) + uint32(b[i]))
			}
		}, func(a, b uint64) uint64 { return uint64(uint32(a) + uint32(b)) })
	case n == 64:
		return d.fast2(func(o, a, b *column) {
			for i := range o {
				o[i] = a[i] + b[i]
			}
		}, func(a, b uint64) uint64 { return a + b })
	}
	return d.map2(func(a, b uint64) uint64 { return (a + b) & all })
}

func (d *decoder) extreme(t ptx.Type, f func(int, bool, uint64, uint64) uint64) exec {
	n, signed, relu := t.Bits(), isSigned(t), d.in.Has("relu")
	return d.map2(func(a, b uint64) uint64 {
		r := f(n, signed, a, b)
		if relu && num.SignExtend(n, r) < 0 {
			return 0
		}
		return r
	})
}

func (d *decoder) intMul(n int, signed bool, all uint64) exec {
	switch {
	case d.in.Has("hi"):
		return d.map2(func(a, b uint64) uint64 { return num.MulHi(n, signed, a, b) })
	case d.in.Has("wide") && n == 32 && signed:
		return d.fast2(func(o, a, b *column) {
			for i := range o {
				o[i] = uint64(int64(int32(a[i])) * int64(int32(b[i])))
			}
		}, func(a, b uint64) uint64 { return uint64(int64(int32(a)) * int64(int32(b))) })
	case d.in.Has("wide"):
		return d.map2(func(a, b uint64) uint64 { return num.MulWide(n, signed, a, b) })
	case n == 32:
		return d.fast2(func(o, a, b *column) {
			for i := range o {
				o[i] = uint64(uint32(a[i]) * uint32(b[i]))
			}
		}, func(a, b uint64) uint64 { return uint64(uint32(a) * uint32(b)) })
	}
	return d.map2(func(a, b uint64) uint64 { return a * b & all })
}

func (d *decoder) intMad(n int, signed bool, all uint64) exec {
	switch {
	case d.in.Has("sat"):
		return d.map3(func(a, b, c uint64) uint64 { return uint64(num.MadHiSat(uint32(a), uint32(b), uint32(c))) })
	case d.in.Has("wide"):
		wide := mask(2 * n)
		return d.map3(func(a, b, c uint64) uint64 { return (num.MulWide(n, signed, a, b) + c) & wide })
	case d.in.Has("hi"):
		return d.map3(func(a, b, c uint64) uint64 { return (num.MulHi(n, signed, a, b) + c) & all })
	case n == 32:
		return d.fast3(func(o, a, b, c *column) {
			for i := range o {
				o[i] = uint64(uint32(a[i])*uint32(b[i]) + uint32(c[i]))
			}
		}, func(a, b, c uint64) uint64 { return uint64(uint32(a)*uint32(b) + uint32(c)) })
	}
	return d.map3(func(a, b, c uint64) uint64 { return (a*b + c) & all })
}

// mul24 decodes mul24 and mad24.
func (d *decoder) mul24() exec {
	signed := isSigned(d.typ(0))
	f := num.Mul24Lo
	if d.in.Has("hi") {
		f = num.Mul24Hi
	}
	if d.in.Op == "mul24" {
		return d.map2(func(a, b uint64) uint64 { return uint64(f(signed, uint32(a), uint32(b))) })
	}
	if d.in.Has("sat") {
		return d.map3(func(a, b, c uint64) uint64 {
			return uint64(num.AddSat(f(signed, uint32(a), uint32(b)), uint32(c)))
		})
	}
	return d.map3(func(a, b, c uint64) uint64 { return uint64(f(signed, uint32(a), uint32(b)) + uint32(c)) })
}

// division decodes div and rem. PTX does not specify the result for a zero divisor, so the
// simulator reports it.
func (d *decoder) division(n int, signed bool) exec {
	f := num.Div
	if d.in.Op == "rem" {
		f = num.Rem
	}
	o, a, b := d.dst(0), d.src(1), d.src(2)
	divisor := register(&d.in.Args[2])
	return func(w *warp, m uint32) {
		do, da, db := &w.cols[o], &w.cols[a], &w.cols[b]
		for m &= w.defined(divisor); m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m)
			r, ok := f(n, signed, da[i], db[i])
			if !ok {
				w.fail(DivideByZero, m&-m, "%d / 0", num.SignExtend(n, da[i]))
				return
			}
			do[i] = r
		}
	}
}

// carry decodes the instructions of extended precision, which pass a carry from one to the next.
func (d *decoder) carry() exec {
	t := d.typ(0)
	n, signed, all := t.Bits(), isSigned(t), mask(t.Bits())
	name := d.in.Op
	in := name == "addc" || name == "subc" || name == "madc"
	out := d.in.Has("cc") || name == "add.cc" || name == "sub.cc"
	product := name == "mad" || name == "madc"
	minus := name == "subc" || name == "sub.cc"
	o := d.dst(0)
	a, b, c := d.src(1), d.src(2), noColumn
	if product {
		c = d.src(3)
	}
	hi := d.in.Has("hi")
	return func(w *warp, m uint32) {
		forLanes(m, func(i int) {
			x, y := w.cols[a][i], w.cols[b][i]
			if c != noColumn {
				if hi {
					x = num.MulHi(n, signed, x, y)
				} else {
					x = x * y & all
				}
				y = w.cols[c][i]
			}
			var cin, over, sum uint64
			if in {
				cin = uint64(w.carry >> i & 1)
			}
			if minus {
				sum, over = bits.Sub64(x, y, cin)
			} else if sum, over = bits.Add64(x, y, cin); n < 64 {
				over = sum >> n
			}
			w.cols[o][i] = sum & all
			if out {
				w.carry = w.carry&^(1<<i) | uint32(over&1)<<i
			}
		})
	}
}

// logic decodes and, or, xor and not, for predicates and for bits.
func (d *decoder) logic() exec {
	if d.typ(0) == ptx.Pred {
		return d.predLogic()
	}
	all := mask(d.typ(0).Bits())
	switch d.in.Op {
	case "and":
		return d.fast2(func(o, a, b *column) {
			for i := range o {
				o[i] = a[i] & b[i]
			}
		}, func(a, b uint64) uint64 { return a & b })
	case "or":
		return d.map2(func(a, b uint64) uint64 { return a | b })
	case "xor":
		return d.map2(func(a, b uint64) uint64 { return a ^ b })
	case "cnot":
		return d.map1(func(a uint64) uint64 {
			if a&all == 0 {
				return 1
			}
			return 0
		})
	}
	return d.map1(func(a uint64) uint64 { return ^a & all })
}

func (d *decoder) predLogic() exec {
	o, a := d.predDst(&d.in.Args[0]), d.pred(&d.in.Args[1])
	if d.in.Op == "not" {
		return func(w *warp, m uint32) { w.setPred(o, m, ^a.of(w)) }
	}
	b := d.pred(&d.in.Args[2])
	f := map[string]func(a, b uint32) uint32{
		"and": func(a, b uint32) uint32 { return a & b },
		"or":  func(a, b uint32) uint32 { return a | b },
		"xor": func(a, b uint32) uint32 { return a ^ b },
	}[d.in.Op]
	d.forget()
	op := d.in.Op
	return func(w *warp, m uint32) {
		x, y := a.of(w), b.of(w)
		dx, dy := w.defined(a.reg), w.defined(b.reg)
		known := dx & dy
		switch op { // one operand may decide alone
		case "and":
			known |= dx&^x | dy&^y
		case "or":
			known |= dx&x | dy&y
		}
		w.setPred(o, m, f(x, y))
		w.define(o, m, known)
	}
}

func (d *decoder) shift() exec {
	t := d.typ(0)
	n, signed := t.Bits(), isSigned(t)
	if d.in.Op == "shl" {
		return d.fast2(func(o, a, b *column) {
			all := mask(n)
			for i := range o {
				o[i] = a[i] << uint32(b[i]) & all
			}
		}, func(a, b uint64) uint64 { return num.Shl(n, a, uint32(b)) })
	}
	if !signed {
		return d.fast2(func(o, a, b *column) {
			all := mask(n)
			for i := range o {
				o[i] = a[i] & all >> uint32(b[i])
			}
		}, func(a, b uint64) uint64 { return num.Shr(n, false, a, uint32(b)) })
	}
	return d.map2(func(a, b uint64) uint64 { return num.Shr(n, true, a, uint32(b)) })
}

// bitwise decodes the instructions on bits that num implements.
func (d *decoder) bitwise() exec {
	in, t := d.in, d.typ(0)
	n, signed := t.Bits(), isSigned(t)
	w32 := func(f func(a, b, c uint32) uint32) exec {
		return d.map3(func(a, b, c uint64) uint64 { return uint64(f(uint32(a), uint32(b), uint32(c))) })
	}
	switch in.Op {
	case "bfe":
		return d.map3(func(a, b, c uint64) uint64 { return num.Bfe(n, signed, a, uint32(b), uint32(c)) })
	case "bfi":
		return d.map4(func(a, b, c, e uint64) uint64 { return num.Bfi(n, a, b, uint32(c), uint32(e)) })
	case "bfind":
		shift := in.Has("shiftamt")
		return d.map1(func(a uint64) uint64 { return uint64(num.Bfind(n, signed, shift, a)) })
	case "clz":
		return d.map1(func(a uint64) uint64 { return uint64(num.Clz(n, a)) })
	case "popc":
		return d.map1(func(a uint64) uint64 { return uint64(num.Popc(n, a)) })
	case "brev":
		return d.map1(func(a uint64) uint64 { return num.Brev(n, a) })
	case "fns":
		return w32(func(a, b, c uint32) uint32 { return num.Fns(a, b, int32(c)) })
	case "prmt":
		mode := in.Pick("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")
		return w32(func(a, b, c uint32) uint32 { return num.Prmt(mode, a, b, c) })
	case "shf":
		right, wrap := in.Has("r"), in.Has("wrap")
		return w32(func(a, b, c uint32) uint32 { return num.Shf(right, wrap, a, b, c) })
	case "bmsk":
		clamp := in.Has("clamp")
		return d.map2(func(a, b uint64) uint64 { return uint64(num.Bmsk(clamp, uint32(a), uint32(b))) })
	case "szext":
		clamp := in.Has("clamp")
		return d.map2(func(a, b uint64) uint64 { return uint64(num.Szext(signed, clamp, uint32(a), uint32(b))) })
	case "sad":
		return d.map3(func(a, b, c uint64) uint64 { return num.Sad(n, signed, a, b, c) })
	case "dp4a":
		other := isSigned(d.typ(1))
		return w32(func(a, b, c uint32) uint32 { return num.Dp4a(signed, other, a, b, c) })
	case "dp2a":
		other, hi := isSigned(d.typ(1)), in.Has("hi")
		return w32(func(a, b, c uint32) uint32 { return num.Dp2a(hi, signed, other, a, b, c) })
	}
	return nil
}

// lop3 may also compare its result with zero and combine this with a predicate.
func (d *decoder) lop3() exec {
	args := d.in.Args
	lut := uint8(args[4].Imm)
	dst, pred := d.pairDst(&args[0])
	var q predicate
	if args[0].Kind == ptx.PairArg {
		q = d.pred(&args[5])
	}
	o, a, b, c := d.write(dst), d.src(1), d.src(2), d.src(3)
	and := d.in.Has("and")
	return func(w *warp, m uint32) {
		do, da, db, dc := &w.cols[o], &w.cols[a], &w.cols[b], &w.cols[c]
		var some uint32
		for rest := m; rest != 0; rest &= rest - 1 {
			i := bits.TrailingZeros32(rest)
			r := num.Lop3(uint32(da[i]), uint32(db[i]), uint32(dc[i]), lut)
			do[i] = uint64(r)
			if r != 0 {
				some |= 1 << i
			}
		}
		if pred >= 0 {
			if and {
				some &= q.of(w)
			} else {
				some |= q.of(w)
			}
			w.setPred(pred, m, some)
		}
	}
}
