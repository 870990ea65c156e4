package ptx

import (
	"bytes"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func readModule(t testing.TB) *Module {
	t.Helper()
	text, err := os.ReadFile("testdata/reduce.ptx")
	if err != nil {
		t.Fatal(err)
	}
	m, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestModule(t *testing.T) {
	m := readModule(t)
	if m.Version != (Version{7, 8}) || m.Arch != 80 || m.Suffix != "" || len(m.Kernels) != 1 {
		t.Errorf("header: %v sm_%d%s, %d kernels", m.Version, m.Arch, m.Suffix, len(m.Kernels))
	}
	vars := map[string]*Var{}
	for _, v := range m.Vars {
		vars[v.Name] = v
	}
	if got, want := vars["scale"].Init, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x3f, 0, 0, 0, 0xc0}; !bytes.Equal(got, want) {
		t.Errorf("scale starts as %x, want %x", got, want)
	}
	if got := string(vars["text"].Init); got != "hello\x00" {
		t.Errorf("text starts as %q", got)
	}
	wantRelocs := []Reloc{{Offset: 0, Size: 8, Var: vars["scale"], Addend: 4}}
	if diff := cmp.Diff(wantRelocs, vars["where"].Relocs); diff != "" {
		t.Errorf("where: %s", diff)
	}
	wantRelocs = []Reloc{{Offset: 0, Size: 8, Var: vars["where"], Generic: true}}
	if diff := cmp.Diff(wantRelocs, vars["pointers"].Relocs); diff != "" {
		t.Errorf("pointers: %s", diff)
	}
}

func TestKernel(t *testing.T) {
	k := readModule(t).Kernels[0]
	type place struct {
		name         string
		offset, size int64
	}
	var params, vars []place
	for _, v := range k.Params {
		params = append(params, place{v.Name, v.Offset, v.Size})
	}
	for _, v := range k.Vars {
		vars = append(vars, place{v.Name, v.Offset, v.Size})
	}
	wantParams := []place{
		{"block_sum_param_0", 0, 8}, {"block_sum_param_1", 8, 8}, {"block_sum_param_2", 16, 4}, {"block_sum_param_3", 24, 12},
	}
	if diff := cmp.Diff(wantParams, params, cmp.AllowUnexported(place{})); diff != "" {
		t.Errorf("parameters: %s", diff)
	}
	// The variables come in the order of their declaration or first use.
	wantVars := []place{{"__local_depot0", 0, 24}, {"ticket", 0, 4}, {"partial", 16, 128}, {"dynamic", 144, 0}}
	if diff := cmp.Diff(wantVars, vars, cmp.AllowUnexported(place{})); diff != "" {
		t.Errorf("variables: %s", diff)
	}
	got := []int64{k.ParamSize, k.StaticSize, k.LocalSize, k.DynamicOffset, int64(k.MinCTAs)}
	if diff := cmp.Diff([]int64{36, 144, 24, 144, 2}, got); diff != "" {
		t.Errorf("sizes: %s", diff)
	}
	if k.MaxThreads != [3]int{256, 1, 1} {
		t.Errorf(".maxntid is %v", k.MaxThreads)
	}
}

// find returns the n-th instruction with a name.
func find(t *testing.T, k *Kernel, op string, n int) *Instr {
	t.Helper()
	for i := range k.Instrs {
		if k.Instrs[i].Op == op {
			if n--; n < 0 {
				return &k.Instrs[i]
			}
		}
	}
	t.Fatalf("no %s", op)
	return nil
}

func TestInstructions(t *testing.T) {
	k := readModule(t).Kernels[0]
	reg := func(name string, want Type, o Operand) {
		t.Helper()
		if o.Kind != RegArg || k.Regs[o.Reg] != (Reg{name, k.Regs[o.Reg].Type}) || o.Type != want {
			t.Errorf("operand %+v, want register %s as .%s", o, name, want)
		}
	}
	pair := find(t, k, "ld", 3)
	if pair.Args[0].Kind != VecArg || pair.Args[0].Elems[1].Kind != SinkArg {
		t.Errorf("ld.param.v2: %+v", pair.Args[0])
	}
	mad := find(t, k, "mad", 0)
	if ntid := find(t, k, "mov", 1); !mad.Has("lo") || ntid.Args[1].Kind != SpecialArg || ntid.Args[1].Special != NTidX {
		t.Errorf("mov: %+v, mad: %+v", ntid, mad)
	}
	reg("%r2", S32, mad.Args[1])
	wide := find(t, k, "mul", 0)
	reg("%rd4", S64, wide.Args[0])
	if a := wide.Args[2]; a.Kind != ImmArg || a.Imm != 4 || a.Type != S32 {
		t.Errorf("mul.wide: %+v", a)
	}
	if nc := find(t, k, "ld", 4); nc.Args[1].Off != -4 || nc.Space != Global || !nc.Has("nc") || nc.Loc != (Loc{1, 14, 3}) {
		t.Errorf("ld.global.nc: %+v", nc)
	}
	shfl := find(t, k, "shfl.sync", 0)
	if shfl.Args[0].Kind != PairArg || shfl.Args[4].Imm != 0xffffffff || !shfl.Has("bfly") {
		t.Errorf("shfl: %+v", shfl)
	}
	reg("%t0", B32, shfl.Args[0].Elems[0])
	reg("%p2", Pred, shfl.Args[0].Elems[1])
	if st := find(t, k, "st", 0); st.Args[0].Var == nil || st.Args[0].Var.Name != "partial" || st.Args[0].Off != 4 {
		t.Errorf("st.shared: %+v", st)
	}
	if st := find(t, k, "st", 1); st.Args[1].Imm != 32 {
		t.Errorf("WARP_SZ: %+v", st)
	}
	if address := find(t, k, "mov", 7); address.Args[1].Kind != SymArg || address.Args[1].Off != 16 {
		t.Errorf("the address of dynamic: %+v", address.Args[1])
	}
	if setp := find(t, k, "setp", 1); !setp.Args[3].Not || setp.Args[2].Imm != uint64(math.Float32bits(10)) {
		t.Errorf("setp: %+v", setp)
	}
}

func TestBranches(t *testing.T) {
	k := readModule(t).Kernels[0]
	at := map[string]int{}
	for _, l := range k.Labels {
		at[l.Name] = l.At
	}
	bra, brx := find(t, k, "bra", 0), find(t, k, "brx.idx", 0)
	if bra.Args[0].Targets[0] != at["$L__BB0_2"] || !bra.Guard.Used || bra.Guard.Not || k.Regs[bra.Guard.Reg].Name != "%p1" {
		t.Errorf("bra: %+v", bra)
	}
	if diff := cmp.Diff([]int{at["$L__BB0_2"], at["$L__BB0_3"]}, brx.Args[1].Targets); diff != "" {
		t.Errorf("brx.idx: %s", diff)
	}
	if exit := find(t, k, "exit", 0); !exit.Guard.Not {
		t.Errorf("exit: %+v", exit)
	}
	if k.Instrs[at["$L__BB0_2"]].Op != "mov" || k.Instrs[at["$L__BB0_2"]].Line == 0 {
		t.Errorf("$L__BB0_2 marks %+v", k.Instrs[at["$L__BB0_2"]])
	}
}

// TestModifierOrder checks that modifiers may have any order, but types keep theirs.
func TestModifierOrder(t *testing.T) {
	tests := []struct{ text, want string }{
		{"atom.global.gpu.acq_rel.add.f32 %f1, [%rd1], %f1;", "acq_rel gpu global add f32"},
		{"ld.global.acquire.sys.v2.b32 {%r1, %r2}, [%rd1];", "acquire sys global v2 b32"},
		{"ld.nc.global.f32 %f1, [%rd1];", "global nc f32"},
		{"fma.ftz.rn.f32 %f1, %f1, %f1, %f1;", "rn ftz f32"},
		{"mul.s32.hi %r1, %r1, %r2;", "hi s32"},
		{"cvt.ftz.f16.rn.f32 %h1, %f1;", "rn ftz f16 f32"},
		{"cvt.f16.f32.f32 %h1, %f1;", ""},
		{"cvt.s64.s32 %r1, %rd1;", ""},
		{"add.ftz.ftz.f32 %f1, %f1, %f1;", ""},
	}
	for _, test := range tests {
		m, err := Parse([]byte(header + ".entry k() { .reg .b16 %h<2>; .reg .b32 %r<4>; .reg .f32 %f<2>; .reg .b64 %rd<2>;" + test.text + "ret; }"))
		if test.want == "" {
			if err == nil {
				t.Errorf("%s is accepted", test.text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
		} else if got := strings.Join(m.Kernels[0].Instrs[0].Mods, " "); got != test.want {
			t.Errorf("%s has %s, want %s", test.text, got, test.want)
		}
	}
}

// TestScopes checks that registers and labels in blocks each have one meaning.
func TestScopes(t *testing.T) {
	m, err := Parse([]byte(header + `.entry k() { .reg .b32 %r<3>; .reg .pred %p;
		mov.b32 %r1, 1; @%p bra L;
		{ .reg .b32 %r<2>; mov.b32 %r1, 2; mov.b32 %r2, 3; bra L; L: mov.b32 %r1, 4; }
		L: mov.b32 %r1, 5; ret; }`))
	if err != nil {
		t.Fatal(err)
	}
	k := m.Kernels[0]
	var regs []int
	for i := range k.Instrs {
		if in := &k.Instrs[i]; in.Op == "mov" {
			regs = append(regs, in.Args[0].Reg)
		}
	}
	if diff := cmp.Diff([]int{0, 2, 3, 2, 0}, regs); diff != "" {
		t.Errorf("registers: %s", diff)
	}
	if outer, inner := k.Instrs[1].Args[0].Targets[0], k.Instrs[4].Args[0].Targets[0]; outer != 6 || inner != 5 {
		t.Errorf("L leads to %d and %d, want 6 and 5", outer, inner)
	}
}

const header = ".version 7.8\n.target sm_80\n.address_size 64\n"

// TestErrors has one text per mistake. The error's line is the line with the @.
func TestErrors(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", `line 1: expected ".version", found the end of the text`},
		{".version 7\n", `line 1: expected a version such as 7.8, found "7"`},
		{".version 7.8 .target sm_80 .address_size 32", `only .address_size 64 is supported`},
		{".version 7.8 .target compute_80", `expected a target such as sm_80`},
		{".version 7.8 .target sm_80x", `expected a target such as sm_80`},
		{".version 7.8 .target sm_", `expected a target such as sm_80`},
		{".version 7.8 .target sm_80, texmode_unified", `unsupported target option "texmode_unified"`},
		{".version 7.8 .target sm_80\n.entry k() {}", `line 2: expected ".address_size"`},
		{header + ".alias a, b;", `expected a directive of module scope, found ".alias"`},
		{header + ".global .u32 x = \"a\";", `expected a constant`},
		{header + ".global .u32 x = 1.5;", `cannot initialise a .u32`},
		{header + ".global .u32 x =\n\xff;", `line 5: unexpected character 'ÿ'`},
		{header + ".global .u32 x[2] = {1,2,3};", `too many values for x`},
		{header + ".global .u32 x; .global .f32 x;", `x is defined twice`},
		{header + ".global .align 3 .u32 x;", `.align 3 is not a power of two`},
		{header + ".global .u32 x[];", `x has no size`},
		{header + ".global .pred x;", `a variable cannot have the type .pred`},
		{header + ".global .tf32 x;", `a variable cannot have the type .tf32`},
		{header + ".global .u32 x; .global .f64 y = x;", `an address does not fit a .f64`},
		{header + ".global .u32 x; .global .u16 y = x;", `an address does not fit a .u16`},
		{header + ".shared .u32 x = 3;", `x cannot have an initialiser`},
		{header + ".global .u64 x = y;", `y is not a variable`},
		{header + ".global .u8 x[0xffffffff][0xffffffff];", `out of range`},
		{header + ".global .u8 x[0x7fffffff][0x7fffffff];", `x is too large`},
		{header + ".entry k(.param .b8 p[5000]) { ret; }", `take 5000 bytes, more than 4096`},
		{header + ".entry k(.param .u32 p, .param .u32 p) { ret; }", `p is defined twice`},
		{header + ".entry k() .explicitcluster { ret; }", `unsupported kernel directive ".explicitcluster"`},
		{header + ".entry k() { ret; } .entry k() { ret; }", `k is defined twice`},
		{header + ".entry k() { ret;", `kernel k has no end`},
		{header + "/* ", `line 4: a comment without its end`},
		{header + ".pragma \"x", `a string without its end`},
		{header + "`", "unexpected character '`'"},
		{"add.s32 %r1, %r2;", `line 8: add.s32 takes 3 operands, found 2`},
		{"add.s32 %r1, %r2, %r9;", `%r9 is not declared`},
		{"add.s32 %r9, %r2, %r1;", `no register %r9`},
		{"add.s32 %r1, %r2, %f1;", `%f1 is a .f32 register, but add.s32 needs a .s32 here`},
		{"add.s32 %r1, %r2, %rd1;", `%rd1 is a .b64 register`},
		{"add.f32 %f1, %f1, 1;", `this constant is not of type .f32`},
		{"add.s32 %r1, %r2, 1.5;", `this constant is not of type .s32`},
		{"add.s32 %r1, %r1, -%r2;", `expected a constant, found "%r2"`},
		{"add.s32 1, %r1, %r2;", `does not take an operand of this kind`},
		{"add.s33 %r1, %r1, %r2;", `unknown modifiers in "add.s33"`},
		{"add.ftz.s32 %r1, %r1, %r2;", `unknown modifiers in "add.ftz.s32"`},
		{"frobnicate.u32 %r1;", `unknown instruction "frobnicate.u32"`},
		{"call (%r1), foo, (sh);", `sh is neither a register nor a .param variable of the caller`},
		{"call %rd1;", `a call through a pointer is not supported`},
		{"call foo, (), proto;", `a call through a pointer is not supported`},
		{"call foo, %r1;", `expected arguments in parentheses, found "%r1"`},
		{"\ncall foo;", `line 9: the module has no function foo with a body`},
		{"st.param.u32 [q], 1;", `q is not declared`},
		{".param .b32 q; st.param.u64 [q], 1;", `the access lies outside of parameter q`},
		{".param .b32 q; st.global.u32 [q], 1;", `q lies in .local memory, but the access is to .global`},
		{"add.bf16 %h1, %h1, %h1;", `"add.bf16" needs .version 7.8 and .target sm_90 or later`},
		{"fma.rn.relu.bf16 %h1, %h1, %h1, %r1;", `%r1 is a .b32 register`},
		{"mov.b32 %r1, %tid.w2;", `%tid.w2 is not declared`},
		{"mov.b16 %h1, %tid.x;", `%tid.x is a .u32 register`},
		{"mov.b32 %tid.x, %r1;", `no register %tid.x`},
		{"mov.b32 {%h1, %h1, %h1}, %r1;", `does not take an operand of this kind`},
		{"mov.f32 %f1, sh;", `not the address of sh`},
		{"mov.u32 %r1, %r2+4;", `an offset to a register`},
		{"mov.u32 _, %r2;", `does not take _`},
		{"ld.global.u32 %r1, %rd1;", `needs an address in brackets`},
		{"ld.global.u32 %r1, [sh];", `sh lies in .shared memory, but the access is to .global`},
		{"ld.u32 %r1, [sh];", `sh lies in .shared memory, but the access is to .generic`},
		{"ld.global.u32 %r1, [%f1];", `cannot hold an address`},
		{"ld.global.v4.u64 {%rd1,%rd1,%rd1,%rd1}, [%rd1];", `accesses 32 bytes at once`},
		{"ld.global.v2.u32 {%r1,%r2,%r1}, [%rd1];", `needs 2 elements in braces`},
		{"ld.global.f32 %r1, [%rd1] ,3;", `takes 2 operands, found 3`},
		{"ld.global.b64 %r1, [%rd1];", `%r1 is a .b32 register`},
		{"ld.shared.v4.b32 {%r1,%r1,%r1,%r1}, [sh+8];", `at offset 8 is not aligned to 16 bytes`},
		{"ld.param.u64 %rd1, [p+4];", `lies outside of parameter p`},
		{"st.shared.u32 [sh], _;", `does not take _`},
		{"setp.lo.s32 %p1, %r1, %r1;", `unknown modifiers`},
		{"setp.lt.s32 %r1, %r1, %r1;", `%r1 is a .b32 register, but setp.lt.s32 needs a .pred`},
		{"selp.b32 %r1, !%r1, %r1, %p1;", `does not take a negation`},
		{"and.pred !%p1, %p1, %p1;", `does not take a negation`},
		{"add.u32 %r1, %tid.x, 1;", `mov it to a register first`},
		{"add.u64 %rd1, %rd1, sh;", `not the address of sh`},
		{"shfl.sync.idx.b32 _|%p1, %r1, 0, 31, -1;", `does not take _`},
		{"lop3.b32 %r1, %r1, %r1, %r1, %r1;", `needs a constant`},
		{"setp.eq.f16x2 %p1, %r1, %r1;", `needs a pair of destinations`},
		{"cp.async.cg.shared.global [sh], [%rd1], 8;", `does not take 8 here`},
		{"ldmatrix.sync.aligned.m8n8.x2.b16 {%r1}, [sh];", `needs 2 elements`},
		{"mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 {%f1,%f1,%f1,%f1}, {%r1,%r1,%r1,%r1}, {%r1,%r1}, {%f1,%f1,%f1,%f1};", `unknown modifiers`},
		{"@%r1 bra L;", `%r1 is not a predicate register`},
		{"bra !L;", `expected a label`},
		{"bra L+4;", `expected a label`},
		{"bra 4;", `expected a label`},
		{"mov.f32 %f1, 0f3F8;", `"0f3F8" is not a number`},
		{"mov.b64 %rd1, 0d3FF00000000000000;", `is not a number`},
		{"mov.u64 %rd1, -0x8000000000000000/-1;", `cannot compute`},
		{"mov.u64 %rd1, 5 % 0;", `cannot compute`},
		{"bra M;", `no label M`},
		{"brx.idx %r1, L;", `no .branchtargets list L`},
		{"L: mov.u32 %r1, 1;", `L is defined twice`},
		{"bra END;", `leads to the end of kernel k`},
		{".reg .b32 %r<4>;", `%r<4> is defined twice`},
		{".reg .foo %x;", `expected the type of a register`},
		{".reg .b32 %x<-1>;", `expected a number of registers`},
		{".local .b32 x[2] = {1, 2};", `x cannot have an initialiser`},
		{".local .b32 x; .global .u64 y = x;", `x is not a variable whose address can be taken here`},
		{".global .b32 x; .const .b32 x;", `x is defined twice`},
		{".callprototype;", `unsupported directive ".callprototype"`},
		{"mov.u32 %r1, 1/0;", `cannot compute this constant expression`},
		{"mov.u32 %r1, " + strings.Repeat("(", 100) + "1;", `nested too deeply`},
		{"mov.u32 %r1, 09;", `"09" is not a number`},
		{"mov.u32 %r1 1;", `expected ",", found "1"`},
		{"}", `does not end in ret or exit`},
	}
	for _, test := range tests {
		text := test.text
		if !strings.HasPrefix(text, ".version") && text != "" {
			text = header + ".entry k(.param .u64 p) {\n.shared .align 16 .b8 sh[64]; .reg .b16 %h<2>; .reg .b32 %r<4>; .reg .f32 %f<2>;\n" +
				".reg .b64 %rd<2>; .reg .pred %p<2>;\nL:\n" + text + "\nret; END: }"
			if test.text == "bra END;" {
				text = strings.Replace(text, "ret; END:", "bra L; END:", 1)
			}
		}
		_, err := Parse([]byte(text))
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s\n got %v\nwant %s", test.text, err, test.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	tests := []struct {
		text string
		typ  Type
		want uint64
	}{
		{"-1", B32, 0xffffffff},
		{"-1", S16, 0xffff},
		{"0x1Fu", U32, 31},
		{"017", U32, 15},
		{"0b101", U32, 5},
		{"18446744073709551615", U64, math.MaxUint64},
		{"0f3F800000", F32, 0x3f800000},
		{"0F3f800000", B32, 0x3f800000},
		{"0f3F800000", F64, 0x3ff0000000000000},
		{"-0f3F800000", F32, 0xbf800000},
		{"0d3FF8000000000000", F64, 0x3ff8000000000000},
		{"1.5", F64, 0x3ff8000000000000},
		{"1.5e+1", F32, uint64(math.Float32bits(15))},
		{"2e0", F32, uint64(math.Float32bits(2))},
		{"0x1e+1", U32, 0x1f},
		{"1+2*3", U32, 7},
		{"(1+2)*3", U32, 9},
		{"7-2-1", U32, 4},
		{"1<<4|3", U32, 19},
		{"~0&0xff", U32, 255},
		{"-7 % 4", S32, 0xfffffffd},
		{"-7/2", S32, 0xfffffffd},
		{"3>2&&2>=2", U32, 1},
		{"!5", U32, 0},
		{"WARP_SZ-1", U32, 31},
		{"1?2:3", U32, 2},
		{"1>2 ? 3 : (0?4:5)", U32, 5},
		{"1.5+2.*3.-.5/2.", F64, math.Float64bits(7.25)},
		{"-(1.5 - 2.)", F32, uint64(math.Float32bits(.5))},
		{"1.5<2. && 2.==2.", U32, 1},
		{"-1", Pred, 1},
	}
	for _, test := range tests {
		p := &parser{lex: lexer{text: []byte(test.text), line: 1}}
		p.advance()
		got, ok := p.constant().as(test.typ)
		if p.err != nil || !ok || got != test.want || p.tok.kind != endToken {
			t.Errorf("%s as .%s: %#x, %v, %v; want %#x", test.text, test.typ, got, ok, p.err, test.want)
		}
	}
}

// FuzzParse checks that no text makes the parser panic, that errors name a line, and that the
// operands of accepted modules are valid.
func FuzzParse(f *testing.F) {
	text, err := os.ReadFile("testdata/reduce.ptx")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(callText))
	f.Add([]byte(header + ".entry k() { .reg .b32 %r<2>; { L: bra L; } ret; }"))
	f.Add([]byte(header + ".global .u32 x[] = {1, -2, 0x3}; .entry k(.param .align 8 .b8 p[16]) { exit; }"))
	f.Add([]byte(header + ".global .u8 x[][2] = {{0xff(y)}, {}}; .entry k() { .reg .v2 .f32 v<2>; mov.v2.f32 v1, {.5, 2.}; st.global.f32 x[3], v1.g; exit; }"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := Parse(text)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Line < 1 || e.Line > 1+bytes.Count(text, []byte("\n")) {
				t.Fatalf("error without its line: %v", err)
			}
			return
		}
		for _, k := range m.Kernels {
			for i := range k.Instrs {
				checkOperands(t, k, k.Instrs[i].Args)
			}
		}
	})
}

func checkOperands(t *testing.T, k *Kernel, args []Operand) {
	for _, a := range args {
		switch {
		case a.Kind == RegArg && (a.Reg < 0 || a.Reg >= len(k.Regs)):
			t.Fatalf("operand %+v of %d registers", a, len(k.Regs))
		case a.Kind == SymArg && a.Var == nil:
			t.Fatalf("operand %+v without its variable", a)
		}
		for _, at := range a.Targets {
			if at < 0 || at >= len(k.Instrs) {
				t.Fatalf("operand %+v of %d instructions", a, len(k.Instrs))
			}
		}
		checkOperands(t, k, a.Elems)
	}
}
