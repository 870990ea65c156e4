package asm

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx/ptxas"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/ptxsim"
)

// everything writes an entry with every instruction of the table and every method
// that writes others.
func everything() *Module {
	m := &Module{Header: "a test"}
	f := NewFunc("everything", 64)
	f.Beside = 2
	f.Loc(m.File("a.arith"), 3, 1)
	addr, word, float := f.Param("u64", "at"), f.Param("u32", "n"), f.Param("f32", "x")
	global := f.Do("cvta.to.global.u64", addr)
	shared, dynamic := f.SharedArray("tile", 64), f.DynamicShared()
	pred := f.Do("setp.lt.s32", word, Int(3))
	half := f.Load(Global.At("h", global).Plus(2), Half)
	registers := map[Class]Value{Pred: pred, Word: word, Float: float, Half: half, Wide: global}
	for _, op := range slices.Sorted(maps.Keys(pure)) {
		_, operands, _ := strings.Cut(pure[op][0], "=")
		var args []Value
		for _, c := range []byte(operands) {
			args = append(args, registers[Class(c)])
		}
		for n, v := range args { // any of them may be a constant
			for _, args[n] = range []Value{v, {v.class, constant, 1}} {
				if args[n].class == Half && args[n].kind == constant && op != "mov.b16" {
					continue
				}
				f.compute(Class(pure[op][0][0]), Instr{op: op, args: slices.Clone(args)})
			}
			args[n] = v
		}
	}
	f.Comment("memory")
	f.Store(Global.At("x", global), float, F32(-0.5), float, float)
	f.Store(Shared.At("t", shared).Plus(4), word)
	f.Store(Shared.At("t", shared).Plus(6), half)
	f.Store(Global.At("h", global).Plus(8), append(f.Loads(Shared.At("t", shared).Plus(4), Half, 2), half, Half.Zero())...)
	f.Move(f.New(Half), Half.Zero())
	f.Store(Shared.At("t", dynamic), Int(1), Int(2))
	f.Store(Generic.At("g", addr).Plus(-4), f.Load(Generic.At("g", addr).Plus(8), Float))
	f.WarpSync()
	f.Barrier()
	f.Store(Global.At("x", global), f.Shuffle("bfly", float, 16), f.Shuffle("idx", f.As(Float, f.As(Word, float)), 0))
	f.Store(Global.At("x", global), f.Shuffle("bfly", word, 1))
	to, from := Shared.At("t", shared), Global.At("x", global)
	f.CopyAsync(to.Plus(16), from.Plus(32), word)
	f.CommitCopies()
	f.WaitCopies(1)
	for _, op := range strings.Fields(lanes["ffff=rrrrrrffff"]) {
		acc := []Value{f.Variable(F32(0)), f.Variable(F32(0)), f.Variable(F32(0)), f.Variable(F32(0))}
		a := append(f.LoadMatrices(to, 2, true), f.LoadMatrices(to.Plus(16), 2, false)...)
		b := append(f.LoadMatrices(to, 1, true), f.LoadMatrices(to.Plus(16), 1, false)...)
		f.Multiply(strings.TrimPrefix(op, "mma.sync.aligned."), acc, f.LoadMatrices(to, 4, true), b)
		f.Multiply(strings.TrimPrefix(op, "mma.sync.aligned."), acc, a, b)
		f.Store(from, acc...)
	}
	f.If(pred, func() {
		i := f.Variable(Int(0))
		f.Loop(func() Value {
			f.Rolled()
			f.Into(i, "add.s32", i, f.Special("%ntid.x"))
			f.Guarded(pred, func() { f.Move(i, word) })
			return f.Do("setp.lt.s32", i, Int(9))
		})
	})
	f.Return()
	m.Add(f)
	other := NewFunc("x", 32) // as a parameter of everything is called
	other.Store(Global.At("x", other.Param("u64", "x")), Int(1))
	other.Return()
	m.Add(other)
	return m
}

// TestLoads wants the simulator and NVIDIA's assembler to take every form of instruction. The
// simulator has separate tables.
func TestLoads(t *testing.T) {
	text := everything().Text()
	if _, err := ptxsim.New(ptxsim.Options{}).Load(text); err != nil {
		t.Errorf("simulator: %v\n%s", err, text)
	}
	full.Needs(t, full.Ptxas)
	if _, err := ptxas.Assemble(text, "sm_80"); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestText(t *testing.T) {
	got := string(everything().Text())
	for _, want := range []string{
		"// a test\n\n.version 7.8\n.target sm_80\n.address_size 64\n.file 1 \"a.arith\"\n",
		".visible .entry everything(\n\t.param .u64 _at,\n\t.param .u32 _n,\n\t.param .f32 _x\n)\n.reqntid 64\n.minnctapersm 2\n{\n",
		"\t.loc 1 3 1\n",
		"\t.shared .align 16 .b8 tile[64];\n",
		"\tst.global.v4.f32 [%d2], {%f1, 0fBF000000, %f1, %f1};\n",
		"\tst.f32 [%d1+-4], %f",
		"\tld.shared.v2.b16 {%h",
		"\tst.global.v4.b16 [%d2+8], {%h",
		"\t.reg .b16 %h<",
		"shfl.sync.bfly.b32",
		"\t@!%p1 bra $L1;\n",
		"\t@%p1 mov.b32 %r",
		"$L2:\n\t.pragma \"nounroll\";\n\tmov.u32 %r",
		" bra $L2;\n$L1:\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the text lacks %q", want)
		}
	}
}

// TestBugs wants a panic for operands that no instruction takes.
func TestBugs(t *testing.T) {
	f := NewFunc("f", 32)
	word, wide, pred := f.New(Word), f.New(Wide), f.New(Pred)
	for name, do := range map[string]func(){
		"operand of another class":   func() { f.Do("add.s32", word, wide) },
		"an operand too few":         func() { f.Do("add.s32", word) },
		"no such instruction":        func() { f.Do("add.s33", word, word) },
		"result of another class":    func() { f.Into(wide, "add.s32", word, word) },
		"a constant as a result":     func() { f.Into(Int(1), "add.s32", word, word) },
		"move between classes":       func() { f.Move(word, wide) },
		"move to half a word":        func() { f.Move(f.New(Half), word) },
		"64-bit shared address":      func() { f.Load(Shared.At("t", wide), Word) },
		"32-bit global address":      func() { f.Load(Global.At("x", word), Word) },
		"guard that is no predicate": func() { f.Guarded(word, func() {}) },
		"guard within a guard":       func() { f.Guarded(pred, func() { f.Guarded(pred, func() {}) }) },
	} {
		if !panics(do) {
			t.Errorf("%s: no panic", name)
		}
	}
}

func panics(do func()) (did bool) {
	defer func() { did = recover() != nil }()
	do()
	return false
}

// TestFloats wants constants that are exact to the bit.
func TestFloats(t *testing.T) {
	f := NewFunc("f", 32)
	f.Copy(F32(1))
	f.Copy(F32(-0x1p-149))
	m := &Module{}
	m.Add(f)
	text := string(m.Text())
	if !strings.Contains(text, "0f3F800000") || !strings.Contains(text, "0f80000001") {
		t.Error(text)
	}
}
