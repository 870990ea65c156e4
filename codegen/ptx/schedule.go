package ptx

import (
	"fmt"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/attention"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/codegen/ptx/generic"
	"github.com/arithlang/mlc/codegen/ptx/product"
	"github.com/arithlang/mlc/codegen/ptx/rows"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// build makes the instructions of a kernel. Passes shorten them later.
func build(k *kernel.Kernel, m *asm.Module, o Options) (*asm.Func, Entry, error) {
	l := o.launches(k)
	s, how, c := choose(k, l)
	if tiles, once := c.Flat.Tiles(), len(c.Flat.Once); len(tiles) > once { // no schedule but the generic one takes these
		return nil, Entry{}, fmt.Errorf("tile %s: its size has no bound over the launch's scalars", tiles[once].Name)
	}
	f, launch := emit.Build(c.Flat, m, how, l)
	return f, Entry{Name: k.Name, Launch: launch, Tensor: s.tensor != nil, Fours: s.fours, Row: s.name, Gemm: gemmOf(c.Flat)}, nil
}

// A schedule is a way to distribute a kernel over blocks and threads.
type schedule struct {
	name   string
	kind   string // the tensor op of its kernels; empty: any
	passes []flat.Pass
	// match plans a kernel after the passes, or says why it does not fit.
	match func(k *kernel.Kernel, l emit.Launches) (p emit.Plan, why string)
	// tensor says which products it multiplies on tensor cores, or is nil. A kernel must have
	// one.
	tensor func(s kernel.Stmt) bool
	fours  bool // products over keys come in fours: another order of sums before sm_90
}

// blockRows is how many rows of a product a block takes. Cells of more, which suit a processor's
// caches, would leave most of a GPU idle.
const blockRows = 64

// The passes that several schedules share.
var (
	forTiles = flat.GPUProduct()
	forRows  = flat.GPU(blockRows)
)

// schedules are tried in order; the first that fits applies.
var schedules = []schedule{
	{"mma", "", forTiles, product.PlanCores, forCores, false},
	{"attention", "attention", flat.GPUAttention(blockRows), attention.Plan, isNarrow, true},
	{"attention_grad", "attention_grad", forRows, attention.PlanGrad, isNarrow, true},
	{"attention_f32", "attention", forRows, attention.PlanWide, nil, false},
	{"attention_grad_f32", "attention_grad", forRows, attention.PlanWideGrad, nil, false},
	{"scatter", "", forTiles, product.PlanScatter, nil, false},
	{"product", "", forTiles, product.PlanTiles, nil, false},
	{"columns", "", forRows, rows.PlanColumns, nil, false},
	{"pointwise", "", forRows, rows.PlanPoints, nil, false},
	{"generic", "", forRows, generic.Plan, nil, false},
}

// A Choice is the schedule of a kernel.
type Choice struct {
	Name   string
	Pieces string         // the work of a block, in words
	Flat   *kernel.Kernel // after the passes of the schedule
	Unfit  []string       // why earlier schedules do not fit, in order
}

// Choose finds the schedule of a kernel.
func Choose(k *kernel.Kernel, o Options) Choice {
	_, _, c := choose(k, o.launches(k))
	return c
}

func choose(k *kernel.Kernel, l emit.Launches) (schedule, emit.Plan, Choice) {
	var unfit []string
	if !kernel.Has(k.Body, forCores) {
		unfit = append(unfit, "tensor cores: it has no product of BF16 or of halves")
	}
	after := map[*flat.Pass]*kernel.Kernel{} // by the first pass
	for _, s := range schedules {
		if s.kind != "" && s.kind != k.Kind || s.tensor != nil && !kernel.Has(k.Body, s.tensor) {
			continue
		}
		first := &s.passes[0]
		if after[first] == nil {
			after[first] = flat.Of(k, s.passes)
		}
		r := after[first]
		p, why := s.match(r, l)
		if why == "" {
			return s, p, Choice{s.name, p.Pieces, r, unfit}
		}
		unfit = append(unfit, s.name+": "+why)
	}
	panic("BUG: no schedule")
}

// isNarrow reports whether a statement is a product of BF16 factors.
func isNarrow(s kernel.Stmt) bool { return emit.IsProduct(s) && s.(*kernel.Dot).A.Type == expr.BF16 }

// forCores reports whether a statement is a product of BF16, or of halves of F32.
func forCores(s kernel.Stmt) bool { return isNarrow(s) || emit.IsProduct(s) && s.(*kernel.Dot).Split }
