package arm64

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/internal/full"
)

type four = [4]uint32

// vectorCase is an instruction on 4 numbers (or pairs of words) with Go's result.
type vectorCase struct {
	op       string
	operands []Operand // after the destination V0; a is in V1, b in V2
	want     func(d, a, b four) four
}

func each(f func(a, b uint32) uint32) func(d, a, b four) four {
	return func(d, a, b four) (r four) {
		for i := range r {
			r[i] = f(a[i], b[i])
		}
		return r
	}
}

func floats(f func(a, b float32) float32) func(d, a, b four) four {
	return each(func(a, b uint32) uint32 {
		return math.Float32bits(f(math.Float32frombits(a), math.Float32frombits(b)))
	})
}

func wide(f func(a, b uint64) uint64) func(d, a, b four) four {
	return func(d, a, b four) (r four) {
		for i := 0; i < 4; i += 2 {
			v := f(uint64(a[i])|uint64(a[i+1])<<32, uint64(b[i])|uint64(b[i+1])<<32)
			r[i], r[i+1] = uint32(v), uint32(v>>32)
		}
		return r
	}
}

func pick4(x, y, z, w int) func(d, a, b four) four {
	return func(d, a, b four) four {
		all := append(a[:], b[:]...)
		return four{all[x], all[y], all[z], all[w]}
	}
}

func yes(c bool) uint32 {
	if c {
		return math.MaxUint32
	}
	return 0
}

// fused returns a*b + c, rounded once. The product of two float32 is exact in float64. The sum
// is rounded to odd there, so that the second rounding changes nothing.
func fused(a, b, c float32) float32 {
	p, q := float64(a)*float64(b), float64(c)
	s := p + q
	t := s - p
	if rest := (p - (s - t)) + (q - t); rest != 0 {
		if v := math.Float64bits(s); v&1 == 0 {
			if (rest > 0) == (s > 0) {
				v++
			} else {
				v--
			}
			s = math.Float64frombits(v)
		}
	}
	return float32(s)
}

func fusedInto(by func(b four, i int) uint32) func(d, a, b four) four {
	return func(d, a, b four) (r four) {
		for i := range r {
			r[i] = math.Float32bits(fused(math.Float32frombits(a[i]), math.Float32frombits(by(b, i)), math.Float32frombits(d[i])))
		}
		return r
	}
}

func same(b four, i int) uint32  { return b[i] }
func third(b four, i int) uint32 { return b[2] }

var ab = []Operand{V1, V2}

