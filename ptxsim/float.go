package ptxsim

import (
	"math"

	"github.com/arithlang/mlc/ptxsim/num"
	"github.com/arithlang/mlc/ptxsim/ptx"
)

// formatOf returns the format of a float type, and whether it is a packed pair.
func formatOf(t ptx.Type) (f num.Format, pair bool) {
	switch t {
	case ptx.F16x2:
		return num.F16, true
	case ptx.BF16x2:
		return num.BF16, true
	case ptx.F16:
		return num.F16, false
	case ptx.BF16:
		return num.BF16, false
	case ptx.F64:
		return num.F64, false
	}
	return num.F32, false
}

var rounds = map[string]num.Round{
	"": num.RN, "rn": num.RN, "rz": num.RZ, "rm": num.RM, "rp": num.RP, "rna": num.RNA,
	"rni": num.RN, "rzi": num.RZ, "rmi": num.RM, "rpi": num.RP,
}

// mode returns the rounding, flushing and saturation of the instruction.
func (d *decoder) mode() num.Mode {
	in := d.in
	r := in.Pick("rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi")
	return num.Mode{Round: rounds[r], Ftz: in.Has("ftz"), Sat: in.Has("sat")}
}

func (d *decoder) each1(pair bool, f func(a uint64) uint64) exec {
	if pair {
		f = halves1(f)
	}
	return d.map1(f)
}

func (d *decoder) each2(pair bool, f func(a, b uint64) uint64) exec {
	if pair {
		f = halves2(f)
	}
	return d.map2(f)
}

func (d *decoder) each3(pair bool, f func(a, b, c uint64) uint64) exec {
	if pair {
		f = halves3(f)
	}
	return d.map3(f)
}

// float decodes arithmetic on floats of any format.
func (d *decoder) float() exec {
	in := d.in
	f, pair := formatOf(d.typ(0))
	m := d.mode()
	if fast := d.fastFloat(f, m); fast != nil {
		return fast
	}
	switch in.Op {
	case "add":
		return d.each2(pair, func(a, b uint64) uint64 { return f.Add(m, a, b) })
	case "sub":
		return d.each2(pair, func(a, b uint64) uint64 { return f.Sub(m, a, b) })
	case "mul":
		return d.each2(pair, func(a, b uint64) uint64 { return f.Mul(m, a, b) })
	case "fma", "mad":
		relu := in.Has("relu")
		return d.each3(pair, func(a, b, c uint64) uint64 {
			r := f.Fma(m, a, b, c)
			if relu {
				r = f.Relu(r)
			}
			return r
		})
	case "neg":
		return d.each1(pair, func(a uint64) uint64 { return f.Neg(m.Ftz, a) })
	case "abs":
		return d.each1(pair, func(a uint64) uint64 { return f.Abs(m.Ftz, a) })
	case "min", "max":
		return d.floatExtreme(f, pair, m)
	case "div":
		return d.floatDiv(f, m)
	}
	return nil
}

func (d *decoder) floatExtreme(f num.Format, pair bool, m num.Mode) exec {
	nan, xor := d.in.Has("NaN"), d.in.Has("xorsign")
	pick := f.Min
	if d.in.Op == "max" {
		pick = f.Max
	}
	if len(d.in.Args) == 4 { // with three operands
		return d.each3(pair, func(a, b, c uint64) uint64 { return pick(m.Ftz, nan, pick(m.Ftz, nan, a, b), c) })
	}
	return d.each2(pair, func(a, b uint64) uint64 {
		if xor {
			return f.XorSign(pick(m.Ftz, nan, f.Abs(false, a), f.Abs(false, b)), a, b)
		}
		return pick(m.Ftz, nan, a, b)
	})
}

func (d *decoder) floatDiv(f num.Format, m num.Mode) exec {
	j := d.k.jitter()
	switch d.in.Pick("full", "approx") {
	case "full":
		return d.map2(func(a, b uint64) uint64 { return uint64(num.DivFull(uint32(a), uint32(b), m.Ftz, j)) })
	case "approx":
		return d.map2(func(a, b uint64) uint64 { return uint64(num.DivApprox(uint32(a), uint32(b), m.Ftz, j)) })
	}
	return d.map2(func(a, b uint64) uint64 { return f.Div(m, a, b) })
}

func f32(x uint64) float32 { return math.Float32frombits(uint32(x)) }

// bits32 returns the bits of v, and for every NaN the GPU's own.
func bits32(v float32) uint64 {
	if v != v {
		return 0x7fffffff
	}
	return uint64(math.Float32bits(v))
}

