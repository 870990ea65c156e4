package emit

import (
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// Launches holds what is known of the launches of a kernel.
type Launches struct {
	kernel.Geometry
	Aligned map[string]bool // buffers that are always at a multiple of 16 bytes
	Sets    int             // most sets of buffers
	Shapes  bool            // replicas differ in how many rows they have
}

// A Plan is how blocks compute a kernel.
type Plan struct {
	Threads int    // of a block
	Whole   bool   // a block is one workgroup; else each of its warps is one
	Pieces  string // the work of a block, in words
	// Cells prepares a builder and returns the cells that workgroups take.
	Cells func(p *Builder) Cells
}

// Cells are the units of work that are distributed to workgroups.
type Cells struct {
	Count *expr.Expr
	Body  func(cell asm.Value) // runs one cell in a workgroup
}

// Grid returns the cells of the kernel's grid, each run with the values of its axes.
func (p *Builder) Grid(run func()) Cells {
	return Cells{Count: kernel.Elements(kernel.Sizes(p.K.Grid)), Body: func(cell asm.Value) {
		p.Set(p.K.Grid, cell)
		run()
	}}
}
