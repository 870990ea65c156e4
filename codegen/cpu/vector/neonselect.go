package vector

import "github.com/arithlang/mlc/compiler/expr"

// neonWhere returns the form of c ? x : y. The result replaces the first operand, preferably
// one without later uses.
func neonWhere(a *allocator, c, x, y *value) form {
	switch {
	case y.isZero():
		return form{name: "and.16b", in: []*value{x, c}}
	case x.isZero():
		return form{name: "bic.16b", in: []*value{y, c}}
	case a.last(c):
	case a.last(y):
		return form{name: "bit.16b", in: []*value{y, x, c}, onto: y}
	case a.last(x):
		return form{name: "bif.16b", in: []*value{x, y, c}, onto: x}
	}
	return form{name: "bsl.16b", in: []*value{c, x, y}, onto: c}
}

func (f *neonMachine) form(a *allocator, v *value) form {
	args := v.operands()
	out := form{in: args}
	switch v.kind {
	case compute:
		return f.selection(a, v)
	case gather:
		out.early = true
	case store:
		if v.ptr.bytes == narrow {
			out.temps = 1
		}
	case fold:
		if v.fold.together > 0 {
			if v.off == v.fold.together-1 {
				out.temps = batch - 1
			}
			return out
		}
		if sums(v.fold.reduce) && len(v.fold.waiting) == batch-1 {
			out.temps = batch - 1
		}
		if a.masked {
			out.temps++ // last
		}
	}
	return out
}

func (f *neonMachine) selection(a *allocator, v *value) form {
	args := v.operands()
	out := form{name: neon.instruction(v.op, v.typ), in: args}
	if out.name == "" {
		f.fail("no vector code for %v of %v", v.op, v.typ)
	}
	switch v.op {
	case expr.Lt, expr.Le: // x < y is y > x
		out.in = []*value{args[1], args[0]}
	case expr.Where:
		return neonWhere(a, args[0], args[1], args[2])
	case expr.Fma:
		out.in, out.onto = []*value{args[2], args[0], args[1]}, args[2]
	case expr.Shl, expr.Shr:
		if by := args[1]; by.kind == constant {
			out = neonShift(v, int(by.bits&31))
		} else if v.op == expr.Shr {
			out.early = true // the negative length
		}
	case expr.Div:
		if v.typ == expr.I32 {
			out.early, out.temps = true, 2
		}
	}
	return out
}

// neonShift shifts by a constant.
func neonShift(v *value, by int) form {
	name := "shl.4s"
	switch {
	case by == 0:
		return form{name: "mov.16b", in: v.args[:1]}
	case v.op == expr.Shr && v.typ == expr.I32:
		name = "sshr.4s"
	case v.op == expr.Shr:
		name = "ushr.4s"
	}
	return form{name: name, in: v.args[:1], first: by}
}

// inMemory returns false: only loads read memory.
func (f *neonMachine) inMemory(*allocator, *value) bool { return false }
