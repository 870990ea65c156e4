package ptx

import (
	"fmt"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A schedule is a way to distribute a kernel over blocks and threads.
type schedule struct {
	name   string
	passes []flat.Pass
	// unfit says why a kernel after the passes does not fit; "" if it fits. Aligned buffers are
	// always at a multiple of 16 bytes.
	unfit func(k *kernel.Kernel, aligned map[string]bool) string
	// threads returns the threads of a block, and whether they are one workgroup.
	threads func(k *kernel.Kernel, g kernel.Geometry) (n int, whole bool)
	pieces  func(k *kernel.Kernel, g kernel.Geometry) string // the work of a block, in words
	// cells prepares a printer for a kernel and returns the cells that workgroups take.
	cells func(p *printer, k *kernel.Kernel) (cells, error)
	// tensor says which products it multiplies on tensor cores, or is nil. A kernel must have
	// one.
	tensor func(s kernel.Stmt) bool
	fours  bool // products over keys come in fours: another order of sums before sm_90
}

// schedules are tried in order; the first that fits applies.
var schedules = []schedule{
	{"mma", flat.GPUProduct(), notMMA, mmaThreads, mmaPieces, (*printer).mmaTiles, forCores, false},
	{"attention", flat.GPUAttention(blockRows), notAttention, attentionThreads, attentionPieces, (*printer).attentions, isNarrow, true},
	{"attention_grad", flat.GPU(blockRows), notAttentionGrad, attentionGradThreads, attentionGradPieces, (*printer).attentionGrads, isNarrow, true},
	{"scatter", flat.GPUProduct(), notScatter, scatterThreads, scatterPieces, (*printer).scatters, nil, false},
	{"product", flat.GPUProduct(), notTiled, tileThreads, tilePieces, (*printer).tiles, nil, false},
	{"columns", flat.GPU(blockRows), notColumns, columnsBlock, columnsPieces, (*printer).columns, nil, false},
	{"pointwise", flat.GPU(blockRows), notPointwise, pointsBlock, pointsPieces, (*printer).points, nil, false},
	{"generic", flat.GPU(blockRows), func(*kernel.Kernel, map[string]bool) string { return "" }, gridThreads, gridPieces, (*printer).grid, nil, false},
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
	_, c := choose(k, o)
	return c
}

func choose(k *kernel.Kernel, o Options) (schedule, Choice) {
	var unfit []string
	if !has(k.Body, forCores) {
		unfit = append(unfit, "tensor cores: it has no product of BF16 or of halves")
	}
	aligned := o.aligned(k)
	for _, s := range schedules {
		if s.tensor != nil && !has(k.Body, s.tensor) {
			continue
		}
		r := flat.Of(k, s.passes)
		why := s.unfit(r, aligned)
		if why == "" {
			return s, Choice{s.name, s.pieces(r, o.geometry(k)), r, unfit}
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

// gridThreads returns fewer threads without products.
func gridThreads(k *kernel.Kernel, _ kernel.Geometry) (n int, whole bool) {
	if whole = needsBlock(k.Body); whole && has(k.Body, isProduct) {
		return productThreads, whole
	}
	return otherThreads, whole
}

func gridPieces(k *kernel.Kernel, g kernel.Geometry) string {
	if n, whole := gridThreads(k, g); whole {
		return fmt.Sprintf("a cell, %d threads", n)
	}
	return "a cell a warp"
}

// grid returns the cells of a kernel's grid, whose tiles get places in memory.
func (p *printer) grid(k *kernel.Kernel) (cells, error) {
	ts := k.Tiles()
	if len(ts) > len(k.Once) {
		return cells{}, fmt.Errorf("tile %s: its size has no bound over the launch's scalars", ts[len(k.Once)].Name)
	}
	for _, t := range ts {
		p.aligned[t.Name] = true
	}
	p.place(k.Once, k.Body)
	if n := stageBytes(k.Body); n > 0 && p.group.whole {
		p.makeStage(n)
	}
	p.waits = p.findWaits(&kernel.For{Var: cellVar, Body: k.Body})
	return cells{kernel.Elements(kernel.Sizes(k.Grid)), func(cell asm.Value) {
		p.set(k.Grid, cell)
		p.nodes(k.Body)
	}}, nil
}
