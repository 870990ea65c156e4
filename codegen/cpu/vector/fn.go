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

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/depend"
)

// The frame has slots of 8 bytes for integers and of 64 for vectors.
const (
	intBytes = 1 << 11
	slotInt  = 8
	slotVec  = 64
)

// A place is where a scalar lives in the frame: a vector of copies (F32), or an integer of
// 8 bytes, sign-extended (I32), zero-extended (U32 and 16 bits) or 0 and -1 (Bool).
type place struct {
	typ expr.Type
	off int
}

// A fn writes one function.
type fn struct {
	isa      *isa
	pool     pool
	stmts    []kernel.Stmt // of the vector kernel
	out      *ir.Function
	slices   map[string]operand.Mem // parameters
	vars     map[string]place
	lets     map[string]*expr.Expr // what the integers in scope stand for
	touched  map[kernel.Stmt][]depend.Access
	interner *expr.Interner
	ints     int // bytes of the frame in use
	vecs     int
	keys     int // place of the round keys of random words
	labels   int
	err      error // the first reason why the vector kernel cannot be compiled
}

// compile writes the functions of a vector kernel, one for each instruction set.
func compile(l *Kernel, p pool) ([]*ir.Function, error) {
	body := (&hoister{}).nodes(kernel.RewriteAll(l.Body, expr.Expand))
	var out []*ir.Function
	for _, s := range []*isa{avx512, avx2} {
		f := newFn(l, s, p)
		f.randomKeys(body)
		f.stmts = body
		f.body(body)
		f.op("VZEROUPPER")
		f.op("RET")
		if f.err != nil {
			return nil, f.err
		}
		out = append(out, f.out)
	}
	return out, nil
}

// newFn begins the function of a vector kernel for an instruction set.
func newFn(l *Kernel, s *isa, p pool) *fn {
	f := &fn{
		isa: s, pool: p,
		out:      ir.NewFunction(l.Name + s.name),
		slices:   map[string]operand.Mem{},
		vars:     map[string]place{},
		lets:     map[string]*expr.Expr{},
		touched:  map[kernel.Stmt][]depend.Access{},
		interner: expr.NewInterner(),
		vecs:     intBytes,
	}
	f.out.Attributes = attr.NOSPLIT
	f.out.Doc = []string{f.out.Name + " " + l.Doc}
	f.out.AddPragma("noescape")
	f.parameters(l)
	return f
}

// fail notes why the vector kernel cannot be compiled; the code written is of no use.
func (f *fn) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

// goTypes are the types of parameters, and the instruction that loads a value.
var goTypes = map[expr.Type]struct {
	value, elem types.BasicKind
	bytes       int
	load        string
}{
	expr.F32:  {types.Float32, types.Float32, 4, "VBROADCASTSS"},
	expr.I32:  {types.Int, types.Int32, 8, "MOVQ"},
	expr.U32:  {types.Uint32, types.Uint32, 4, "MOVL"},
	expr.BF16: {elem: types.Uint16},
	expr.F16:  {elem: types.Uint16},
}

// parameters declares the signature, and copies scalars to the frame, where all
// code finds them.
func (f *fn) parameters(l *Kernel) {
	var params []*types.Var
	used := map[string]bool{}
	at := 0
	add := func(name string, t types.Type, bytes int) operand.Mem {
		name = strings.ReplaceAll(name, ".", "_")
		// Registers have upper-case names, and g.
		for used[name] || token.IsKeyword(name) || name == "g" || len(name) > 1 && strings.ToUpper(name) == name {
			name += "_"
		}
		used[name] = true
		params = append(params, types.NewParam(token.NoPos, nil, name, t))
		at = (at + bytes - 1) &^ (bytes - 1)
		at += bytes
		return operand.NewParamAddr(name, at-bytes)
	}
	f.op("MOVQ", add("frame", types.NewPointer(types.Typ[types.Byte]), 8), frameReg)
	for _, s := range l.Slices {
		if _, twice := f.slices[s.Name]; twice || s.Type == expr.Bool {
			f.fail("slice %s is no parameter", s.Name)
			return
		}
		f.slices[s.Name] = add(s.Name, types.NewPointer(types.Typ[goTypes[s.Type].elem]), 8)
	}
	for _, v := range l.Values {
		if v.Type == expr.Bool || v.Type.Narrow() {
			f.fail("value %s is %v", v.Name, v.Type)
			return
		}
		t := goTypes[v.Type]
		r, store := reg.Register(tempReg), "MOVQ"
		if v.Type == expr.F32 {
			r, store = f.full(0), "VMOVUPS"
		}
		f.op(t.load, add(v.Name, types.Typ[t.value], t.bytes), r)
		f.op(store, r, f.at(f.bind(v.Name, v.Type)))
	}
	f.out.SetSignature(gotypes.NewSignature(nil, types.NewSignatureType(nil, nil, nil, types.NewTuple(params...), nil, false)))
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
	next, bytes, end := &f.ints, slotInt, intBytes
	if t == expr.F32 {
		next, bytes, end = &f.vecs, slotVec, FrameBytes
	}
	if *next+bytes > end {
		f.fail("too many values for the frame")
		return 0
	}
	*next += bytes
	return *next - bytes
}

// bind gives a scalar a place, at an offset into the frame.
func (f *fn) bind(name string, t expr.Type) int {
	p := place{t, f.slot(t)}
	f.vars[name] = p
	return p.off
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
		f.fail("%s is no slice of the vector kernel", name)
	}
	f.op("MOVQ", m, to)
}