var vectorCases = []vectorCase{
	{"fadd.4s", ab, floats(func(a, b float32) float32 { return a + b })},
	{"fsub.4s", ab, floats(func(a, b float32) float32 { return a - b })},
	{"fmul.4s", ab, floats(func(a, b float32) float32 { return a * b })},
	{"fdiv.4s", ab, floats(func(a, b float32) float32 { return a / b })},
	{"frintm.4s", ab[:1], floats(func(a, b float32) float32 { return float32(math.Floor(float64(a))) })},
	{"fmla.4s", ab, fusedInto(same)},
	{"fmla.4s", []Operand{V1, Elem{V2, 2}}, fusedInto(third)},
	{"fcmgt.4s", ab, each(func(a, b uint32) uint32 { return yes(math.Float32frombits(a) > math.Float32frombits(b)) })},
	{"fcmge.4s", ab, each(func(a, b uint32) uint32 { return yes(math.Float32frombits(a) >= math.Float32frombits(b)) })},
	{"fcmeq.4s", ab, each(func(a, b uint32) uint32 { return yes(math.Float32frombits(a) == math.Float32frombits(b)) })},
	{"scvtf.4s", ab[:1], each(func(a, b uint32) uint32 { return math.Float32bits(float32(int32(a))) })},
	{"ucvtf.4s", ab[:1], each(func(a, b uint32) uint32 { return math.Float32bits(float32(a)) })},
	{"fcvtzs.4s", ab[:1], each(func(a, b uint32) uint32 { return uint32(int32(math.Float32frombits(a))) })},

	{"add.4s", ab, each(func(a, b uint32) uint32 { return a + b })},
	{"sub.4s", ab, each(func(a, b uint32) uint32 { return a - b })},
	{"mul.4s", ab, each(func(a, b uint32) uint32 { return a * b })},
	{"neg.4s", ab[:1], each(func(a, b uint32) uint32 { return -a })},
	{"abs.4s", ab[:1], each(func(a, b uint32) uint32 { return uint32(max(int32(a), -int32(a))) })},
	{"smin.4s", ab, each(func(a, b uint32) uint32 { return uint32(min(int32(a), int32(b))) })},
	{"smax.4s", ab, each(func(a, b uint32) uint32 { return uint32(max(int32(a), int32(b))) })},
	{"umin.4s", ab, each(func(a, b uint32) uint32 { return min(a, b) })},
	{"umax.4s", ab, each(func(a, b uint32) uint32 { return max(a, b) })},
	{"cmgt.4s", ab, each(func(a, b uint32) uint32 { return yes(int32(a) > int32(b)) })},
	{"cmge.4s", ab, each(func(a, b uint32) uint32 { return yes(int32(a) >= int32(b)) })},
	{"cmeq.4s", ab, each(func(a, b uint32) uint32 { return yes(a == b) })},
	{"cmhi.4s", ab, each(func(a, b uint32) uint32 { return yes(a > b) })},
	{"cmhs.4s", ab, each(func(a, b uint32) uint32 { return yes(a >= b) })},
	{"add.2d", ab, wide(func(a, b uint64) uint64 { return a + b })},
	{"sub.2d", ab, wide(func(a, b uint64) uint64 { return a - b })},
	{"shl.2d", []Operand{V1, Imm(45)}, wide(func(a, b uint64) uint64 { return a << 45 })},
	{"ushr.2d", []Operand{V1, Imm(45)}, wide(func(a, b uint64) uint64 { return a >> 45 })},
	{"sshr.2d", []Operand{V1, Imm(45)}, wide(func(a, b uint64) uint64 { return uint64(int64(a) >> 45) })},
	{"shl.4s", []Operand{V1, Imm(13)}, each(func(a, b uint32) uint32 { return a << 13 })},
	{"ushr.4s", []Operand{V1, Imm(13)}, each(func(a, b uint32) uint32 { return a >> 13 })},
	{"sshr.4s", []Operand{V1, Imm(13)}, each(func(a, b uint32) uint32 { return uint32(int32(a) >> 13) })},
	{"umull.2d", ab, func(d, a, b four) four {
		h0, l0 := bits.Mul32(a[0], b[0])
		h1, l1 := bits.Mul32(a[1], b[1])
		return four{l0, h0, l1, h1}
	}},
	{"umull2.2d", ab, func(d, a, b four) four {
		h0, l0 := bits.Mul32(a[2], b[2])
		h1, l1 := bits.Mul32(a[3], b[3])
		return four{l0, h0, l1, h1}
	}},
	{"sxtl2.2d", ab[:1], func(d, a, b four) four {
		return four{a[2], uint32(int32(a[2]) >> 31), a[3], uint32(int32(a[3]) >> 31)}
	}},
	{"xtn.2s", ab[:1], func(d, a, b four) four { return four{a[0], a[2]} }},

	{"and.16b", ab, each(func(a, b uint32) uint32 { return a & b })},
	{"orr.16b", ab, each(func(a, b uint32) uint32 { return a | b })},
	{"eor.16b", ab, each(func(a, b uint32) uint32 { return a ^ b })},
	{"bic.16b", ab, each(func(a, b uint32) uint32 { return a &^ b })},
	{"mvn.16b", ab[:1], each(func(a, b uint32) uint32 { return ^a })},
	{"bsl.16b", ab, func(d, a, b four) (r four) {
		for i := range r {
			r[i] = a[i]&d[i] | b[i]&^d[i]
		}
		return r
	}},
	{"bit.16b", ab, func(d, a, b four) (r four) {
		for i := range r {
			r[i] = d[i]&^b[i] | a[i]&b[i]
		}
		return r
	}},
	{"zip1.4s", ab, pick4(0, 4, 1, 5)},
	{"zip2.4s", ab, pick4(2, 6, 3, 7)},
	{"uzp1.4s", ab, pick4(0, 2, 4, 6)},
	{"uzp2.4s", ab, pick4(1, 3, 5, 7)},
	{"trn1.4s", ab, pick4(0, 4, 2, 6)},
	{"trn2.4s", ab, pick4(1, 5, 3, 7)},
	{"zip1.2d", ab, pick4(0, 1, 4, 5)},
	{"zip2.2d", ab, pick4(2, 3, 6, 7)},
	{"ext.16b", []Operand{V1, V2, Imm(4)}, pick4(1, 2, 3, 4)},
	{"dup.4s", []Operand{Elem{V1, 3}}, pick4(3, 3, 3, 3)},
	{"movi.4s", []Operand{Imm(0xAB00)}, each(func(a, b uint32) uint32 { return 0xAB00 })},
	{"movi.2d", []Operand{Imm(-1)}, each(func(a, b uint32) uint32 { return math.MaxUint32 })},
}

