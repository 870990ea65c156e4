package vector

import (
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/compiler/expr"
)

// The frame has slots of 8 bytes for integers and of 64 for vectors.
const (
	intBytes = 1 << 11
	slotInt  = 8
	slotVec  = 64
)

// A place is where a scalar lives in the frame: a vector of copies (F32), or an
// integer of 8 bytes, sign-extended (I32), zero-extended (U32) or 0 and -1 (Bool).
type place struct {
	typ expr.Type
	off int
}

// A fn writes one function.
type fn struct {
	isa      *isa
	pool     pool
	leaf     *Leaf
	out      *ir.Function
	slices   map[string]operand.Mem // parameters
	vars     map[string]place
	lets     map[string]*expr.Expr // what the names in scope stand for
	interner *expr.Interner
	ints     int // bytes of the frame in use
	vecs     int
	keys     int // place of the round keys of random words
	labels   int
	err      error // the first reason why the leaf cannot be compiled
}

// compile writes the functions of a leaf, one for each instruction set.
func compile(l *Leaf, p pool) ([]*ir.Function, error) {
	var body []flat.Node
	for _, n := range l.Body {
		body = append(body, mapExpressions(n, expr.Expand))
	}
	body = (&hoister{}).nodes(body)
	var out []*ir.Function
	for _, s := range []*isa{avx512, avx2} {
		f, err := compileFor(l, body, s, p)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// newFn begins the function of a leaf for an instruction set.
func newFn(l *Leaf, s *isa, p pool) *fn {
	return &fn{
		isa: s, pool: p, leaf: l,
		out:      ir.NewFunction(l.Name + s.name),
		slices:   map[string]operand.Mem{},
		vars:     map[string]place{},
		lets:     map[string]*expr.Expr{},
		interner: expr.NewInterner(),
		vecs:     intBytes,
	}
}

// compileFor writes the function of a leaf for an instruction set.
func compileFor(l *Leaf, body []flat.Node, s *isa, p pool) (*ir.Function, error) {
	f := newFn(l, s, p)
	f.out.Attributes = attr.NOSPLIT
	f.out.Doc = []string{f.out.Name + " " + l.Doc}
	f.out.AddPragma("noescape")
	f.parameters()
	f.randomKeys()
	f.body(body)
	f.op("VZEROUPPER")
	f.op("RET")
	return f.out, f.err
}

// fail notes why the leaf cannot be compiled; the code written is of no use.
func (f *fn) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

// goTypes are the types of parameters.
var goTypes = map[expr.Type]struct {
	value types.BasicKind
	elem  types.BasicKind
	bytes int
}{
	expr.F32: {types.Float32, types.Float32, 4},
	expr.I32: {types.Int, types.Int32, 8},
	expr.U32: {types.Uint32, types.Uint32, 4},
}

// parameters declares the signature, and copies scalars to the frame, where all
// code finds them.
func (f *fn) parameters() {
	var params []*types.Var
	used := map[string]bool{}
	add := func(name string, t types.Type) string { // registers have upper-case names, and g
		name = strings.ReplaceAll(name, ".", "_")
		for used[name] || token.IsKeyword(name) || name == "g" || len(name) > 1 && strings.ToUpper(name) == name {
			name += "_"
		}
		used[name] = true
		params = append(params, types.NewParam(token.NoPos, nil, name, t))
		return name
	}
	at := 8
	f.op("MOVQ", operand.NewParamAddr(add("frame", types.NewPointer(types.Typ[types.Byte])), 0), frameReg)
	for _, s := range f.leaf.Slices {
		if _, twice := f.slices[s.Name]; twice || s.Type == expr.Bool {
			f.fail("slice %s is no parameter", s.Name)
			return
		}
		name := add(s.Name, types.NewPointer(types.Typ[goTypes[s.Type].elem]))
		f.slices[s.Name] = operand.NewParamAddr(name, at)
		at += 8
	}
	for _, v := range f.leaf.Values {
		if v.Type == expr.Bool {
			f.fail("value %s is bool", v.Name)
			return
		}
		t := goTypes[v.Type]
		name := add(v.Name, types.Typ[t.value])
		at = (at + t.bytes - 1) &^ (t.bytes - 1)
		f.receive(v, operand.NewParamAddr(name, at))
		at += t.bytes
	}
	f.out.SetSignature(gotypes.NewSignature(nil, types.NewSignatureType(nil, nil, nil, types.NewTuple(params...), nil, false)))
}

// receive copies a scalar parameter to the frame.
func (f *fn) receive(v Value, from operand.Mem) {
	p := f.bind(v.Name, v.Type)
	switch v.Type {
	case expr.F32:
		f.op("VBROADCASTSS", from, f.full(0))
		f.op("VMOVUPS", f.full(0), f.at(p.off))
	case expr.U32:
		f.op("MOVL", from, tempReg)
		f.op("MOVQ", tempReg, f.at(p.off))
	default:
		f.op("MOVQ", from, tempReg)
		f.op("MOVQ", tempReg, f.at(p.off))
	}
}

// op writes an instruction, the destination last.
func (f *fn) op(name string, operands ...operand.Op) {
	f.out.AddInstruction(&ir.Instruction{Opcode: name, Operands: operands})
}

// jump writes a jump to a label.
func (f *fn) jump(name, label string) { f.op(name, operand.LabelRef(label)) }

// label returns a new label.
func (f *fn) label(what string) string {
	f.labels++
	return fmt.Sprintf("%s%d", what, f.labels)
}

func (f *fn) mark(label string) { f.out.AddLabel(ir.Label(label)) }

// at is a place in the frame.
func (f *fn) at(off int) operand.Mem { return operand.Mem{Base: frameReg, Disp: off} }

// full is the widest vector register n.
func (f *fn) full(n int) reg.Register { return vec(n, f.isa.lanes) }

// constant is the operand of a constant, for the suffix that broadcasts.
func (f *fn) constant(bits uint32) operand.Mem {
	if f.isa == avx512 {
		return f.pool.constant(bits)
	}
	return f.pool.all(bits)
}

// slot takes a part of the frame.
func (f *fn) slot(t expr.Type) int {
	if t == expr.F32 {
		return f.vector()
	}
	f.ints += slotInt
	if f.ints > intBytes {
		f.fail("too many integers for the frame")
		f.ints = slotInt
	}
	return f.ints - slotInt
}

// vector takes the part of the frame for a vector.
func (f *fn) vector() int {
	f.vecs += slotVec
	if f.vecs > FrameBytes {
		f.fail("too many values for the frame")
		f.vecs = intBytes + slotVec
	}
	return f.vecs - slotVec
}

// bind gives a scalar a place.
func (f *fn) bind(name string, t expr.Type) place {
	p := place{t, f.slot(t)}
	f.vars[name] = p
	return p
}

// scope writes code whose names and slots nobody after it uses.
func (f *fn) scope(write func()) {
	vars, ints, vecs := maps.Clone(f.vars), f.ints, f.vecs
	write()
	f.vars, f.ints, f.vecs = vars, ints, vecs
}

// sliceBase loads the address of a slice.
func (f *fn) sliceBase(name string, to reg.Register) {
	m, ok := f.slices[name]
	if !ok {
		f.fail("%s is no slice of the leaf", name)
		return
	}
	f.op("MOVQ", m, to)
}
