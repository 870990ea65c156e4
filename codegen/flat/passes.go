// Package flat brings kernels from the form in which package lower writes them into
// the one that back ends print: tiles are read in place or made once for all cells,
// every array has one index, products go straight to their buffers, and what nothing
// reads is dropped. All of it is kernel IR (package kernel), and its interpreter
// gives the same bits after each pass. Packages codegen/cpu (Go), codegen/cpu/vector
// (assembly) and codegen/ptx come after it.
package flat

import (
	"slices"

	"github.com/arithlang/mlc/compiler/kernel"
)

// A Pass is one rewrite on the way from a kernel to what a back end prints. It
// returns a kernel of its own, or the one that it got where there is nothing to do.
type Pass struct {
	Name  string
	Why   string
	After []string // passes that must come before
	run   func(k *kernel.Kernel) *kernel.Kernel
}

// Processor are the passes of the processor's schedule, in order.
func Processor() []Pass {
	return onProcessor(
		Pass{Name: "widen", Why: "Go and assembly multiply F32 and BF16 alone", After: []string{"inplace", "zero"}, run: widen},
		Pass{Name: "heads", Why: "where the rows of a window are is the same for all heads of a row; only tiles that are left may need one for each", After: []string{"inplace"}, run: togetherHeads},
		Pass{Name: "strips", Why: "behind a row's random words a processor does not see the next row's reductions", After: []string{"heads"}, run: strips},
		Pass{Name: "finish", Why: "a tile between a product and its buffer would take the place of both in a cache", After: []string{"inplace", "zero", "through"}, run: finish},
	)
}

// Lanes are the passes of the processor's schedule for n models at once.
func Lanes(n int) []Pass {
	return onProcessor(
		Pass{Name: "lanes", Why: "an element of many models fills vectors, whatever the shapes of one are; what copies and clears of one is gone by then", After: []string{"inplace", "zero", "through"}, run: inLanes(n)},
		Pass{Name: "rows", Why: "a row of many models is long, and is best done with before the next", After: []string{"lanes"}, run: fuseRows},
	)
}

// onProcessor are the passes of a processor, whose cells take so many rows that what they need of
// both factors of a product stays in the caches of a core.
func onProcessor(own ...Pass) []Pass {
	run := func(k *kernel.Kernel) *kernel.Kernel {
		if k.Op.Family() == "scatter" { // all rows of the gradient are read again for each cell of the table
			return k.Cut(64)
		}
		return k.Cut(256)
	}
	return append([]Pass{{Name: "cut", Why: "cells go to different cores, and what one needs fits into caches", run: run}}, schedule(own...)...)
}

// schedule are the passes of all targets, with one's own where products have their
// places and arrays have still their indices.
func schedule(own ...Pass) []Pass {
	places := []Pass{
		{Name: "independent", Why: "iterations that do not need each other may go to different warps; flat indices would hide it", run: markIndependent},
		{Name: "inplace", Why: "a tile that only copies a buffer need not be made", After: []string{"independent"}, run: inPlace},
		{Name: "zero", Why: "a product that begins with 0 need not read what was filled with it", run: fuseFills},
		{Name: "through", Why: "a product goes to its buffer at once where a tile is only between", After: []string{"inplace", "zero"}, run: writeThrough},
	}
	indices := []Pass{
		{Name: "flatten", Why: "memory has one index; a tile that is made once costs cells nothing, and leaves get it from outside", After: []string{"through"}, run: flatten},
		{Name: "prune", Why: "Go refuses unused variables, and reading in place leaves some behind", After: []string{"flatten"}, run: prune},
		{Name: "declare", Why: "a variable begins with its first value, in the innermost body that needs it", After: []string{"prune"}, run: declare},
	}
	return slices.Concat(places, own, indices)
}

// GPU are the passes of the generic schedule of a GPU, whose blocks take no more
// than so many rows of a product.
func GPU(rows int64) []Pass {
	return bounded(append([]Pass{blocks(rows)}, schedule()...))
}

// GPUProduct are the passes of the schedule of a GPU for products, whose blocks take
// tiles of the output.
func GPUProduct() []Pass {
	whole := Pass{Name: "whole", Why: "tiles of a product's output are cut from all of its rows and columns", run: (*kernel.Kernel).Whole}
	return bounded(append([]Pass{whole}, schedule()...))
}

// GPUAttention are the passes of the schedule of a GPU for attention, whose blocks take so
// many queries.
func GPUAttention(rows int64) []Pass {
	run := func(k *kernel.Kernel) *kernel.Kernel { return regroup(k, rows) }
	return bounded(append([]Pass{blocks(rows)}, schedule(Pass{Name: "regroup", Why: "the more queries a block takes, the fewer blocks read the same keys; lines of a bias, if they are not read in place, are made for so many", After: []string{"inplace"}, run: run})...))
}

// blocks cuts a kernel into cells of no more than so many rows.
func blocks(rows int64) Pass {
	return Pass{Name: "blocks", Why: "the fewer rows a block takes, the more of a GPU is busy", run: func(k *kernel.Kernel) *kernel.Kernel { return k.Cut(rows) }}
}

// bounded are passes, and what tilings need behind them.
func bounded(passes []Pass) []Pass {
	return append(passes, Pass{Name: "bound", Why: "tilings of products are chosen by what bounds rows and columns", After: []string{"flatten"}, run: boundProducts})
}

// Of brings a kernel into flat form.
func Of(k *kernel.Kernel, passes []Pass) *kernel.Kernel {
	return Through(k, passes, func(Pass, *kernel.Kernel) {})
}

// Through does the same, and shows the kernel after each pass.
func Through(k *kernel.Kernel, passes []Pass, shown func(p Pass, k *kernel.Kernel)) *kernel.Kernel {
	for _, p := range passes {
		k = p.run(k)
		shown(p, k)
	}
	return k
}

// withBody is a kernel with another body.
func withBody(k *kernel.Kernel, body []kernel.Stmt) *kernel.Kernel {
	out := *k
	out.Body = body
	return &out
}

// within rewrites the body of a statement that has one.
func within(s kernel.Stmt, rewrite func(body []kernel.Stmt) []kernel.Stmt) kernel.Stmt {
	if body := kernel.Within(s); body != nil {
		return kernel.WithBody(s, rewrite(body))
	}
	return s
}
