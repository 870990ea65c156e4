package asm

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestPasses compares the code of small functions, before and after all passes.
func TestPasses(t *testing.T) {
	x, y := Memory{Global, "x"}, Memory{Global, "y"}
	type start struct {
		*Func
		n, at Value
		p     Value
	}
	store := func(f start, vs ...Value) {
		for i, v := range vs {
			f.Store(Address{y, f.at, 4 * i}, v)
		}
	}
	for _, c := range []struct {
		name, want string
		write      func(f start)
	}{
		{"operands that change nothing", "st", func(f start) {
			a := f.Do("mul.lo.s32", f.Do("add.s32", Int(0), f.n), Int(1))
			a = f.Do("mad.lo.s32", Int(0), a, f.Do("shl.b32", a, Int(0)))
			store(f, f.Do("max.s32", f.Do("xor.b32", f.Do("sub.s32", a, a), a), a))
		}},
		{"a factor of 1", "add.s32 st", func(f start) { store(f, f.Do("mad.lo.s32", f.n, Int(1), f.n)) }},
		{"constants", "st", func(f start) { store(f, f.Do("rem.u32", f.Do("add.s32", Int(3), Int(-4)), Int(7))) }},
		{"a division by 0 stays", "div.s32 st", func(f start) { store(f, f.Do("div.s32", Int(3), Int(0))) }},
		{"floats stay", "add.rn.f32 mul.rn.f32 st", func(f start) {
			v := f.Do("add.rn.f32", F32(1), F32(2))
			store(f, f.Do("mul.rn.f32", v, F32(1)))
		}},
		{"conditions that are known", "st st", func(f start) {
			f.If(f.Do("setp.lt.s32", Int(1), Int(2)), func() { store(f, f.n) })
			f.If(f.Do("setp.lt.u32", Int(1), Int(-2)), func() { store(f, f.n) })
			f.If(f.Do("setp.gt.s32", Int(1), Int(2)), func() { store(f, f.n) })
		}},
		{"guards that are known", "st", func(f start) {
			f.Guarded(Bool(true), func() { store(f, f.n) })
			f.Guarded(Bool(false), func() { store(f, f.n) })
		}},

		{"once is enough", "add.s32 st st", func(f start) {
			store(f, f.Do("add.s32", f.n, Int(1)), f.Do("add.s32", Int(1), f.n))
		}},
		{"also in a branch", "add.s32 st if st", func(f start) {
			store(f, f.Do("add.s32", f.n, Int(1)))
			f.If(f.p, func() { store(f, f.Do("add.s32", f.n, Int(1))) })
		}},
		{"not behind a branch", "if add.s32 st add.s32 st", func(f start) {
			f.If(f.p, func() { store(f, f.Do("add.s32", f.n, Int(1))) })
			store(f, f.Do("add.s32", f.n, Int(1)))
		}},
		{"what is cheap not through a loop", "div.s32 loop add.s32 st st add.s32 st st", func(f start) {
			f.Do("add.s32", f.n, Int(1))
			f.Loop(func() Value { store(f, f.Do("add.s32", f.n, Int(1)), f.Do("div.s32", f.n, f.n)); return f.p })
			store(f, f.Do("add.s32", f.n, Int(1)), f.Do("div.s32", f.n, f.n))
		}},
		{"a variable that changes", "mov.b32 add.s32 mov.b32 add.s32 st st", func(f start) {
			v := f.Variable(f.n)
			a := f.Do("add.s32", v, Int(1))
			f.Move(v, Int(3))
			store(f, a, f.Do("add.s32", v, Int(1)))
		}},
		{"a variable that a branch changes", "mov.b32 mov.b32 if mov.b32 st st", func(f start) {
			v := f.Variable(f.n)
			a := f.Copy(v)
			f.If(f.p, func() { f.Move(v, Int(3)) })
			store(f, a, f.Copy(v))
		}},
		{"a variable that a loop changes", "mov.b32 loop add.s32 st mov.b32 st", func(f start) {
			v := f.Variable(f.n)
			f.Do("add.s32", v, Int(1))
			f.Loop(func() Value {
				store(f, f.Do("add.s32", v, Int(1)))
				f.Move(v, Int(3))
				return f.p
			})
			store(f, v)
		}},
		{"loads", "ld st st", func(f start) { store(f, f.Load(Address{x, f.at, 0}, Word), f.Load(Address{x, f.at, 0}, Word)) }},
		{"loads of a place that is stored to", "ld st ld st", func(f start) {
			store(f, f.Load(Address{y, f.at, 0}, Word))
			store(f, f.Load(Address{y, f.at, 0}, Word))
		}},
		{"loads beside a barrier", "ld st bar.sync ld st", func(f start) {
			store(f, f.Load(Address{x, f.at, 0}, Word))
			f.Barrier()
			store(f, f.Load(Address{x, f.at, 0}, Word))
		}},
		{"vectors and their parts", "ld st st ld st", func(f start) {
			store(f, f.Loads(Address{x, f.at, 0}, Word, 2)...)
			store(f, f.Load(Address{x, f.at, 0}, Word))
		}},

		{"before a loop", "add.s32 div.s32 loop st", func(f start) {
			f.Loop(func() Value {
				store(f, f.Do("div.s32", f.Do("add.s32", f.n, Int(1)), f.n))
				return f.p
			})
		}},
		{"before two loops", "div.s32 loop loop st", func(f start) {
			f.Loop(func() Value {
				f.Loop(func() Value { store(f, f.Do("div.s32", f.n, f.n)); return f.p })
				return f.p
			})
		}},
		{"a load of an outer loop stays", "loop ld st loop st", func(f start) {
			f.Loop(func() Value {
				store(f, f.Load(Address{x, f.at, 0}, Word))
				f.Loop(func() Value { store(f, f.n); return f.p })
				return f.p
			})
		}},
		{"a division by a constant stays", "loop div.s32 st", func(f start) {
			f.Loop(func() Value { store(f, f.Do("div.s32", f.n, Int(3))); return f.p })
		}},
		{"not what only some iterations need", "loop if div.s32 ld st st", func(f start) {
			f.Loop(func() Value {
				f.If(f.p, func() { store(f, f.Do("div.s32", f.n, f.n), f.Load(Address{x, f.at, 0}, Word)) })
				return f.p
			})
		}},
		{"loads before a loop", "ld loop st", func(f start) {
			f.Loop(func() Value { store(f, f.Load(Address{x, f.at, 0}, Word)); return f.p })
		}},
		{"not loads of what it stores", "loop ld st", func(f start) {
			f.Loop(func() Value { store(f, f.Load(Address{y, f.at, 0}, Word)); return f.p })
		}},
		{"not loads past a barrier", "loop ld st bar.warp.sync", func(f start) {
			f.Loop(func() Value { store(f, f.Load(Address{x, f.at, 0}, Word)); f.WarpSync(); return f.p })
		}},
		{"not what changes in it", "mov.b32 loop add.s32 div.s32 st", func(f start) {
			v := f.Variable(f.n)
			f.Loop(func() Value {
				f.Into(v, "add.s32", v, Int(1))
				store(f, f.Do("div.s32", v, f.n))
				return f.p
			})
		}},

		{"what nobody needs", "", func(f start) {
			v := f.Variable(f.n)
			f.If(f.p, func() { f.Into(v, "add.s32", v, f.Load(Address{x, f.at, 0}, Word)) })
		}},
	} {
		f := start{Func: NewFunc("f", 64)}
		f.at, f.n = f.Param("u64", "x"), f.Param("u32", "n")
		f.p = f.Do("setp.lt.s32", f.n, Int(7))
		c.write(f)
		f.Optimize()
		if err := Verify(f.Func); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var ops []string
		each(f.body, func(i *Instr) {
			if !strings.HasPrefix(i.op, "ld.param") && !slices.Contains(i.dst, f.p) {
				ops = append(ops, i.op)
			}
		})
		if got := strings.Join(ops, " "); got != c.want {
			t.Errorf("%s: got %s, want %s\n%s", c.name, got, c.want, f)
		}
	}
}

