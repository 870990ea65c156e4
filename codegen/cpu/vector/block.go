package vector

import (
	"maps"
	"math"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// A block is straight-line code over vectors. It is the body of a loop over an axis, or scalar
// code in the first lanes if the axis is empty. Building a block writes the code of values
// that the loop does not change. emit then writes the body, once for each vector of an
// unrolled loop.
type block struct {
	f     *fn
	axis  string
	lanes int

	order    []*value // operands before users
	byExpr   map[*expr.Expr]*value
	byNode   map[node]*value
	elems    map[*expr.Expr]*value // by interned element
	pointers []*pointer
	pending  []pending
	streams  []*stream

	free  int             // registers below it hold values; higher ones are reserved
	steps map[bool][]step // steps of a masked vector (true) and a whole one (false)
	inst  instance
}

// A pending expression is computed once before the loop, into a slot.
type pending struct {
	e   *expr.Expr
	off int
}

type kind uint8

// Kinds before gather are loaded where they are used. Kinds from store on have an effect and
// no result.
const (
	constant kind = iota
	slotted       // a scalar in the frame
	position      // the axis itself
	load          // elements in a row
	cell          // one element, in scalar code
	word          // random words
	gather        // elements at args[0]
	compute
	store // args[0] to elements in a row
	put   // args[0] to one element, in scalar code
	fold  // args[0] into the partials of a reduction
	set   // args[0] to a slot
)

// A node describes a value. Equal nodes of constants, scalars and computations are one value.
type node struct {
	kind kind
	op   expr.Op
	typ  expr.Type  // type of the operands
	mask bool       // a condition
	not  bool       // a comparison is negated
	bits uint32     // bits of a constant
	off  int        // slot; for a fold, the number among sums side by side
	wide bool       // the slot holds a vector
	ptr  *pointer   // pointer to a row
	plus int        // elements from it to the row
	at   *expr.Expr // index of a cell
	fold *folding
	args [3]*value
}

// A value is a node of a block.
type value struct {
	node
	state
	spill int // slot that holds it while the body is written, or none
}

// operands returns the values that a value is computed from.
func (v *value) operands() []*value {
	n := 0
	for n < len(v.args) && v.args[n] != nil {
		n++
	}
	return v.args[:n]
}

// isZero reports whether a value is the constant 0.
func (v *value) isZero() bool { return v.kind == constant && v.bits == 0 }

// A pointer is the address that a loop counts elements from.
type pointer struct {
	slice string
	bytes int        // bytes of an element
	rest  *expr.Expr // interned
	fixed bool       // elements at any index are counted from it
	reg   int        // number of its register for pointers, or none: it is in the slot
	off   int
}

func (f *fn) newBlock(axis string, lanes int) *block {
	return &block{
		f: f, axis: axis, lanes: lanes, free: f.regs,
		byExpr: map[*expr.Expr]*value{},
		byNode: map[node]*value{},
		elems:  map[*expr.Expr]*value{},
		steps:  map[bool][]step{},
	}
}

// add appends a value unless there is an equal one.
func (b *block) add(n node, args ...*value) *value {
	copy(n.args[:], args)
	v := &value{node: n}
	if n.kind <= position || n.kind == compute {
		if equal, ok := b.byNode[n]; ok {
			return equal
		}
		b.byNode[n] = v
	}
	b.order = append(b.order, v)
	return v
}

func (b *block) constant(bits uint32) *value { return b.add(node{kind: constant, bits: bits}) }

func (b *block) compute(op expr.Op, t expr.Type, args ...*value) *value {
	return b.add(node{kind: compute, op: op, typ: t, mask: compares(op) || t == expr.Bool}, args...)
}

// value returns the value of an expression.
func (b *block) value(e *expr.Expr) *value {
	if v, ok := b.byExpr[e]; ok {
		return v
	}
	v := b.build(e)
	b.byExpr[e] = v
	return v
}

func (b *block) build(e *expr.Expr) *value {
	switch {
	case e.Op == expr.Const && e.Type == expr.F32:
		return b.constant(math.Float32bits(float32(e.F)))
	case e.Op == expr.Const && e.Type == expr.Bool:
		return b.slotted(e)
	case e.Op == expr.Const:
		return b.constant(uint32(e.I))
	case e.Op == expr.Var && e.Name == b.axis:
		return b.add(node{kind: position})
	case e.Op == expr.Var:
		return b.slot(e.Type, b.f.variable(e))
	case e.Op == expr.Elem:
		return b.elem(e)
	case b.fixed(e):
		return b.slotted(e)
	}
	return b.operation(e)
}

// fixed reports whether an expression is computed before the block, into a slot.
func (b *block) fixed(e *expr.Expr) bool {
	if b.axis == "" {
		return allGeneral(e)
	}
	return !expr.Depends(e, b.axis)
}

// slot returns the value in a slot.
func (b *block) slot(t expr.Type, off int) *value {
	return b.add(node{kind: slotted, off: off, wide: t == expr.F32, mask: t == expr.Bool})
}

// slotted returns the value of a fixed expression.
func (b *block) slotted(e *expr.Expr) *value {
	off := b.f.slot(e.Type)
	if allGeneral(e) {
		b.f.m.store(e, off)
	} else {
		b.pending = append(b.pending, pending{e, off})
	}
	return b.slot(e.Type, off)
}

// elem returns the value of an element. It reads the element once until it is written.
func (b *block) elem(e *expr.Expr) *value {
	e = b.f.interner.Intern(e)
	v, ok := b.elems[e]
	if !ok {
		v = b.fetch(e)
		b.elems[e] = v
	}
	return v
}

func (b *block) fetch(e *expr.Expr) *value {
	switch {
	case b.axis == "" && e.Type == expr.F32:
		return b.add(node{kind: cell, ptr: &pointer{slice: e.Name, bytes: bytesOf(e.Type)}, at: e.Args[0]})
	case b.fixed(e):
		return b.slotted(e)
	}
	for i, s := range b.streams {
		if s.tile == e.Name {
			return b.add(node{kind: word, off: i})
		}
	}
	p, plus, index := b.locate(e)
	if index == nil {
		return b.add(node{kind: load, ptr: p, plus: plus})
	}
	if e.Type.Narrow() { // a gather would read words
		b.f.fail("what is read of %s, of 16 bits, does not lie in a row", e.Name)
	}
	p.fixed = true
	return b.add(node{kind: gather, ptr: p}, index)
}

// locate returns where an element is: plus elements after a pointer in a row, or at an index
// from the pointer.
func (b *block) locate(e *expr.Expr) (p *pointer, plus int, index *value) {
	coef, rest, affine := expr.Affine(e.Args[0], b.axis)
	switch {
	case !affine:
		return b.pointer(e, expr.Int(0)), 0, b.value(e.Args[0])
	case expr.IsInt(coef, 1):
		rest, plus = constantPart(rest)
		return b.pointer(e, rest), plus, nil
	}
	p = b.pointer(e, rest)
	return p, 0, b.value(expr.New(expr.Mul, expr.NewVar(b.axis, expr.I32), coef))
}

// maxPlus bounds the constant part of an index. In bytes it must fit 32 bits of an
// instruction.
const maxPlus = 1 << 28

// constantPart splits an I32 index, so that rows that differ by a constant share an address.
func constantPart(e *expr.Expr) (rest *expr.Expr, plus int) {
	rest, n := termsOf(e)
	if n < 0 || n >= maxPlus {
		return e, 0
	}
	return expr.Simplify(rest), int(n)
}

func termsOf(e *expr.Expr) (rest *expr.Expr, plus int64) {
	switch e.Op {
	case expr.Const:
		return expr.Int(0), e.I
	case expr.Add, expr.Sub:
		x, m := termsOf(e.Args[0])
		y, n := termsOf(e.Args[1])
		if e.Op == expr.Sub {
			n = -n
		}
		return expr.New(e.Op, x, y), m + n
	case expr.Mul:
		x, y := e.Args[0], e.Args[1]
		if x.Op == expr.Const {
			x, y = y, x
		}
		if y.Op == expr.Const {
			rest, plus = termsOf(x)
			return expr.New(expr.Mul, rest, y), plus * y.I
		}
	}
	return e, 0
}

// pointer returns the pointer to element rest of e's slice.
func (b *block) pointer(e, rest *expr.Expr) *pointer {
	rest = b.f.interner.Intern(rest)
	for _, p := range b.pointers {
		if p.slice == e.Name && p.rest == rest {
			return p
		}
	}
	p := &pointer{slice: e.Name, bytes: bytesOf(e.Type), rest: rest, reg: none}
	b.pointers = append(b.pointers, p)
	return p
}

// assign adds dst = value. In a serial loop, other elements of the slice may change too, so
// they are read again.
func (b *block) assign(dst, e *expr.Expr, serial bool) {
	v := b.value(e)
	if b.axis == "" {
		b.add(node{kind: put, ptr: &pointer{slice: dst.Name, bytes: bytesOf(dst.Type)}, at: dst.Args[0]}, v)
		return
	}
	p, plus, index := b.locate(dst)
	if index != nil {
		b.f.fail("what is set of %s does not lie in a row", dst.Name)
	}
	b.add(node{kind: store, ptr: p, plus: plus}, v)
	clear(b.byExpr)
	if serial {
		maps.DeleteFunc(b.elems, func(e *expr.Expr, _ *value) bool { return e.Name == dst.Name })
	}
	b.elems[b.f.interner.Intern(dst)] = v
}

// operation returns the value of an op whose operands change with the loop.
func (b *block) operation(e *expr.Expr) *value {
	args := make([]*value, len(e.Args))
	for i, a := range e.Args {
		args[i] = b.value(a)
	}
	t := e.Args[0].Type
	switch e.Op {
	case expr.BitsF, expr.FBits, expr.AsU32, expr.AsI32:
		return args[0]
	case expr.AsBF16, expr.AsF16:
		return b.lowerHalf(args[0])
	case expr.Neg:
		if t == expr.F32 {
			return b.compute(expr.Xor, expr.U32, args[0], b.constant(1<<31))
		}
		return b.compute(expr.Sub, t, b.constant(0), args[0])
	case expr.Abs:
		if t == expr.F32 {
			return b.compute(expr.And, expr.U32, args[0], b.constant(1<<31-1))
		}
	case expr.Not:
		if t == expr.Bool {
			return b.not(args[0])
		}
		return b.compute(expr.Xor, expr.U32, args[0], b.constant(math.MaxUint32))
	case expr.Lt, expr.Le, expr.Eq, expr.Ne:
		return b.compare(e.Op, t, args[0], args[1])
	case expr.Where:
		return b.choose(e.Type, args[0], args[1], args[2])
	case expr.Div, expr.Mod:
		if t != expr.F32 {
			return b.divide(e, args[0])
		}
	case expr.ToF32:
		if t == expr.U32 && !b.has(e.Op, t) {
			hi := b.compute(expr.Shr, expr.U32, args[0], b.constant(16))
			lo := b.compute(expr.And, expr.U32, args[0], b.constant(1<<16-1))
			top := b.compute(expr.Mul, expr.F32, b.compute(expr.ToF32, expr.I32, hi), b.constant(math.Float32bits(1<<16)))
			return b.compute(expr.Add, expr.F32, top, b.compute(expr.ToF32, expr.I32, lo))
		}
	case expr.Min, expr.Max:
		if !b.has(e.Op, t) {
			less, greater := args[0], args[1]
			if e.Op == expr.Max {
				less, greater = greater, less
			}
			return b.choose(t, b.compare(expr.Lt, t, less, greater), args[0], args[1])
		}
	case expr.Shl, expr.Shr:
		if args[1].kind != constant {
			args[1] = b.compute(expr.And, expr.U32, args[1], b.constant(31))
		}
	}
	return b.compute(e.Op, t, args...)
}

func (b *block) not(v *value) *value {
	if v.kind == compute && v.op == expr.Not {
		return v.args[0]
	}
	if v.kind == compute && v.typ != expr.Bool && b.negatable(v) {
		n := v.node
		n.not = !n.not
		return b.add(n)
	}
	return b.compute(expr.Not, expr.Bool, v)
}

// negatable reports whether the opposite of a comparison is also one instruction.
func (b *block) negatable(v *value) bool { return b.has(expr.Ne, v.typ) }

// has reports whether there is an instruction for an op.
func (b *block) has(op expr.Op, t expr.Type) bool { return b.f.instruction(op, t) != "" }

// compare returns a comparison. It combines other comparisons if there is no instruction.
func (b *block) compare(op expr.Op, t expr.Type, x, y *value) *value {
	if t == expr.Bool {
		v := b.compute(expr.Xor, t, x, y)
		if op == expr.Eq {
			v = b.not(v)
		}
		return v
	}
	if b.has(op, t) {
		return b.compute(op, t, x, y)
	}
	switch op {
	case expr.Ne:
		return b.not(b.compare(expr.Eq, t, x, y))
	case expr.Le: // of integers
		return b.not(b.compare(expr.Lt, t, y, x))
	}
	return b.compute(expr.Lt, expr.I32, b.flipped(x), b.flipped(y))
}

// flipped changes the sign bit, which orders unsigned integers as signed ones.
func (b *block) flipped(v *value) *value {
	if v.kind == constant {
		return b.constant(v.bits ^ 1<<31)
	}
	return b.compute(expr.Xor, expr.U32, v, b.constant(1<<31))
}

func (b *block) choose(t expr.Type, c, x, y *value) *value {
	if t == expr.Bool {
		return b.compute(expr.Or, t, b.compute(expr.And, t, c, x), b.compute(expr.And, t, b.not(c), y))
	}
	inverse := c.kind == compute && c.op == expr.Not
	direct := c.kind == compute && c.typ != expr.Bool && b.negatable(c)
	if inverse || direct && x.isZero() && !y.isZero() {
		c, x, y = b.not(c), y, x
	}
	return b.compute(expr.Where, t, c, x, y)
}

// divide truncates. It shifts if the divisor is a power of two, and otherwise divides in
// float64.
func (b *block) divide(e *expr.Expr, x *value) *value {
	const i, u = expr.I32, expr.U32
	if k, power := log2(e.Args[1]); power {
		by, rest := b.constant(uint32(k)), b.constant(1<<k-1)
		switch {
		case e.Type == u && e.Op == expr.Div:
			return b.compute(expr.Shr, u, x, by)
		case e.Type == u:
			return b.compute(expr.And, u, x, rest)
		}
		bias := b.compute(expr.And, u, b.compute(expr.Shr, i, x, b.constant(31)), rest)
		sum := b.compute(expr.Add, u, x, bias)
		if e.Op == expr.Div {
			return b.compute(expr.Shr, i, sum, by)
		}
		return b.compute(expr.Sub, u, b.compute(expr.And, u, sum, rest), bias)
	}
	if e.Type == u {
		b.f.fail("no division of U32 by other than powers of two")
	}
	y := b.value(e.Args[1])
	q := b.compute(expr.Div, i, x, y)
	if e.Op == expr.Div {
		return q
	}
	return b.compute(expr.Sub, u, x, b.compute(expr.Mul, u, q, y))
}

// prepare writes the code before a loop: values that the loop does not change, and pointers.
func (b *block) prepare() {
	b.prune()
	b.f.scalars(b.pending)
	b.f.m.pointers(b.pointers)
}

// write writes scalar code.
func (b *block) write() {
	b.prepare()
	b.emit(instance{})
}

// prune drops values that nothing needs, such as comparisons that were negated.
func (b *block) prune() {
	live := map[*value]bool{}
	for _, v := range slices.Backward(b.order) {
		if v.kind >= store || live[v] {
			live[v] = true
			for _, x := range v.operands() {
				live[x] = true
			}
		}
	}
	b.order = slices.DeleteFunc(b.order, func(v *value) bool { return !live[v] })
}

// scalars computes expressions into slots, in one block.
func (f *fn) scalars(es []pending) {
	if len(es) == 0 {
		return
	}
	b := f.newBlock("", 4)
	for _, e := range es {
		b.add(node{kind: set, typ: e.e.Type, off: e.off}, b.value(e.e))
	}
	b.write()
}

// scalarTo computes an expression into a slot.
func (f *fn) scalarTo(e *expr.Expr, off int) {
	if allGeneral(e) {
		f.m.store(e, off)
		return
	}
	f.scalars([]pending{{e, off}})
}
