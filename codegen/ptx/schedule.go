package ptx

import (
	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/kernel"
)

// build makes the instructions of a kernel. Passes shorten them later.
func build(k *kernel.Kernel, m *asm.Module, o Options) (*asm.Func, Entry, error) {
	l := o.launches(k)
	s, how, c := choose(k, l)
	f, launch, err := print(c.Flat, m, how, l)
	return f, Entry{Name: k.Name, launch: launch, Tensor: s.tensor != nil, Fours: s.fours, Row: s.name, Gemm: gemmOf(c.Flat)}, err
}

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
	_, _, c := choose(k, o.launches(k))
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
