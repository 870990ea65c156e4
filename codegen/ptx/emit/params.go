package emit

import (
	"slices"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/scalars"
	"github.com/arithlang/mlc/runtime/abi"
)

// randomScalars are the scalars that random words depend on.
var randomScalars = []string{"seed0", "seed1", "step", "layer"}

// parameters declares the parameters and loads them, in the order that abi.Signature
// documents.
func (p *Builder) parameters() {
	f := p.F
	shape := p.buffers()
	var ofStep []abi.Scalar
	for _, name := range p.scalars() {
		s, _ := scalars.Find(name)
		if s.Of == abi.OfStep {
			ofStep = append(ofStep, s)
			continue
		}
		if word := abi.ShapeWord(name); word >= 0 && p.Launch.Shapes {
			p.Vars[name] = f.Load(shape.Plus(abi.WordBytes*word), asm.Word)
			continue
		}
		p.Launch.Scalars = append(p.Launch.Scalars, name)
		p.Vars[name] = f.Param(s.Type.PTX(), name)
		if s.Of == abi.OfReplica {
			p.Vars[name] = f.Do("mad.lo.s32", f.Special("%ctaid.y"), f.Param(s.Type.PTX(), name+"$step"), p.Vars[name])
		}
	}
	if len(ofStep) > 0 {
		p.Launch.Step = true
		block := asm.Global.At("scalars", f.Param("u64", "scalars"))
		for _, s := range ofStep {
			t, _ := kernel.ScalarType(s.Name)
			p.Vars[s.Name] = f.Load(block.Plus(abi.WordBytes*abi.StepWord(s.Name)), ClassOf(t))
		}
	}
}

// buffers declares the buffers and finds their addresses for the block's replica. It returns the
// replica's shape if the entry takes shapes.
func (p *Builder) buffers() (shape asm.Address) {
	f := p.F
	of := func(b kernel.Param) (base, step asm.Value) {
		return f.Param("u64", b.Name), f.Param("u64", b.Name+"$step")
	}
	if p.Launch.Sets > 1 {
		of = p.ofSet()
	}
	type buffer struct {
		kernel.Param
		base, step asm.Value
	}
	var all []buffer
	for _, b := range p.K.Params {
		if b.Mode != kernel.Scalar {
			base, step := of(b)
			all = append(all, buffer{b, base, step})
		}
	}
	replica := f.Special("%ctaid.y")
	if p.Launch.Shapes {
		shape = asm.Global.At("shapes", f.Do("mad.wide.u32", replica, asm.Int(abi.ShapeWords*abi.WordBytes), f.Param("u64", "shapes")))
		replica = f.Load(shape.Plus(abi.WordBytes*(abi.ShapeWords-1)), asm.Word)
	}
	replica = f.Do("cvt.u64.u32", replica)
	for _, b := range all {
		p.Slices[b.Name] = Address{asm.Global.At(b.Name, f.Do("mad.lo.s64", replica, b.step, b.base)), b.Type}
	}
	return shape
}

// ofSet declares sets of buffers and loads the buffers of the block's set in order.
func (p *Builder) ofSet() func(kernel.Param) (base, step asm.Value) {
	bytes := 0
	for _, b := range p.K.Params {
		if b.Mode != kernel.Scalar {
			bytes += abi.RefBytes
		}
	}
	sets := p.F.ParamArray("sets", p.Launch.Sets*bytes)
	at := asm.Params.At("sets", p.F.Do("mad.wide.u32", p.F.Special("%ctaid.z"), asm.Int(bytes), sets))
	return func(kernel.Param) (base, step asm.Value) {
		ref := p.F.Loads(at, asm.Wide, 2)
		at = at.Plus(abi.RefBytes)
		return ref[0], ref[1]
	}
}

// scalars lists the scalars of a kernel, including the scalars of its random words.
func (p *Builder) scalars() []string {
	var names []string
	for _, s := range p.K.Params {
		if s.Mode == kernel.Scalar {
			names = append(names, s.Name)
		}
	}
	for _, s := range randomScalars {
		if kernel.Has(p.K.Body, kernel.Is[*kernel.Random]) && !slices.Contains(names, s) {
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

// Place puts tiles of known size into static shared memory, up to staticLimit and within the limit of
// a kernel, and the others into the launch's scratch.
func (p *Builder) Place(tiles []kernel.Stmt, own map[string]bool) {
	var late []tile
	used, room := 0, min(staticLimit, asm.MostStatic-p.Launch.Static)
	for _, n := range tiles {
		a := n.(*kernel.Tile)
		size := kernel.CeilDiv(a.Shape[0], int64(tileAlign/kernel.Bytes(a.Type)))
		t := tile{a.Name, a.Type, !p.Group.Whole || own[a.Name], expr.Simplify(expr.New(expr.Mul, size, expr.Int(tileAlign)))}
		bytes := p.bytes(t)
		if !bytes.IsConst() || used+int(bytes.I) > room {
			late = append(late, t)
			continue
		}
		used += int(bytes.I)
		base := p.F.SharedArray("tile_"+a.Name, max(int(bytes.I), tileAlign))
		if t.perWarp {
			base = p.F.Do("mad.lo.s32", p.Warp, asm.Int(t.size.I), base)
		}
		p.Slices[a.Name] = Address{asm.Shared.At(a.Name, base), a.Type}
	}
	p.Launch.Static += used
	if len(late) > 0 {
		p.scratch(late)
	}
}

// bytes returns the size of a tile in a block's memory.
func (p *Builder) bytes(t tile) *expr.Expr {
	if !t.perWarp {
		return t.size
	}
	return expr.Simplify(expr.New(expr.Mul, t.size, expr.Int(int64(p.Warps))))
}

// scratch places tiles in the launch's scratch, dynamic shared memory or global memory. Generic
// addresses serve both.
func (p *Builder) scratch(tiles []tile) {
	f := p.F
	scratch, bytes := f.Param("u64", "scratch"), f.Param("u64", "scratch$bytes")
	replica := f.Special("%ctaid.y")
	if p.Launch.Sets > 1 {
		replica = f.Do("mad.lo.s32", f.Special("%ctaid.z"), f.Special("%nctaid.y"), replica)
	}
	block := f.Do("mad.lo.s32", replica, f.Special("%nctaid.x"), f.Special("%ctaid.x"))
	own := f.Do("mad.lo.s64", f.Do("cvt.u64.u32", block), bytes, scratch)
	shared := f.Do("cvta.shared.u64", f.Do("cvt.u64.u32", f.DynamicShared()))
	base := f.Do("selp.b64", shared, own, f.Do("setp.eq.s64", scratch, asm.WideInt(0)))
	sum := expr.Int(0)
	for _, t := range tiles {
		at := f.Do("add.s64", base, f.Do("cvt.u64.u32", p.Value(sum)))
		if t.perWarp {
			at = f.Do("mad.wide.u32", p.Warp, p.Value(t.size), at)
		}
		p.Slices[t.name] = Address{asm.Generic.At(t.name, at), t.typ}
		sum = expr.Simplify(expr.New(expr.Add, sum, p.bytes(t)))
	}
	p.Launch.Scratch = sum
}

// ClassOf returns the class of registers for a type.
func ClassOf(t expr.Type) asm.Class {
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
