// Package flat lowers kernels from package lower to the form that back ends print. It
// reads tiles in place or allocates them once for all cells, flattens indices, computes
// products in their buffers and drops dead code. Input and output are kernel IR (package
// kernel), and the interpreter gives the same bits after each pass. The back ends are
// codegen/cpu (Go), codegen/cpu/vector (assembly) and codegen/ptx.
package flat

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/lanes"
)

// A Pass is one rewrite of a kernel. It returns a new kernel, or the same one if nothing
// changes.
type Pass struct {
	Name  string
	Why   string
	After []string // passes that must come before
	run   func(k *kernel.Kernel) *kernel.Kernel
}

// Processor returns the passes of the CPU schedule, in order.
func Processor() []Pass {
	return onProcessor(
		Pass{Name: "widen", Why: "Go and assembly multiply F32 and BF16 alone", After: []string{"inplace", "zero"}, run: widen},
		Pass{Name: "heads", Why: "where the rows of a window are is the same for all heads of a row; only tiles that are left may need one for each", After: []string{"inplace"}, run: togetherHeads},
		Pass{Name: "strips", Why: "behind a row's random words a processor does not see the next row's reductions", After: []string{"heads"}, run: strips},
		Pass{Name: "finish", Why: "a tile between a product and its buffer would take the place of both in a cache", After: []string{"inplace", "zero", "through"}, run: finish},
	)
}

// Lanes returns the passes of the CPU schedule for n models at once.
func Lanes(n int) []Pass {
	return onProcessor(
		Pass{Name: "lanes", Why: "an element of many models fills vectors, whatever the shapes of one are; what copies and clears of one is gone by then", After: []string{"inplace", "zero", "through"}, run: func(k *kernel.Kernel) *kernel.Kernel { return inLanes(k, n) }},
		Pass{Name: "rows", Why: "a row of many models is long, and is best done with before the next", After: []string{"lanes"}, run: fuseRows},
	)
}

// inLanes turns a kernel into one of n models, which must be possible.
func inLanes(k *kernel.Kernel, n int) *kernel.Kernel {
	many, err := lanes.Of(k, n)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return many
}

// onProcessor returns the passes of a CPU schedule. They cut cells so that the parts of both
// factors that a cell reads fit into the caches of a core.
func onProcessor(own ...Pass) []Pass {
	run := func(k *kernel.Kernel) *kernel.Kernel {
		switch k.Family() {
		case "attention":
			return k.Cells(kernel.Queries)
		case "scatter": // each cell of the table reads all rows of the gradient
			return k.Cut(64)
		}
		return k.Cut(256)
	}
	return append([]Pass{{Name: "cut", Why: "cells go to different cores, and what one needs fits into caches", run: run}}, schedule(own...)...)
}

// schedule returns the passes of all targets. The target's own passes run after products
// are placed and before indices are flattened.
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

// GPU returns the passes of the generic GPU schedule, whose blocks take at most rows rows.
func GPU(rows int64) []Pass {
	run := func(k *kernel.Kernel) *kernel.Kernel {
		if k.Family() == "attention" {
			return k.Cells(kernel.Queries)
		}
		return k.Cut(rows)
	}
	blocks := Pass{Name: "blocks", Why: "the fewer rows a block takes, the more of a GPU is busy", run: run}
	return bounded(append([]Pass{blocks}, schedule()...))
}

// GPUProduct returns the passes of the GPU schedule for products, whose blocks take tiles
// of the output.
func GPUProduct() []Pass {
	whole := Pass{Name: "whole", Why: "tiles of a product's output are cut from all of its rows and columns", run: (*kernel.Kernel).Whole}
	return bounded(append([]Pass{whole}, schedule()...))
}

// GPUAttention returns the passes of the GPU schedule for attention, whose blocks take up to
// rows queries.
func GPUAttention(rows int64) []Pass {
	run := func(k *kernel.Kernel) *kernel.Kernel {
		for _, t := range k.Tiles() {
			if uses(k.Body, t.Name) && slices.ContainsFunc(t.Shape, func(e *expr.Expr) bool { return e.Op != expr.Const && e.Op != expr.Var }) {
				return k.Cells(kernel.Queries)
			}
		}
		return k.Cells(rows)
	}
	return bounded(schedule(Pass{Name: "queries", Why: "the more queries a block takes, the fewer blocks read the same keys; lines of a bias, if they are not read in place, are made for so many", After: []string{"inplace"}, run: run}))
}

// uses reports whether statements or their bodies use a name.
func uses(body []kernel.Stmt, name string) bool {
	return slices.ContainsFunc(body, func(s kernel.Stmt) bool { return kernel.Uses(s, name) })
}

// bounded appends the pass that bounds products for the choice of tilings.
func bounded(passes []Pass) []Pass {
	return append(passes, Pass{Name: "bound", Why: "tilings of products are chosen by what bounds rows and columns", After: []string{"flatten"}, run: boundProducts})
}

// Of runs the passes on a kernel.
func Of(k *kernel.Kernel, passes []Pass) *kernel.Kernel {
	return Through(k, passes, func(Pass, *kernel.Kernel) {})
}

// Through is Of, and calls shown after each pass.
func Through(k *kernel.Kernel, passes []Pass, shown func(p Pass, k *kernel.Kernel)) *kernel.Kernel {
	for _, p := range passes {
		k = p.run(k)
		shown(p, k)
	}
	return k
}

// withBody returns a copy of the kernel with another body.
func withBody(k *kernel.Kernel, body []kernel.Stmt) *kernel.Kernel {
	out := *k
	out.Body = body
	return &out
}

// within rewrites the body of a statement, if it has one.
func within(s kernel.Stmt, rewrite func(body []kernel.Stmt) []kernel.Stmt) kernel.Stmt {
	if body := kernel.Within(s); body != nil {
		return kernel.WithBody(s, rewrite(body))
	}
	return s
}
