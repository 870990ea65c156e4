package flat

import (
	"fmt"
	"maps"

	"github.com/arithlang/mlc/compiler/kernel"
)

// A Pass is one rewrite on the way from a kernel to what a back end prints.
type Pass struct {
	Name  string
	Why   string
	After []string // passes that must come before
	tiles func(k *kernel.Kernel) *kernel.Kernel
	nodes func(from *kernel.Kernel, k Kernel) Kernel
}

// Processor are the passes of the processor's schedule, in order.
func Processor() []Pass {
	return []Pass{
		{Name: "resolve", Why: "memory has one index: tiles become slices or are read in place, and loads copies", nodes: resolved},
		{Name: "hoist", Why: "a tile that is made once costs cells nothing, and leaves get it from outside", After: []string{"resolve"}, nodes: hoist},
		{Name: "zero", Why: "a product that begins with 0 need not read what was filled with it", After: []string{"resolve"}, nodes: each(fuseFills)},
		{Name: "through", Why: "a product goes to its buffer at once where a tile is only between", After: []string{"zero"}, nodes: whole(writeThrough)},
		{Name: "prune", Why: "Go refuses unused variables, and reading in place leaves some behind", After: []string{"through"}, nodes: whole(pruned)},
		{Name: "declare", Why: "a variable begins with its first value, in the innermost body that needs it", After: []string{"prune"}, nodes: each(declare)},
	}
}

// GPU are the passes of the generic schedule of a GPU, whose blocks take no more
// than so many rows of a product.
func GPU(rows int64) []Pass {
	regrid := func(k *kernel.Kernel) *kernel.Kernel { return Regrid(k, rows) }
	first := Pass{Name: "regrid", Why: "cells that suit a processor's caches would leave most of a GPU idle", tiles: regrid}
	passes := Processor()
	passes[0].After = []string{first.Name}
	return append([]Pass{first}, passes...)
}

// Of brings a kernel into flat form.
func Of(k *kernel.Kernel, passes []Pass) Kernel { return Through(k, passes, func(Pass, Kernel) {}) }

// Through does the same, and shows the form after each pass that has one. No pass
// changes what was shown.
func Through(k *kernel.Kernel, passes []Pass, shown func(p Pass, k Kernel)) Kernel {
	var r Kernel
	for _, p := range passes {
		if p.tiles != nil {
			k = p.tiles(k)
			continue
		}
		r = p.nodes(k, Kernel{r.Head, copied(r.Pre), copied(r.Body)})
		shown(p, r)
	}
	return r
}

func resolved(from *kernel.Kernel, _ Kernel) Kernel { return resolve(from) }

// whole is a pass that needs no more than the form itself.
func whole(f func(Kernel) Kernel) func(*kernel.Kernel, Kernel) Kernel {
	return func(_ *kernel.Kernel, k Kernel) Kernel { return f(k) }
}

// each is a pass over what is done for each cell.
func each(f func([]Node) []Node) func(*kernel.Kernel, Kernel) Kernel {
	return func(_ *kernel.Kernel, k Kernel) Kernel {
		k.Body = f(k.Body)
		return k
	}
}

// pruned drops what does not reach the buffers that the kernel writes.
func pruned(k Kernel) Kernel {
	written := map[string]bool{}
	for _, p := range k.Head.Params {
		if p.Mode == kernel.Out || p.Mode == kernel.InOut {
			written[p.Name] = true
		}
	}
	return prune(k, written)
}

// copied are nodes of their own that say the same.
func copied(nodes []Node) []Node {
	out := make([]Node, len(nodes))
	for i, n := range nodes {
		out[i] = copyNode(n)
	}
	return out
}

func copyNode(n Node) Node {
	switch n := n.(type) {
	case *Let:
		c := *n
		return &c
	case *Alloc:
		c := *n
		return &c
	case *Assign:
		c := *n
		return &c
	case *Fill:
		c := *n
		return &c
	case *Random:
		c := *n
		return &c
	case *Dot:
		c := *n
		return &c
	case *Reduce:
		c := *n
		return &c
	case *Loop:
		c := *n
		c.Body, c.Own = copied(n.Body), maps.Clone(n.Own)
		return &c
	case *Branch:
		return &Branch{n.Cond, copied(n.Body)}
	}
	panic(fmt.Sprintf("BUG: unknown node %T", n))
}
