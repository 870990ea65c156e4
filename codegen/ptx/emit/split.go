package emit

import "github.com/arithlang/mlc/codegen/ptx/asm"

// An addend is two lists of factors whose products are added.
type addend struct{ A, B []asm.Value }

// Addends returns the factors whose products are added in order: the given ones, or, if they are
// split, three pairs of halves as kernel.Dot defines.
func (p *Builder) Addends(split bool, a, b []asm.Value) []addend {
	if !split {
		return []addend{{a, b}}
	}
	aHigh, aLow := p.split(a)
	bHigh, bLow := p.split(b)
	return []addend{{aLow, bHigh}, {aHigh, bLow}, {aHigh, bHigh}}
}

// split returns the halves of floats (kernel.Halves), which may be in words.
func (p *Builder) split(xs []asm.Value) (high, low []asm.Value) {
	const dropped = 23 - 10 // bits of a fraction that TF32 lacks
	f := p.F
	cut := func(bits asm.Value) asm.Value { return f.Do("and.b32", bits, asm.Int(-1<<dropped)) }
	as := func(c asm.Class, x asm.Value) asm.Value {
		if x.Class() == c {
			return x
		}
		return f.As(c, x)
	}
	for _, x := range xs {
		bits := as(asm.Word, x)
		odd := f.Do("and.b32", f.Do("shr.u32", bits, asm.Int(dropped)), asm.Int(1))
		up := f.Do("add.s32", odd, asm.Int(1<<(dropped-1)-1))
		h := cut(f.Do("add.s32", bits, up))
		l := cut(f.As(asm.Word, f.Do("sub.rn.f32", as(asm.Float, x), f.As(asm.Float, h))))
		high, low = append(high, as(x.Class(), h)), append(low, as(x.Class(), l))
	}
	return high, low
}
