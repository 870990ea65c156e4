// Package asm writes PTX: registers have a class that is checked, each
// instruction used is a row of a table (forms.go), and labels, guards and
// parameters are values. Package codegen/ptx, before it, decides what to write;
// after it come ptxas, the driver or the simulator.
package asm

import (
	"fmt"
	"math"
	"strings"
)

// A Class is a kind of register.
type Class uint8

// The classes, by the letter that forms use.
const (
	Pred  Class = 'p'
	Word  Class = 'r' // 32 bits: integers of any sign
	Float Class = 'f' // 32 bits: a float
	Wide  Class = 'd' // 64 bits: addresses
)

// classes gives each class the type that it is declared and copied with, and the
// prefix of its registers.
var classes = map[Class]struct{ typ, prefix string }{
	Pred:  {"pred", "%p"},
	Word:  {"b32", "%r"},
	Float: {"f32", "%f"},
	Wide:  {"b64", "%d"},
}

// A Value is an operand: a register or a constant.
type Value struct {
	class Class
	text  string
	konst bool
	n     int64 // of an integer constant
}

// Class is the class of a value.
func (v Value) Class() Class { return v.class }

// Valid says whether there is a value: the zero Value is none.
func (v Value) Valid() bool { return v.text != "" }

// Const is the value of an integer constant, and whether v is one.
func (v Value) Const() (int64, bool) { return v.n, v.konst && v.class != Float }

// Int is an integer constant.
func Int(n int64) Value { return Value{Word, fmt.Sprint(n), true, n} }

// WideInt is a 64-bit constant.
func WideInt(n int64) Value { return Value{Wide, fmt.Sprint(n), true, n} }

// F32 is a float constant, exact to the bit.
func F32(x float32) Value {
	return Value{class: Float, text: fmt.Sprintf("0f%08X", math.Float32bits(x)), konst: true}
}

// Space is a state space with its addresses: shared memory has 32-bit ones.
type Space string

// The spaces.
const (
	Global  Space = "global"
	Shared  Space = "shared"
	Generic Space = ""
	Param   Space = "param"
)

// A Label is a place to branch to.
type Label string

// A Func is an entry under construction.
type Func struct {
	Name    string
	Threads int // of a block

	params   []string
	shared   []string
	body     strings.Builder
	count    map[Class]int
	labels   int
	guard    string
	location string
}

// NewFunc begins an entry whose blocks have so many threads.
func NewFunc(name string, threads int) *Func {
	return &Func{Name: name, Threads: threads, count: map[Class]int{}}
}

// Param declares the next parameter, of a type such as u64, and returns its value.
// Its name begins with _: ptxas 12.4 crashes where a parameter is called like an
// entry of the module.
func (f *Func) Param(typ, name string) Value {
	name = "_" + identifier(name)
	f.params = append(f.params, fmt.Sprintf(".param .%s %s", typ, name))
	class := map[string]Class{"u64": Wide, "u32": Word, "f32": Float}[typ]
	v := f.New(class)
	f.line("ld.param.%s %s, [%s];", typ, v.text, name)
	return v
}

// SharedArray declares bytes of static shared memory and returns their address.
func (f *Func) SharedArray(name string, bytes int) Value {
	name = identifier(name)
	f.shared = append(f.shared, fmt.Sprintf(".shared .align 16 .b8 %s[%d];", name, bytes))
	return f.address(name)
}

// identifier is a name in the letters of PTX.
func identifier(name string) string { return strings.ReplaceAll(name, ".", "$") }

// DynamicShared is the address of the dynamic shared memory, which the module
// declares.
func (f *Func) DynamicShared() Value { return f.address(dynamicShared) }

func (f *Func) address(name string) Value {
	v := f.New(Word)
	f.line("mov.u32 %s, %s;", v.text, name)
	return v
}

// New is a fresh register.
func (f *Func) New(c Class) Value {
	f.count[c]++
	return Value{class: c, text: fmt.Sprintf("%s%d", classes[c].prefix, f.count[c])}
}

// Special copies a special register, such as %tid.x.
func (f *Func) Special(name string) Value {
	v := f.New(Word)
	f.line("mov.u32 %s, %s;", v.text, name)
	return v
}

// Do computes an instruction of the table into a fresh register.
func (f *Func) Do(op string, args ...Value) Value {
	v := f.New(formOf(op).dst)
	f.Into(v, op, args...)
	return v
}

// Into computes an instruction of the table into a register.
func (f *Func) Into(dst Value, op string, args ...Value) {
	form := formOf(op)
	if dst.class != form.dst || dst.konst {
		panic(fmt.Sprintf("BUG: %s into %s", op, dst.text))
	}
	if len(args) != len(form.args) {
		panic(fmt.Sprintf("BUG: %s of %d operands", op, len(args)))
	}
	texts := []string{dst.text}
	for i, a := range args {
		if a.class != form.args[i] {
			panic(fmt.Sprintf("BUG: %s: operand %d is %s", op, i, a.text))
		}
		texts = append(texts, a.text)
	}
	f.line("%s %s;", op, strings.Join(texts, ", "))
}