// inputs are small floats, so that every operation is valid, with some equal ones.
func inputs() [][3]four {
	rng := rand.New(rand.NewPCG(3, 4))
	all := make([][3]four, 8)
	for i := range all {
		for j := range all[i] {
			for k := range all[i][j] {
				all[i][j][k] = math.Float32bits(float32(rng.NormFloat64()) * 100)
			}
		}
		all[i][2][i%4] = all[i][1][i%4]
	}
	return all
}

// conditionCases define each condition after a comparison of a with b.
var conditionCases = map[string]func(a, b int64) bool{
	"eq": func(a, b int64) bool { return a == b },
	"ne": func(a, b int64) bool { return a != b },
	"lt": func(a, b int64) bool { return a < b },
	"le": func(a, b int64) bool { return a <= b },
	"gt": func(a, b int64) bool { return a > b },
	"ge": func(a, b int64) bool { return a >= b },
	"lo": func(a, b int64) bool { return uint64(a) < uint64(b) },
	"ls": func(a, b int64) bool { return uint64(a) <= uint64(b) },
	"hi": func(a, b int64) bool { return uint64(a) > uint64(b) },
	"hs": func(a, b int64) bool { return uint64(a) >= uint64(b) },
	"mi": func(a, b int64) bool { return a-b < 0 },
	"pl": func(a, b int64) bool { return a-b >= 0 },
}

var integers = []int64{0, 1, -1, 5, 1 << 40, math.MinInt64, math.MaxInt64}

// TestRun runs instructions under qemu and compares the results with Go's arithmetic.
func TestRun(t *testing.T) {
	emulator := full.Needs(t, full.QEMU)
	dir := t.TempDir()
	f, calls, want := program()
	writePackage(t, dir, f)
	main := "package main\n\nfunc main() {\n" + calls + "}\n" + `
func show(v [4]uint32) { println(v[0], v[1], v[2], v[3]) }
`
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(main), 0o666); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", "run", ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOARCH=arm64", "GOOS=linux", "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var out bytes.Buffer
	run := exec.Command(emulator, filepath.Join(dir, "run"))
	run.Stderr = &out
	if err := run.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(got) != len(want) {
		t.Fatalf("%d results, want %d", len(got), len(want))
	}
	for i, w := range want {
		if _, numbers, _ := strings.Cut(w, ": "); got[i] != numbers {
			t.Errorf("%s, but qemu has %s", w, got[i])
		}
	}
}

// caller collects functions, the text of their calls, and the lines that they print. Each line
// begins with the name of its test.
type caller struct {
	file  *File
	calls strings.Builder
	want  []string
}

