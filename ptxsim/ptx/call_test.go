package ptx

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// callText is a kernel that calls f twice and calls g, which also calls f.
const callText = header + `
.shared .u32 both;
.func (.param .b32 r) f (.param .b32 a);
.visible .func g (.param .align 8 .b8 a[16])
{
	.reg .b32 %r<2>; .shared .u32 mine; .local .u32 loc[3];
	.param .b32 x, y;
	ld.param.u32 %r0, [a+8];
	st.param.u32 [x], %r0;
	call.uni (y), f, (x);
	ld.param.u32 %r0, [y];
	st.shared.u32 [mine], %r0;
	st.shared.u32 [both], %r0;
	ret.uni;
}
.func (.param .b32 r) f (.param .b32 a)
{
	.reg .b32 %r<2>; .reg .pred %p;
	ld.param.u32 %r0, [a];
	setp.eq.u32 %p, %r0, 0;
	@%p ret;
	bra L;
L:	st.param.u32 [r], %r0;
	ret;
}
.entry k (.param .u32 n)
{
	.reg .b32 %r<2>; .reg .pred %p;
	.param .b32 u, v; .param .align 8 .b8 w[16];
	setp.eq.u32 %p, 1, 1;
	bra AFTER;
	call (u), f, (v);
AFTER:
	@!%p call (v), f, (u);
	call g, (w);
	st.shared.u32 [both], %r1;
	exit;
}`

// TestCalls checks the code that replaces calls.
func TestCalls(t *testing.T) {
	m, err := Parse([]byte(callText))
	if err != nil {
		t.Fatal(err)
	}
	k := m.Kernels[0]
	var got []string
	for i, in := range k.Instrs {
		text := in.Op
		if in.Guard.Used {
			text = fmt.Sprintf("@%v%d %s", map[bool]string{true: "!"}[in.Guard.Not], in.Guard.Reg, text)
		}
		for _, a := range in.Args {
			switch a.Kind {
			case RegArg:
				text += fmt.Sprint(" r", a.Reg)
			case MemArg:
				text += fmt.Sprintf(" %s.%s+%d", in.Space, a.Var.Name, a.Off)
			case LabelArg:
				text += fmt.Sprintf(" L%d", a.Targets[0])
			}
		}
		got = append(got, fmt.Sprintf("%d %s", i, text))
	}
	// Registers 0 and 1 belong to the kernel, 2 and 3 to f, 4 to g.
	want := `0 setp r0; 1 bra L7;
		2 ld r2 local.v+0; 3 setp r3 r2; 4 @3 bra L7; 5 bra L6; 6 st local.u+0 r2;
		7 @0 bra L13; 8 ld r2 local.u+0; 9 setp r3 r2; 10 @3 bra L13; 11 bra L12; 12 st local.v+0 r2;
		13 ld r4 local.w+8; 14 st local.x+0 r4;
		15 ld r2 local.x+0; 16 setp r3 r2; 17 @3 bra L20; 18 bra L19; 19 st local.y+0 r2;
		20 ld r4 local.y+0; 21 st shared.mine+0 r4; 22 st shared.both+0 r4;
		23 st shared.both+0 r1; 24 exit`
	if g, w := strings.Join(got, ";"), strings.Join(strings.Split(strings.Join(strings.Fields(want), " "), "; "), ";"); g != w {
		t.Errorf("the calls became\n%s\nwant\n%s", g, w)
	}
	if k.StaticSize != 8 {
		t.Errorf("%d bytes of shared memory, want one word of the module and one of g", k.StaticSize)
	}
	if k.LocalSize != 4+4+16+12+4+4 {
		t.Errorf("%d bytes of local memory", k.LocalSize)
	}
	if k.Labels[0] != (Label{"AFTER", 7}) {
		t.Errorf("label %v", k.Labels[0])
	}
	if k.Instrs[21].Args[0].Var.Offset == k.Instrs[22].Args[0].Var.Offset || k.Instrs[22].Args[0].Var != k.Instrs[23].Args[0].Var {
		t.Error("the shared variables are mixed up")
	}
}

