package asm

import (
	"slices"
	"strconv"
	"strings"
)

// simplify folds constants and applies identities. It leaves float arithmetic, which rounds.
func simplify(f *Func) {
	newWalk(func(i *Instr) {
		if pure[i.op] == nil {
			return
		}
		if commutes(i.op) && i.args[0].kind == constant && i.args[1].kind != constant {
			i.args[0], i.args[1] = i.args[1], i.args[0]
		}
		if c, ok := folded(i.op, i.dst[0].class, i.args); ok {
			i.op, i.args = "mov."+classes[c.class].typ, []Value{c}
		}
		for slices.ContainsFunc(identities[i.op], func(r identity) bool { return r.apply(i) }) {
		}
	}).body(f.body)
}

// commutes reports whether the first two operands may be swapped.
func commutes(op string) bool {
	name, typ, _ := strings.Cut(op, ".")
	return strings.Contains(" add mul mad and or xor min max ", " "+name+" ") && !strings.HasSuffix(typ, "f32")
}

// folds compute words of constant operands.
var folds = map[string]func(a, b int32) int32{
	"add.s32":     func(a, b int32) int32 { return a + b },
	"sub.s32":     func(a, b int32) int32 { return a - b },
	"mul.lo.s32":  func(a, b int32) int32 { return a * b },
	"div.s32":     func(a, b int32) int32 { return a / b },
	"rem.s32":     func(a, b int32) int32 { return a % b },
	"div.u32":     func(a, b int32) int32 { return int32(uint32(a) / uint32(b)) },
	"rem.u32":     func(a, b int32) int32 { return int32(uint32(a) % uint32(b)) },
	"min.s32":     func(a, b int32) int32 { return min(a, b) },
	"max.s32":     func(a, b int32) int32 { return max(a, b) },
	"and.b32":     func(a, b int32) int32 { return a & b },
	"and.pred":    func(a, b int32) int32 { return a & b },
	"or.b32":      func(a, b int32) int32 { return a | b },
	"xor.b32":     func(a, b int32) int32 { return a ^ b },
	"shl.b32":     func(a, b int32) int32 { return a << uint32(b) },
	"shr.s32":     func(a, b int32) int32 { return a >> uint32(b) },
	"shr.u32":     func(a, b int32) int32 { return int32(uint32(a) >> uint32(b)) },
	"setp.lt.s32": func(a, b int32) int32 { return truth(a < b) },
	"setp.le.s32": func(a, b int32) int32 { return truth(a <= b) },
	"setp.eq.s32": func(a, b int32) int32 { return truth(a == b) },
	"setp.ne.s32": func(a, b int32) int32 { return truth(a != b) },
	"setp.ge.s32": func(a, b int32) int32 { return truth(a >= b) },
	"setp.gt.s32": func(a, b int32) int32 { return truth(a > b) },
	"setp.lt.u32": func(a, b int32) int32 { return truth(uint32(a) < uint32(b)) },
	"setp.le.u32": func(a, b int32) int32 { return truth(uint32(a) <= uint32(b)) },
}

func truth(b bool) int32 { return int32(Bool(b).n) }

// folded returns the result of an instruction on constants, if known.
func folded(op string, c Class, args []Value) (Value, bool) {
	if op == "cvt.u64.u32" && args[0].kind == constant {
		return WideInt(int64(uint32(args[0].n))), true
	}
	fold := folds[op]
	if fold == nil || slices.ContainsFunc(args, func(v Value) bool { return v.kind != constant }) {
		return Value{}, false
	}
	a, b := int32(args[0].n), int32(args[1].n)
	if divides(op) && b == 0 {
		return Value{}, false
	}
	return Value{c, constant, int64(fold(a, b))}, true
}

// divides reports whether an instruction divides integers.
func divides(op string) bool { return folds[op] != nil && (op[:3] == "div" || op[:3] == "rem") }

// identities lists equal computations: operands, a result (an operand, a constant, or an
// instruction), and the instructions that the row simplifies. Capital letters are any operands,
// equal letters equal operands. No constant is a float.
var identities = parseIdentities(`
	A 0 = A: add.s32 sub.s32 or.b32 xor.b32 shl.b32 shr.s32 shr.u32 add.s64 or.pred xor.pred
	A 1 = A: mul.lo.s32 div.s32 div.u32 mul.lo.s64 and.pred
	A -1 = A: and.b32
	A 0 = 0: mul.lo.s32 and.b32 and.pred
	A 1 = 0: rem.s32 rem.u32
	A 1 = 1: or.pred
	A 1 = not.pred A: xor.pred
	A A = A: and.b32 or.b32 min.s32 max.s32 and.pred or.pred
	A A = 0: sub.s32 xor.b32
	A 0 B = B: mad.lo.s32 mad.wide.s32 mad.wide.u32 mad.lo.s64
	0 A B = B: mad.lo.s32 mad.wide.s32 mad.wide.u32 mad.lo.s64
	A 1 B = add.s32 A B: mad.lo.s32
	A 1 B = add.s64 A B: mad.lo.s64
	A B 0 = mul.lo.s32 A B: mad.lo.s32
	A B 1 = A: selp.b32 selp.f32
	A B 0 = B: selp.b32 selp.f32
	A A B = A: selp.b32 selp.f32
`)

// An identity is a row of the table.
type identity struct {
	args, result []string // a result of several words begins with an instruction
}

func parseIdentities(text string) map[string][]identity {
	all := map[string][]identity{}
	for line := range strings.Lines(text) {
		row, ops, _ := strings.Cut(line, ":")
		args, result, _ := strings.Cut(row, "=")
		for _, op := range strings.Fields(ops) {
			all[op] = append(all[op], identity{strings.Fields(args), strings.Fields(result)})
		}
	}
	return all
}

// apply rewrites an instruction by a row, and reports whether the row fits.
func (r identity) apply(i *Instr) bool {
	named := map[string]Value{}
	for n, name := range r.args {
		if v := i.args[n]; name[0] >= 'A' && !named[name].Valid() {
			named[name] = v
		} else if name[0] >= 'A' && named[name] != v || name[0] < 'A' && v != literal(name, v.class) {
			return false
		}
	}
	op, result := "mov."+classes[i.dst[0].class].typ, r.result
	if len(result) > 1 {
		op, result = result[0], result[1:]
	}
	i.op, i.args = op, nil
	for _, name := range result {
		v, ok := named[name]
		if !ok {
			v = literal(name, i.dst[0].class)
		}
		i.args = append(i.args, v)
	}
	return true
}

// literal returns a constant of a row.
func literal(text string, c Class) Value {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic("BUG: " + text)
	}
	return Value{c, constant, int64(n)}
}