func program() (f *File, calls string, want []string) {
	c := &caller{file: &File{Package: "main", Header: "Code generated by a test. DO NOT EDIT."}}
	for i, v := range vectorCases {
		c.vector(fmt.Sprintf("vector%d", i), v)
	}
	c.memory()
	for condition, holds := range conditionCases {
		c.condition(condition, holds)
	}
	return c.file, c.calls.String(), c.want
}

func (c *caller) vector(name string, v vectorCase) {
	f := NewFunc(name, "", []Parameter{{"d", "*[4]uint32", 8}, {"a", "*[4]uint32", 8}, {"b", "*[4]uint32", 8}}, nil)
	for r, p := range []Param{"d", "a", "b"} {
		f.Op("ldr", Reg(r), p)
		f.Op("ldr.q", Vec(r), At(Reg(r), 0))
	}
	f.Op(v.op, append([]Operand{V0}, v.operands...)...)
	f.Op("str.q", V0, At(R0, 0))
	f.Op("ret")
	c.file.Funcs = append(c.file.Funcs, f)
	array := func(v four) string { return fmt.Sprintf("[4]uint32{%d, %d, %d, %d}", v[0], v[1], v[2], v[3]) }
	for _, in := range inputs() {
		fmt.Fprintf(&c.calls, "\t{ d, a, b := %s, %s, %s; %s(&d, &a, &b); show(d) }\n", array(in[0]), array(in[1]), array(in[2]), name)
		r := v.want(in[0], in[1], in[2])
		c.want = append(c.want, fmt.Sprintf("%s %x: %d %d %d %d", v.op, in, r[0], r[1], r[2], r[3]))
	}
}

// memory reads static data and narrow parameters, and runs the loop of the example.
func (c *caller) memory() {
	table := NewFunc("table", "", []Parameter{{"b", "bool", 1}, {"i", "uint16", 2}}, &Parameter{"", "uint32", 4})
	table.Op("ldrh", R1, Param("i"))
	table.Op("adr", R0, Sym{"words", 4})
	table.Op("ldr.w", R2, AtScaled(R0, R1))
	table.Op("adr", R0, Sym{"words", 0})
	table.Op("and", R0, R0, Imm(15)) // 0, because it is aligned
	table.Op("add.w", R2, R2, R0)
	table.Op("str.w", R2, Param("ret"))
	table.Op("ret")
	e := example()
	c.file.Funcs = append(c.file.Funcs, table, e.Funcs[0])
	c.file.Data = append(e.Data, Data{"words", []uint32{7, 8, 9, 1 << 31}})
	c.calls.WriteString("\tprintln(table(true, 0), table(true, 2))\n")
	c.calls.WriteString("\tnumbers := []float32{1, 2, 4, 8}\n\tprintln(int(sum(&numbers[0], 3, 3, 1, 0)))\n")
	c.want = append(c.want, "table: 8 2147483648", "sum: 21")
}

// condition tests a condition in a jump and in a selection.
func (c *caller) condition(condition string, holds func(a, b int64) bool) {
	for _, how := range []string{"jump", "select"} {
		f := NewFunc(how+strings.ToUpper(condition), "", []Parameter{{"a", "int64", 8}, {"b", "int64", 8}}, &Parameter{"", "int64", 8})
		f.Op("ldr", R0, Param("a"))
		f.Op("ldr", R1, Param("b"))
		f.Op("mov", R2, Imm(1))
		f.Op("cmp", R0, R1)
		if how == "jump" {
			f.Op("b."+condition, Label("end"))
			f.Op("mov", R2, Imm(0))
			f.Mark("end")
		} else {
			f.Op("csel."+condition, R2, R2, ZR)
		}
		f.Op("str", R2, Param("ret"))
		f.Op("ret")
		c.file.Funcs = append(c.file.Funcs, f)
		for _, x := range integers {
			for _, y := range integers {
				fmt.Fprintf(&c.calls, "\tprintln(%s(%d, %d))\n", f.Name, x, y)
				c.want = append(c.want, fmt.Sprintf("%s of %d and %d: %d", f.Name, x, y, yes(holds(x, y))&1))
			}
		}
	}
}
