package ptx

import (
	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A schedule is a way to distribute a kernel over blocks and threads.
type schedule struct {
	name   string
	passes []flat.Pass
	// match plans a kernel after the passes, or says why it does not fit.
	match func(k *kernel.Kernel, l launches) (p plan, why string)
	// tensor says which products it multiplies on tensor cores, or is nil. A kernel must have
	// one.
	tensor func(s kernel.Stmt) bool
	fours  bool // products over keys come in fours: another order of sums before sm_90
}

// launches holds what is known of the launches of a kernel.
type launches struct {
	kernel.Geometry
	aligned map[string]bool // buffers that are always at a multiple of 16 bytes
}

// A plan is how blocks compute a kernel.
type plan struct {
	threads int    // of a block
	whole   bool   // a block is one workgroup; else each of its warps is one
	pieces  string // the work of a block, in words
	// cells prepares a printer and returns the cells that workgroups take.
	cells func(p *printer) (cells, error)
}

// schedules are tried in order; the first that fits applies.
var schedules = []schedule{
	{"mma", flat.GPUProduct(), planMMA, forCores, false},
	{"attention", flat.GPUAttention(blockRows), planAttention, isNarrow, true},
	{"attention_grad", flat.GPU(blockRows), planAttentionGrad, isNarrow, true},
	{"scatter", flat.GPUProduct(), planScatter, nil, false},
	{"product", flat.GPUProduct(), planTiles, nil, false},
	{"columns", flat.GPU(blockRows), planColumns, nil, false},
	{"pointwise", flat.GPU(blockRows), planPoints, nil, false},
	{"generic", flat.GPU(blockRows), planGrid, nil, false},
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
	_, _, c := choose(k, launches{o.geometry(k), o.aligned(k)})
	return c
}

func choose(k *kernel.Kernel, l launches) (schedule, plan, Choice) {
	var unfit []string
	if !has(k.Body, forCores) {
		unfit = append(unfit, "tensor cores: it has no product of BF16 or of halves")
	}
	for _, s := range schedules {
		if s.tensor != nil && !has(k.Body, s.tensor) {
			continue
		}
		r := flat.Of(k, s.passes)
		p, why := s.match(r, l)
		if why == "" {
			return s, p, Choice{s.name, p.pieces, r, unfit}
		}
		unfit = append(unfit, s.name+": "+why)
	}
	panic("BUG: no schedule")
}

// cells are the units of work that are distributed to workgroups.
type cells struct {
	count *expr.Expr
	body  func(cell asm.Value) // runs one cell in a workgroup
}
