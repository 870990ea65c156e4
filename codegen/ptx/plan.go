package ptx

import (
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// launches holds what is known of the launches of a kernel.
type launches struct {
	kernel.Geometry
	aligned map[string]bool // buffers that are always at a multiple of 16 bytes
	Sets    int             // most sets of buffers
	Shapes  bool            // replicas differ in how many rows they have
}

// A plan is how blocks compute a kernel.
type plan struct {
	threads int    // of a block
	whole   bool   // a block is one workgroup; else each of its warps is one
	pieces  string // the work of a block, in words
	// cells prepares a printer and returns the cells that workgroups take.
	cells func(p *printer) (cells, error)
}

// cells are the units of work that are distributed to workgroups.
type cells struct {
	count *expr.Expr
	body  func(cell asm.Value) // runs one cell in a workgroup
}