// Move copies a value into a register of its class.
func (f *Func) Move(dst, src Value) {
	if dst.class != src.class || dst.konst {
		panic(fmt.Sprintf("BUG: move of %s into %s", src.text, dst.text))
	}
	f.line("mov.%s %s, %s;", classes[dst.class].typ, dst.text, src.text)
}

// Copy copies a value into a fresh register, which may then change.
func (f *Func) Copy(src Value) Value {
	v := f.New(src.class)
	f.Move(v, src)
	return v
}

// Register returns a value as a register: itself, or a copy of a constant.
func (f *Func) Register(v Value) Value {
	if v.konst {
		return f.Copy(v)
	}
	return v
}

// Load reads a 32-bit element at an address plus bytes.
func (f *Func) Load(s Space, c Class, addr Value, bytes int) Value {
	v := f.New(c)
	f.LoadInto(s, v, addr, bytes)
	return v
}

// LoadInto is Load into registers of one class, as many as a vector has (1, 2 or 4).
func (f *Func) LoadInto(s Space, dst Value, addr Value, bytes int, more ...Value) {
	dsts := append([]Value{dst}, more...)
	f.line("ld%s%s.%s %s, %s;", space(s), vector(dsts), classes[dst.class].typ, list(dsts), memory(s, addr, bytes))
}

// Store writes values of one class, as many as a vector has, at an address plus
// bytes.
func (f *Func) Store(s Space, addr Value, bytes int, src ...Value) {
	for i := range src {
		src[i] = f.Register(src[i])
	}
	f.line("st%s%s.%s %s, %s;", space(s), vector(src), classes[src[0].class].typ, memory(s, addr, bytes), list(src))
}

func space(s Space) string {
	if s == Generic {
		return ""
	}
	return "." + string(s)
}

func vector(vs []Value) string {
	if len(vs) == 1 {
		return ""
	}
	return fmt.Sprintf(".v%d", len(vs))
}

func list(vs []Value) string {
	if len(vs) == 1 {
		return vs[0].text
	}
	var texts []string
	for _, v := range vs {
		texts = append(texts, v.text)
	}
	return "{" + strings.Join(texts, ", ") + "}"
}

func memory(s Space, addr Value, bytes int) string {
	want := Wide
	if s == Shared {
		want = Word
	}
	if addr.class != want || addr.konst {
		panic(fmt.Sprintf("BUG: %s is no address of the space %q", addr.text, s))
	}
	if bytes == 0 {
		return "[" + addr.text + "]"
	}
	return fmt.Sprintf("[%s+%d]", addr.text, bytes)
}

// Shuffle exchanges a value between all lanes of a warp: bfly with the lane whose
// number differs in the bits of by, idx from lane by.
func (f *Func) Shuffle(mode string, v Value, by int) Value {
	got := f.New(v.class)
	f.line("shfl.sync.%s.b32 %s, %s, %d, 31, -1;", mode, got.text, v.text, by)
	return got
}

// Barrier waits for all threads of the block.
func (f *Func) Barrier() { f.line("bar.sync 0;") }

// WarpSync waits for all lanes of the warp, and orders their memory accesses.
func (f *Func) WarpSync() { f.line("bar.warp.sync -1;") }

// Label makes a label; Place puts it here.
func (f *Func) Label() Label {
	f.labels++
	return Label(fmt.Sprintf("$L%d", f.labels))
}

// Place puts a label here.
func (f *Func) Place(l Label) { fmt.Fprintf(&f.body, "%s:\n", l) }

// Branch goes to a label.
func (f *Func) Branch(l Label) { f.line("bra %s;", l) }

// BranchIf goes to a label where a predicate is as wanted.
func (f *Func) BranchIf(p Value, want bool, l Label) {
	f.Guarded(p, want, func() { f.line("bra %s;", l) })
}

// Return ends the thread.
func (f *Func) Return() { f.line("ret;") }

// Guarded writes what do writes under a predicate; without one (the zero Value)
// always.
func (f *Func) Guarded(p Value, want bool, do func()) {
	if !p.Valid() {
		do()
		return
	}
	if p.class != Pred || f.guard != "" {
		panic("BUG: a guard within a guard, or no predicate")
	}
	f.guard = "@" + p.text + " "
	if !want {
		f.guard = "@!" + p.text + " "
	}
	do()
	f.guard = ""
}

// Comment writes a line for readers.
func (f *Func) Comment(text string) { fmt.Fprintf(&f.body, "\t// %s\n", text) }

// Loc says that what follows is for a line of a source file, by the module's
// number of the file.
func (f *Func) Loc(file, line, column int) {
	text := fmt.Sprintf("\t.loc %d %d %d\n", file, line, column)
	if text != f.location {
		f.body.WriteString(text)
		f.location = text
	}
}

func (f *Func) line(format string, args ...any) {
	f.body.WriteString("\t" + f.guard)
	fmt.Fprintf(&f.body, format, args...)
	f.body.WriteByte('\n')
}