// TestCallErrors has one mistake per text. f takes two words and returns one.
func TestCallErrors(t *testing.T) {
	const f = ".func (.param .b32 r) f (.param .b32 a, .param .b32 b) { ret; }\n"
	const registers = ".func (.reg .b32 r) f (.reg .b32 a, .param .u32 b) { ret; }\n"
	const locals = ".param .b32 u, v; .param .b64 w; .reg .b32 %r; .reg .b64 %rd;\n"
	tests := []struct{ text, body, want string }{
		{f, "call (u), f, (v);", `line 8: function f has 2 arguments, found 1`},
		{f, "call f, (u, v);", `function f has 1 results, found 0`},
		{f, "call (u), f, (v, w);", `argument 2 of function f has 4 bytes at multiples of 4, found w with 8`},
		{f, "call (u), g, (v, v);", `no function g with a body`},
		{".extern .func g;", "call g;", `no function g with a body`},
		{".func a { call a; ret; }", "call a;", `line 4: a calls itself`},
		{".func b; .func a { call b; ret; }\n.func b { call a; ret; }", "call a;", `line 5: a calls itself`},
		{f + f, "", `line 5: function f must not have a body here`},
		{".global .u32 f;" + f, "", `f is defined twice`},
		{".entry f { ret; }" + f, "", `f is defined twice`},
		{f + ".entry f { ret; }", "", `f is defined twice`},
		{".func f (.reg .pred a) { ret; }", "", `line 4: a predicate cannot be a parameter of a function`},
		{".func f (.reg .b32 a, .param .b32 a) { ret; }", "", `a is defined twice`},
		{registers, "call (%r), f, (%r, w);", `line 8: argument 2 of function f has 4 bytes at multiples of 4, found w with 8`},
		{registers, "call (%r), f, (%rd, u);", `argument 1 of function f is a .b32 of 4 bytes, which %rd is not`},
		{registers, "call (%r), f, (1.5, u);", `argument 1 of function f is a .b32 of 4 bytes, which 1.5 is not`},
		{registers, "call (5), f, (%r, u);", `result 1 of function f is a .b32 of 4 bytes, which 5 is not`},
		{registers, "call (%r), f, (_, u);", `_ is neither a register nor a .param variable`},
		{".func f (.param .b8 a[3]) { ret; }", "call f, (%r);", `argument 1 of function f is a .b8 of 3 bytes, which %r is not`},
		{".func f (.param .b32 a, .param .b32 a) { ret; }", "", `a is defined twice`},
		{".func f { .reg .b32 %r; mov.u32 %r, 1; }", "", `function f does not end in ret or exit`},
		{".func f { ret;", "", `unsupported directive ".entry" in a function`},
		{".func f .maxntid 3 { ret; }", "", `unsupported function directive ".maxntid"`},
		{".func f (.param .b32 a) { .entry; ret; }", "", `unsupported directive ".entry" in a function`},
		{doubling(25), "call f25;", `more than 262144 instructions`},
	}
	for _, test := range tests {
		_, err := Parse([]byte(header + test.text + "\n.entry k {\n" + locals + test.body + "\nexit; }"))
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.200s %s\n got %v\nwant %s", test.text, test.body, err, test.want)
		}
	}
}

// doubling returns functions that each call the previous one twice.
func doubling(n int) string {
	s := ".func f0 { ret; }\n"
	for i := range n {
		s += fmt.Sprintf(".func f%d { call f%d; call f%d; ret; }\n", i+1, i, i)
	}
	return s
}

// TestCallRegisters checks the copies if a parameter or its argument is in a register.
func TestCallRegisters(t *testing.T) {
	m, err := Parse([]byte(header + `
.func (.reg .b32 r, .param .b32 s) f (.reg .b32 a, .param .b32 b)
{
	.reg .b32 x;
	ld.param.b32 x, [b];
	add.u32 r, a, x;
	st.param.b32 [s], r;
	ret;
}
.entry k ()
{
	.reg .b32 %r<4>; .param .b32 u, v;
	call (%r0, u), f, (%r1, v);
	call (v, %r2), f, (u, 7);
	call (_, _), f, (-1, %r0);
	exit;
}`))
	if err != nil {
		t.Fatal(err)
	}
	k := m.Kernels[0]
	var got []string
	for _, in := range k.Instrs {
		text := in.Op
		for _, a := range in.Args {
			switch a.Kind {
			case RegArg:
				text += " " + k.Regs[a.Reg].Name
			case ImmArg:
				text += fmt.Sprintf(" %#x", a.Imm)
			case MemArg:
				text += fmt.Sprintf(" %s.%s", in.Space, a.Var.Name)
			}
		}
		got = append(got, text)
	}
	const body = "; ld x local.%s; add r a x; st local.%s r"
	want := "mov a %r1" + fmt.Sprintf(body, "v", "u") + "; mov %r0 r" +
		"; ld a local.u; st local.b 0x7" + fmt.Sprintf(body, "b", "s") + "; st local.v r; ld %r2 local.s" +
		"; mov a 0xffffffff; st local.b %r0" + fmt.Sprintf(body, "b", "s") + "; exit"
	if g := strings.Join(got, "; "); g != want {
		t.Errorf("the calls became\n%s\nwant\n%s", g, want)
	}
	if k.LocalSize != 4*4 {
		t.Errorf("%d bytes of local memory, want u, v, b and s", k.LocalSize)
	}
}
