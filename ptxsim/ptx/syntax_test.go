package ptx

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// words returns the bytes of 32-bit numbers.
func words(xs ...uint32) (out []byte) {
	for _, x := range xs {
		out = binary.LittleEndian.AppendUint32(out, x)
	}
	return out
}

func floats(xs ...float32) (out []byte) {
	for _, x := range xs {
		out = append(out, words(math.Float32bits(x))...)
	}
	return out
}

// TestInitialisers has declarations that ptxas accepts, with the bytes of the variable a.
func TestInitialisers(t *testing.T) {
	for text, want := range map[string][]byte{
		".global .f32 a = .05;":                                  floats(.05),
		".global .f32 a = -.5e-3;":                               floats(-.5e-3),
		".global .f32 a[3] = {2.,.5 , 2.e3};":                    floats(2, .5, 2000),
		".global .u32 a[2][2] = {{1,2},{3,4}};":                  words(1, 2, 3, 4),
		".global .u32 a[2][3] = {{1},{3,4}};":                    words(1, 0, 0, 3, 4, 0),
		".global .u32 a[3][2] = {{}, {1}};":                      words(0, 0, 1, 0, 0, 0),
		".global .u32 a[2] = {};":                                words(0, 0),
		".global .u32 a[][2] = {{1,2},{3,4},{5}};":               words(1, 2, 3, 4, 5, 0),
		".global .u32 a[2][2][2] = {{{1,2},{3}},{{5},{6,7}}};":   words(1, 2, 3, 0, 5, 0, 6, 7),
		".global .v2 .u32 a[2] = {{1,2},{3,4}};":                 words(1, 2, 3, 4),
		".global .v4 .f32 a = {0., 1., .5, 2.};":                 floats(0, 1, .5, 2),
		".global .attribute(.managed) .u32 a = 3;":               words(3),
		".visible .global .attribute(.managed) .align 8 .u32 a;": nil,
		".common .global .u32 a[2];":                             nil,
		".common .global .u32 a = 3;":                            words(3),
	} {
		m, err := Parse([]byte(header + text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, m.Vars[0].Init); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// TestBytesOfAddresses reads masks, which select a byte of an address.
func TestBytesOfAddresses(t *testing.T) {
	m, err := Parse([]byte(header + ".global .u32 x; .global .u8 a[5] = {7, 0xff(x), 0xff00(x+4), 0xff00000000000000(generic(x)), 255(x)}; .global .u32 b[2] = {1, 0xff(x)};"))
	if err != nil {
		t.Fatal(err)
	}
	x, a, b := m.Vars[0], m.Vars[1], m.Vars[2]
	want := []Reloc{{Offset: 1, Size: 1, Var: x, Mask: 0xff}, {Offset: 2, Size: 1, Var: x, Addend: 4, Mask: 0xff00},
		{Offset: 3, Size: 1, Var: x, Generic: true, Mask: 0xff << 56}, {Offset: 4, Size: 1, Var: x, Mask: 0xff}}
	if diff := cmp.Diff(want, a.Relocs); diff != "" || a.Size != 5 {
		t.Errorf("a: %s", diff)
	}
	if diff := cmp.Diff([]Reloc{{Offset: 4, Size: 4, Var: x, Mask: 0xff}}, b.Relocs); diff != "" {
		t.Errorf("b: %s", diff)
	}
	var got []uint64
	for _, r := range a.Relocs {
		got = append(got, r.Of(0x8877665544332211))
	}
	if diff := cmp.Diff([]uint64{0x11, 0x22, 0x88, 0x11}, got); diff != "" {
		t.Errorf("bytes: %s", diff)
	}
}

// TestOperands reads elements of arrays and vectors of registers, as ptxas does.
func TestOperands(t *testing.T) {
	const declared = ".global .u32 a[4]; .global .u32 m[4][4]; .global .v2 .u32 v[4]; .entry k() { .reg .b32 %r<4>; .reg .b64 %rd<2>;\n" +
		".shared .u32 s[4]; .reg .v4 .u32 w; .reg .v2 .u32 %q<3>; .reg .v2 .b32 u;\n"
	for text, want := range map[string]string{
		"mov.u64 %rd1, a[2];":                  "a+8",
		"mov.u64 %rd1, a[1+1];":                "a+8",
		"mov.u64 %rd1, m[1];":                  "m+4", // in elements, whatever the dimensions
		"mov.u64 %rd1, v[1];":                  "v+4",
		"cvta.global.u64 %rd1, a[3];":          "a+12",
		"ld.global.u32 %r1, a[0];":             "a+0",
		"ld.global.u8 %r1, a[2];":              "a+8",
		"ld.shared.u32 %r1, s[2];":             "s+8",
		"st.shared.u32 s[3], %r1;":             "s+12",
		"mov.b64 %rd1, u;":                     "{u.x u.y}",
		"mov.b64 u, %rd1;":                     "{u.x u.y}",
		"ld.global.v4.u32 w, [%rd1];":          "{w.x w.y w.z w.w}",
		"st.global.v2.u32 [%rd1], %q2;":        "{%q2.x %q2.y}",
		"st.global.v2.u32 [%rd1], {w.x, w.a};": "{w.x w.w}",
		"add.u32 %r1, w.r, w.a;":               "w.x w.w",
		"mov.u32 w.y, 1;":                      "w.y",
		"mov.v2.u32 %q1, %q2;":                 "%q1.x %q2.x; %q1.y %q2.y",
		"mov.v2.u32 {%r1, %r2}, {%r3, %r2};":   "%r1 %r3; %r2 %r2",
		"mov.v4.u32 w, %tid;":                  "w.x; w.y; w.z; w.w",
	} {
		m, err := Parse([]byte(header + declared + text + " ret; }"))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		k := m.Kernels[0]
		var all []string
		for _, in := range k.Instrs[:len(k.Instrs)-1] {
			var args []string
			for _, a := range in.Args {
				args = append(args, said(k, a)...)
			}
			all = append(all, strings.Join(args, " "))
		}
		if got := strings.Join(all, "; "); !strings.Contains(got, want) {
			t.Errorf("%s: has %s, want %s", text, got, want)
		}
	}
}

// said returns the registers and the places in variables of an operand.
func said(k *Kernel, a Operand) []string {
	switch {
	case a.Kind == VecArg:
		var parts []string
		for _, e := range a.Elems {
			parts = append(parts, said(k, e)...)
		}
		return []string{"{" + strings.Join(parts, " ") + "}"}
	case a.Var != nil:
		return []string{a.Var.Name + "+" + number{integer, uint64(a.Off)}.String()}
	case a.Kind == RegArg:
		return []string{k.Regs[a.Reg].Name}
	}
	return nil
}

// TestRefusedSyntax checks that errors name unsupported text and its line, the second one of the
// text. If ptxas accepts the text, the error or README.md says that it is not supported.
func TestRefusedSyntax(t *testing.T) {
	for text, want := range map[string]string{
		".global .u8 a[2] = {\n0x7f(x)};":                             "expected a mask of one byte",
		".global .u8 a[2] = {\n0xffff(x)};":                           "expected a mask of one byte",
		".global .u16 a[2] = {\n0xff(x)};":                            "a byte of an address cannot initialise a .u16, but a .u8",
		".global .u8 a[2] = {\nx};":                                   "an address does not fit a .u8: a byte of it, as 0xff00(x), fits a .u8",
		".global .u8 a[2] = {\n0xff(y)};":                             "y is not a variable whose address can be taken here",
		".global .u32 a[2][2] =\n{{1,2,3}};":                          "too many values for a",
		".global .u32 a[2][2] =\n{{1},{2},{3}};":                      "too many values for a",
		".global .u32 a[2][2] =\n{{1,2},3};":                          `expected "{", found "3"`,
		".global .u32 a[2] =\n{{1}};":                                 `expected a constant, found "{"`,
		".global .u32 a[2] = {1,\n};":                                 `expected a constant, found "}"`,
		".global .u32\na[][0] = {1};":                                 "a is empty or too large",
		".global .u32\na" + strings.Repeat("[1]", 99) + ";":           "a has more than 64 dimensions",
		".global .f32 a =\n2.f;":                                      "this constant cannot initialise a .f32",
		".global .f32 a = 1\n? 2. : 3.;":                              "a choice with ? and : needs integers",
		".global .f32 a =\n1+2.5;":                                    "cannot compute this constant expression",
		".global .attribute(\n.unified(1, 2)) .f32 a;":                `unsupported attribute ".unified" of a variable`,
		".const .attribute(\n.managed) .f32 a;":                       ".managed is for variables in .global memory",
		".common\n.shared .u32 a;":                                    `.common is for variables in .global memory, found ".shared"`,
		".entry k() {\nld.global.u32 %r1, x[%r2]; }":                  `unsupported: the index "%r2" of x in a register`,
		".entry k() { .reg .b32 %r<2>;\nld.global.u32 %r1, x[1]; }":   "x is not an array and has no element 1",
		".entry k() { .reg .b32 %r<2>;\nld.global.u32 %r1, [x[1]]; }": "x is not an address",
		".entry k() { .reg .b32 %r<2>;\nmov.u32 %r1, %r1[0]; }":       "an offset to a register is allowed in brackets only",
		".entry k() { L:\nbra L[0]; }":                                "expected a label",
		".entry k() {\n.reg .v2 .pred p; }":                           "a vector of 2 .pred: want no predicates and at most 128 bits",
		".entry k() {\n.reg .v4 .f64 p; }":                            "a vector of 4 .f64",
		".entry k() {\n.reg .v3 .f32 p; }":                            "expected the type of a register",
		".entry k() { .reg .v2 .u32 u;\nadd.u32 u, u, u; }":           "add.u32 does not take an operand of this kind here",
		".entry k() { .reg .v2 .u32 u;\nmov.u32 u, u; }":              "mov.u32 does not take an operand of this kind here",
		".entry k() { .reg .v2 .u32 u;\nmov.u32 u.z, 1; }":            "no register u.z",
		".entry k() { .reg .v2 .u32 u;\nmov.v4.u32 u, u; }":           "mov.v4 takes 2 vectors of 4",
		".entry k() { .reg .v2 .u32 u;\n.reg .u32 u; }":               "u is defined twice",
		".entry k() { .reg .b32 a, b;\nmov.v2.b32 {a, b}, {b, a}; }":  "unsupported: mov.v2 that writes a before it is read",
	} {
		_, err := Parse([]byte(header + ".global .u32 x; " + text))
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(e.Msg, want) || e.Line != 5 {
			t.Errorf("%s\n got %v\nwant %s in line 5", text, err, want)
		}
	}
}
