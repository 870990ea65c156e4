package asm

import (
	"strings"
	"testing"
)

// TestVerify wants valid functions accepted, and each mistake named. A function begins with a
// uniform word, one that differs between warps, one between threads, a predicate of each, and an
// address.
func TestVerify(t *testing.T) {
	type start struct {
		*Func
		all, warp, lane    Value
		pAll, pWarp, pLane Value
		at                 Value
	}
	one := Int(1)
	for _, c := range []struct {
		name, want string // none: it is right
		write      func(f *start)
	}{
		{"values", "", func(f *start) { f.Do("add.s32", f.all, f.lane) }},
		{"variable set in a loop, used behind it", "", func(f *start) {
			x := f.New(Word)
			f.Loop(func() Value { f.Move(x, f.all); return f.Do("setp.lt.s32", x, one) })
			f.Do("add.s32", x, one)
		}},
		{"barrier where all come", "", func(f *start) { f.If(f.pAll, f.Barrier); f.If(f.pWarp, f.WarpSync) }},
		{"shuffle of a warp", "", func(f *start) { f.If(f.pWarp, func() { f.Shuffle("bfly", f.lane, 1) }) }},
		{"what a lane gives its warp", "", func(f *start) {
			f.If(f.Do("setp.lt.s32", f.Shuffle("idx", f.lane, 0), one), f.WarpSync)
		}},

		{"operand of another class", "no such instruction has operands r=rd", func(f *start) {
			f.body[len(f.body)-1].args = []Value{f.all, f.at}
		}},
		{"guard that is no predicate", "the guard is no predicate", func(f *start) {
			f.Into(f.New(Word), "add.s32", f.all, one)
			f.body[len(f.body)-1].guard = f.all
		}},
		{"constant set", "the result is no register", func(f *start) { f.body[len(f.body)-1].dst[0] = one }},
		{"address in a word", "no address", func(f *start) {
			f.Load(Global.At("x", f.at), Word)
			f.body[len(f.body)-1].args[0] = f.all
		}},
		{"three at a time", "no vector", func(f *start) {
			f.Loads(Global.At("x", f.at), Word, 2)
			f.body[len(f.body)-1].dst = f.fresh(Word, single, 3)
		}},
		{"two classes at a time", "no vector", func(f *start) {
			f.Store(Global.At("x", f.at), one, one)
			f.body[len(f.body)-1].args[2] = F32(1)
		}},
		{"vector out of line", "4 bytes do not align a vector of 2", func(f *start) {
			f.Loads(Global.At("x", f.at).Plus(8), Word, 2)
			f.body[len(f.body)-1].bytes = 4
		}},
		{"halves side by side", "", func(f *start) {
			x := Global.At("x", f.at)
			f.Store(x.Plus(6), f.Load(x.Plus(2), Half))
			f.Store(x.Plus(12), f.Loads(x.Plus(4), Half, 2)...)
		}},
		{"half out of line", "3 bytes do not align a vector of 1", func(f *start) {
			f.Load(Global.At("x", f.at).Plus(2), Half)
			f.body[len(f.body)-1].bytes = 3
		}},
		{"halves out of line", "4 bytes do not align a vector of 4", func(f *start) {
			f.Loads(Global.At("x", f.at).Plus(8), Half, 4)
			f.body[len(f.body)-1].bytes = 4
		}},
		{"word beside a half", "no vector", func(f *start) {
			f.Store(Global.At("x", f.at), Half.Zero(), Half.Zero())
			f.body[len(f.body)-1].args[2] = one
		}},
		{"predicate in memory", "no vector", func(f *start) {
			f.Store(Global.At("x", f.at), one)
			f.body[len(f.body)-1].args[1] = f.pAll
		}},
		{"conversion of a constant half", "only moved or stored", func(f *start) {
			f.Do("cvt.u32.u16", f.Load(Global.At("x", f.at), Half))
			f.body[len(f.body)-1].args[0] = Half.Zero()
		}},
		{"arithmetic on a half", "no such instruction has operands r=rh", func(f *start) {
			f.Do("add.s32", f.all, one)
			f.body[len(f.body)-1].args[1] = f.Load(Global.At("x", f.at), Half)
		}},
		{"variable without a value", "no value on some path", func(f *start) { f.Do("add.s32", f.New(Word), one) }},
		{"variable set by a branch", "no value on some path", func(f *start) {
			x := f.New(Word)
			f.If(f.pAll, func() { f.Move(x, one) })
			f.Copy(x)
		}},
		{"variable set under a guard", "no value on some path", func(f *start) {
			x := f.New(Word)
			f.Guarded(f.pAll, func() { f.Move(x, one) })
			f.Copy(x)
		}},
		{"value of a branch", "no value on some path", func(f *start) {
			var x Value
			f.If(f.pAll, func() { x = f.Copy(one) })
			f.Copy(x)
		}},
		{"value of a loop", "no value on some path", func(f *start) {
			var x Value
			f.Loop(func() Value { x = f.Copy(one); return f.pAll })
			f.Copy(x)
		}},
		{"value of the next iteration", "no value on some path", func(f *start) {
			f.Loop(func() Value { f.Do("add.s32", f.all, one); f.Copy(one); return f.pAll })
			body := f.body[len(f.body)-1].body
			body[0].args[0] = body[1].dst[0]
		}},
		{"guard without a value", "no value on some path", func(f *start) {
			f.Guarded(f.New(Pred), func() { f.Store(Global.At("x", f.at), one) })
		}},
		{"value set twice", "set already", func(f *start) { f.Into(f.all, "add.s32", one, one) }},
		{"value under a guard", "is no variable", func(f *start) { f.Guarded(f.pAll, func() { f.Copy(one) }) }},
		{"barrier under a guard", "not all threads", func(f *start) { f.Guarded(f.pAll, f.Barrier) }},
		{"barrier where some threads come", "not all threads", func(f *start) { f.If(f.pLane, f.Barrier) }},
		{"barrier where some warps come", "not all threads", func(f *start) { f.If(f.pWarp, f.Barrier) }},
		{"barrier within", "not all threads", func(f *start) { f.If(f.pLane, func() { f.If(f.pAll, f.Barrier) }) }},
		{"wait where some lanes come", "not all threads", func(f *start) { f.If(f.pLane, f.WarpSync) }},
		{"shuffle where some lanes come", "not all threads", func(f *start) {
			f.If(f.pLane, func() { f.Shuffle("idx", f.lane, 0) })
		}},
		{"all shared memory", "", func(f *start) { f.SharedArray("x", 40<<10); f.SharedArray("y", 8<<10) }},
		{"too much shared memory", "49168 bytes of static shared memory", func(f *start) { f.SharedArray("x", 48<<10); f.SharedArray("y", 16) }},
		{"matrices of a warp", "", func(f *start) {
			f.If(f.pWarp, func() { f.LoadMatrices(Shared.At("t", f.warp), 4, false) })
		}},
		{"matrices where some lanes come", "not all threads", func(f *start) {
			f.If(f.pLane, func() { f.LoadMatrices(Shared.At("t", f.warp), 4, false) })
		}},
		{"product under a guard", "not all threads", func(f *start) {
			x := []Value{f.Variable(F32(0)), f.Variable(F32(0)), f.Variable(F32(0)), f.Variable(F32(0))}
			a, b := f.LoadMatrices(Shared.At("t", f.warp), 4, false), f.LoadMatrices(Shared.At("t", f.warp), 2, true)
			f.Guarded(f.pWarp, func() { f.Multiply("m16n8k16.row.col.f32.bf16.bf16.f32", x, a, b) })
		}},
		{"product of too few registers", "no such instruction has operands", func(f *start) {
			x := []Value{f.Variable(F32(0)), f.Variable(F32(0)), f.Variable(F32(0)), f.Variable(F32(0))}
			a := f.LoadMatrices(Shared.At("t", f.warp), 4, false)
			f.Multiply("m16n8k16.row.col.f32.bf16.bf16.f32", x, a, a[:2])
			last := f.body[len(f.body)-1]
			last.args = last.args[1:]
		}},
		{"barrier by what lanes have of a matrix", "not all threads", func(f *start) {
			x := f.LoadMatrices(Shared.At("t", f.all), 1, false)[0]
			f.If(f.Do("setp.lt.s32", x, one), f.Barrier)
		}},
		{"matrices in global memory", "in other spaces", func(f *start) {
			f.LoadMatrices(Shared.At("t", f.all), 1, false)
			f.body[len(f.body)-1].memory.Space = Global
		}},
		{"copy between other places", "in other spaces", func(f *start) {
			f.CopyAsync(Shared.At("t", f.all), Global.At("x", f.at), one)
			f.body[len(f.body)-1].from.Space = Generic
		}},
		{"copy out of line", "do not align 16", func(f *start) {
			f.CopyAsync(Shared.At("t", f.all), Global.At("x", f.at), one)
			f.body[len(f.body)-1].behind = 8
		}},
		{"barrier in turns that threads have more of", "not all threads", func(f *start) {
			i := f.Variable(f.lane)
			f.Loop(func() Value {
				f.Barrier()
				f.Into(i, "add.s32", i, one)
				return f.Do("setp.lt.s32", i, Int(9))
			})
		}},
		{"barrier by what some threads have set", "not all threads", func(f *start) {
			x := f.Variable(one)
			f.If(f.pLane, func() { f.Move(x, Int(2)) })
			f.If(f.Do("setp.lt.s32", x, Int(2)), f.Barrier)
		}},
		{"barrier by what some threads set under a guard", "not all threads", func(f *start) {
			x := f.Variable(one)
			f.Guarded(f.pLane, func() { f.Move(x, Int(2)) })
			f.If(f.Do("setp.lt.s32", x, Int(2)), f.Barrier)
		}},
		{"barrier by what threads have loaded", "not all threads", func(f *start) {
			x := f.Load(Global.At("x", f.Do("mad.wide.s32", f.lane, Int(4), f.at)), Word)
			f.If(f.Do("setp.lt.s32", x, one), f.Barrier)
		}},
		{"barrier by an iteration that comes before", "not all threads", func(f *start) {
			x := f.Variable(one)
			f.Loop(func() Value {
				f.If(f.Do("setp.lt.s32", x, one), f.Barrier)
				f.Move(x, f.lane)
				return f.pAll
			})
		}},
	} {
		f := &start{Func: NewFunc("f", 64)}
		f.at, f.lane = f.Param("u64", "x"), f.Special("%tid.x")
		f.warp, f.all = f.Do("shr.u32", f.lane, Int(5)), f.Special("%ctaid.x")
		less := func(v Value) Value { return f.Do("setp.lt.s32", v, Int(7)) }
		f.pAll, f.pWarp, f.pLane = less(f.all), less(f.warp), less(f.lane)
		f.Do("add.s32", f.all, one)
		c.write(f)
		switch err := Verify(f.Func); {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}