// fastFloat decodes the most frequent instructions, in the processor's own arithmetic.
func (d *decoder) fastFloat(f num.Format, m num.Mode) exec {
	if f != num.F32 || m != (num.Mode{}) || d.in.Has("relu") {
		return nil
	}
	switch d.in.Op {
	case "add":
		return d.fast2(func(o, a, b *column) {
			for i := range o {
				o[i] = bits32(f32(a[i]) + f32(b[i]))
			}
		}, func(a, b uint64) uint64 { return bits32(f32(a) + f32(b)) })
	case "sub":
		return d.fast2(func(o, a, b *column) {
			for i := range o {
				o[i] = bits32(f32(a[i]) - f32(b[i]))
			}
		}, func(a, b uint64) uint64 { return bits32(f32(a) - f32(b)) })
	case "mul":
		return d.fast2(func(o, a, b *column) {
			for i := range o {
				o[i] = bits32(f32(a[i]) * f32(b[i]))
			}
		}, func(a, b uint64) uint64 { return bits32(f32(a) * f32(b)) })
	case "fma", "mad":
		return d.fast3(fmaColumn, func(a, b, c uint64) uint64 {
			return uint64(num.FmaF32(uint32(a), uint32(b), uint32(c)))
		})
	}
	return nil
}

// fmaColumn sums in double precision, where the product is exact. It calls num if a second
// rounding could change the result.
func fmaColumn(o, a, b, c *column) {
	for i := range o {
		s := float64(f32(a[i]))*float64(f32(b[i])) + float64(f32(c[i]))
		u := math.Float64bits(s)
		if u&(1<<29-1) != 1<<28 && u&(1<<63-1) >= (1023-126)<<52 || s == 0 {
			o[i] = bits32(float32(s))
		} else {
			o[i] = uint64(num.FmaF32(uint32(a[i]), uint32(b[i]), uint32(c[i])))
		}
	}
}

// function decodes the elementary functions of one operand.
func (d *decoder) function() exec {
	in := d.in
	t := d.typ(0)
	f, pair := formatOf(t)
	m, j := d.mode(), d.k.jitter()
	if !in.Has("approx") {
		switch in.Op {
		case "rcp":
			return d.map1(func(a uint64) uint64 { return f.Rcp(m, a) })
		case "sqrt":
			return d.map1(func(a uint64) uint64 { return f.Sqrt(m, a) })
		}
		return nil
	}
	if f == num.F64 {
		g := map[string]func(uint64) uint64{"rcp": num.RcpApproxF64, "rsqrt": num.RsqrtApproxF64}[in.Op]
		if g == nil {
			return nil
		}
		return d.map1(g)
	}
	if f != num.F32 {
		switch in.Op {
		case "ex2":
			return d.each1(pair, func(a uint64) uint64 { return f.Ex2Half(a, m.Ftz, j) })
		case "tanh":
			return d.each1(pair, func(a uint64) uint64 { return f.TanhHalf(a, j) })
		}
		return nil
	}
	if in.Op == "tanh" {
		return d.map1(func(a uint64) uint64 { return uint64(num.TanhApprox(uint32(a), j)) })
	}
	g := map[string]func(uint32, bool, *num.Jitter) uint32{
		"ex2": num.Ex2Approx, "lg2": num.Lg2Approx, "rcp": num.RcpApprox, "rsqrt": num.RsqrtApprox,
		"sqrt": num.SqrtApprox, "sin": num.SinApprox, "cos": num.CosApprox,
	}[in.Op]
	if g == nil {
		return nil
	}
	return d.map1(func(a uint64) uint64 { return uint64(g(uint32(a), m.Ftz, j)) })
}

// jitter returns the errors of approximate instructions, or nil for none.
func (k *Kernel) jitter() *num.Jitter {
	if !k.m.d.opt.Jitter {
		return nil
	}
	return num.NewJitter(k.m.d.opt.Seed)
}

// copysign puts the sign of its first operand on the second.
func (d *decoder) copysign() exec {
	f, _ := formatOf(d.typ(0))
	return d.map2(func(a, b uint64) uint64 { return f.CopySign(a, b) })
}

func (d *decoder) testp() exec {
	f, _ := formatOf(d.typ(0))
	class := d.in.Pick("finite", "infinite", "number", "notanumber", "normal", "subnormal")
	p, a := d.predDst(&d.in.Args[0]), d.src(1)
	return func(w *warp, m uint32) {
		w.setPred(p, m, lanesOf(m, func(i int) bool { return f.TestP(class, w.cols[a][i]) }))
	}
}
