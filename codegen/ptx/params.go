package ptx

import (
	"slices"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/runtime/abi"
)

// randomScalars are the scalars that random words depend on.
var randomScalars = []string{"seed0", "seed1", "step", "layer"}

// parameters declares the parameters and loads them, in the order that abi.Signature
// documents.
func (p *printer) parameters() {
	f := p.f
	shape := p.buffers()
	var ofStep []abi.Scalar
	for _, name := range p.scalars() {
		s, _ := abi.Find(name)
		if s.Of == abi.OfStep {
			ofStep = append(ofStep, s)
			continue
		}
		if word := abi.ShapeWord(name); word >= 0 && p.launch.Shapes {
			p.vars[name] = f.Load(shape.Plus(abi.WordBytes*word), asm.Word)
			continue
		}
		p.launch.Scalars = append(p.launch.Scalars, name)
		p.vars[name] = f.Param(s.Type.PTX(), name)
		if s.Of == abi.OfReplica {
			p.vars[name] = f.Do("mad.lo.s32", f.Special("%ctaid.y"), f.Param(s.Type.PTX(), name+"$step"), p.vars[name])
		}
	}
	if len(ofStep) > 0 {
		p.launch.Step = true
		block := asm.Global.At("scalars", f.Param("u64", "scalars"))
		for _, s := range ofStep {
			t, _ := kernel.ScalarType(s.Name)
			p.vars[s.Name] = f.Load(block.Plus(abi.WordBytes*abi.StepWord(s.Name)), classOf(t))
		}
	}
}

// buffers declares the buffers and finds their addresses for the block's replica. It returns the
// replica's shape if the entry takes shapes.
func (p *printer) buffers() (shape asm.Address) {
	f := p.f
	of := func(b kernel.Param) (base, step asm.Value) {
		return f.Param("u64", b.Name), f.Param("u64", b.Name+"$step")
	}
	if p.launch.Sets > 1 {
		of = p.ofSet()
	}
	type buffer struct {
		kernel.Param
		base, step asm.Value
	}
	var all []buffer
	for _, b := range p.k.Params {
		if b.Mode != kernel.Scalar {
			base, step := of(b)
			all = append(all, buffer{b, base, step})
		}
	}
	replica := f.Special("%ctaid.y")
	if p.launch.Shapes {
		shape = asm.Global.At("shapes", f.Do("mad.wide.u32", replica, asm.Int(abi.ShapeWords*abi.WordBytes), f.Param("u64", "shapes")))
		replica = f.Load(shape.Plus(abi.WordBytes*(abi.ShapeWords-1)), asm.Word)
	}
	replica = f.Do("cvt.u64.u32", replica)
	for _, b := range all {
		p.slices[b.Name] = address{asm.Global.At(b.Name, f.Do("mad.lo.s64", replica, b.step, b.base)), b.Type}
	}
	return shape
}

// ofSet declares sets of buffers and loads the buffers of the block's set in order.
func (p *printer) ofSet() func(kernel.Param) (base, step asm.Value) {
	bytes := 0
	for _, b := range p.k.Params {
		if b.Mode != kernel.Scalar {
			bytes += abi.RefBytes
		}
	}
	sets := p.f.ParamArray("sets", p.launch.Sets*bytes)
	at := asm.Params.At("sets", p.f.Do("mad.wide.u32", p.f.Special("%ctaid.z"), asm.Int(bytes), sets))
	return func(kernel.Param) (base, step asm.Value) {
		ref := p.f.Loads(at, asm.Wide, 2)
		at = at.Plus(abi.RefBytes)
		return ref[0], ref[1]
	}
}

// scalars lists the scalars of a kernel, including the scalars of its random words.
func (p *printer) scalars() []string {
	var names []string
	for _, s := range p.k.Params {
		if s.Mode == kernel.Scalar {
			names = append(names, s.Name)
		}
	}
	for _, s := range randomScalars {
		if has(p.k.Body, isRandom) && !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	return names
}

const (
	// staticLimit is how much static shared memory tiles may take in addition to a product's:
	// four blocks then fit on a multiprocessor.
	staticLimit = 24 << 10
	tileAlign   = abi.TileAlign
)

// A tile is the place of a kernel's tile, one for the whole block or one for each warp.
type tile struct {
	name    string
	typ     expr.Type
	perWarp bool
	size    *expr.Expr // in bytes, a multiple of tileAlign
}

// place puts tiles of known size into static shared memory up to staticLimit, and the others into
// the launch's scratch.
func (p *printer) place(tiles []kernel.Stmt, own map[string]bool) {
	var late []tile
	used := 0
	for _, n := range tiles {
		a := n.(*kernel.Tile)
		size := ceilDiv(a.Shape[0], tileAlign/kernel.Bytes(a.Type))
		t := tile{a.Name, a.Type, !p.group.whole || own[a.Name], expr.Simplify(expr.New(expr.Mul, size, expr.Int(tileAlign)))}
		bytes := p.bytes(t)
		if !bytes.IsConst() || used+int(bytes.I) > staticLimit {
			late = append(late, t)
			continue
		}
		used += int(bytes.I)
		base := p.f.SharedArray("tile_"+a.Name, max(int(bytes.I), tileAlign))
		if t.perWarp {
			base = p.f.Do("mad.lo.s32", p.warp, asm.Int(t.size.I), base)
		}
		p.slices[a.Name] = address{asm.Shared.At(a.Name, base), a.Type}
	}
	p.launch.Static += used
	if len(late) > 0 {
		p.scratch(late)
	}
}

// bytes returns the size of a tile in a block's memory.
func (p *printer) bytes(t tile) *expr.Expr {
	if !t.perWarp {
		return t.size
	}
	return expr.Simplify(expr.New(expr.Mul, t.size, expr.Int(int64(p.warps))))
}

// scratch places tiles in the launch's scratch, dynamic shared memory or global memory. Generic
// addresses serve both.
func (p *printer) scratch(tiles []tile) {
	f := p.f
	scratch, bytes := f.Param("u64", "scratch"), f.Param("u64", "scratch$bytes")
	replica := f.Special("%ctaid.y")
	if p.launch.Sets > 1 {
		replica = f.Do("mad.lo.s32", f.Special("%ctaid.z"), f.Special("%nctaid.y"), replica)
	}
	block := f.Do("mad.lo.s32", replica, f.Special("%nctaid.x"), f.Special("%ctaid.x"))
	own := f.Do("mad.lo.s64", f.Do("cvt.u64.u32", block), bytes, scratch)
	shared := f.Do("cvta.shared.u64", f.Do("cvt.u64.u32", f.DynamicShared()))
	base := f.Do("selp.b64", shared, own, f.Do("setp.eq.s64", scratch, asm.WideInt(0)))
	sum := expr.Int(0)
	for _, t := range tiles {
		at := f.Do("add.s64", base, f.Do("cvt.u64.u32", p.value(sum)))
		if t.perWarp {
			at = f.Do("mad.wide.u32", p.warp, p.value(t.size), at)
		}
		p.slices[t.name] = address{asm.Generic.At(t.name, at), t.typ}
		sum = expr.Simplify(expr.New(expr.Add, sum, p.bytes(t)))
	}
	p.launch.Scratch = sum
}

// classOf returns the class of registers for a type.
func classOf(t expr.Type) asm.Class {
	switch t {
	case expr.F32:
		return asm.Float
	case expr.Bool:
		return asm.Pred
	case expr.BF16, expr.F16:
		return asm.Half
	}
	return asm.Word
}