// TestIdentities computes both sides of each row of the table.
func TestIdentities(t *testing.T) {
	rows := 0
	for op, ids := range identities {
		for _, r := range ids {
			rows++
			for range 50 {
				named := map[string]int64{}
				for _, name := range slices.Concat(r.args, r.result) {
					if name[0] >= 'A' && name[0] <= 'Z' {
						named[name] = int64(rand.Int32N(7)-3) * (1 + rand.Int64N(1<<30))
						if strings.HasSuffix(op, ".pred") {
							named[name] &= 1
						}
					}
				}
				result, right := r.result, ""
				if len(result) > 1 {
					right, result = result[0], result[1:]
				}
				if left, other := value(op, operands(r.args, named)), value(right, operands(result, named)); left != other && int32(left) != int32(other) {
					t.Fatalf("%s %v with %v is %d, not %d", op, r.args, named, left, other)
				}
			}
		}
	}
	if rows < 30 {
		t.Error(rows)
	}
}

func operands(names []string, named map[string]int64) []int64 {
	var out []int64
	for _, name := range names {
		v, ok := named[name]
		if !ok {
			v = literal(name, Wide).n
		}
		out = append(out, v)
	}
	return out
}

// value computes an instruction; without a name it returns the operand.
func value(op string, a []int64) int64 {
	name, typ, _ := strings.Cut(op, ".")
	if fold := folds[op]; fold != nil {
		return int64(fold(int32(a[0]), int32(a[1])))
	}
	if strings.HasPrefix(typ, "wide.u32") {
		a = []int64{int64(uint32(a[0])), int64(uint32(a[1])), a[2]}
	}
	switch {
	case op == "" || name == "cvt":
		return a[0]
	case name == "add":
		return a[0] + a[1]
	case name == "mul":
		return a[0] * a[1]
	case name == "mad":
		return a[0]*a[1] + a[2]
	case name == "selp" && a[2]&1 != 0:
		return a[0]
	case name == "selp":
		return a[1]
	case name == "and":
		return a[0] & a[1]
	case name == "or":
		return a[0] | a[1]
	case name == "xor":
		return a[0] ^ a[1]
	case name == "not":
		return 1 - a[0]
	}
	panic(op)
}
