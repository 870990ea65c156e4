// Package kernel is the kernel IR, from tensor lowering to printing. Package lower writes
// what one cell of the grid computes on whole tiles. The passes of a target (package
// codegen/flat) read tiles in place and flatten arrays within the same IR. The IR has no
// threads and no instructions.
//
// Only the statements say what a kernel computes. Schedules match them. The kind, such as matmul,
// is the tensor op from which the kernel was lowered; it gives the kernel its family.
//
// The interpreter (interp.go) defines every kernel's result to the last bit, before and after
// each pass. F32 operations round once each and never fuse, with two exceptions: fma, and Dot,
// which adds its products in ascending k with fused multiply-adds. Reduce keeps 32 partial
// values: element e goes to partial (e / 4) mod 32, in ascending order. It combines them by a
// xor butterfly with distances 16, 8, 4, 2, 1. A GPU lane loads four consecutive elements.
//
// A kernel has a text form, one statement per line:
//
//	kernel linear matmul
//	  in     x f32[N, 40]
//	  in     w f32[40, 8]
//	  out    y f32[N, 8]
//	  scalar N
//	  grid   m < (N + 3) / 4
//
//	  let    rows = min(N - m * 4, 4)
//	  tile   t f32[rows, 8]                       an array of the cell, fresh where this stands
//	  var    most f32 = 0.0                       a variable, with or without a value
//	  set    t[i, j] = 0.0                        of all elements: i and j run as far as t does
//	  dot    t[i, j] += x[m * 4 + i, k] * w[k, j] for i < rows, j < 8, k < 40
//	  for    i = 0 until rows
//	    reduce s = sum(t[i, j])
//	    set    y[m * 4 + i, j] = t[i, j] / s for j < 8
//	  end
//	end
//
// A span instead of that axis and let leaves the rows of a cell to the target:
//
//	span   first, height of N
//
// A scalar with a largest value is N <= 40. Axes are spelt out (for i < rows) unless the subscripts
// imply them. A dot with = begins with 0. The other statements are if, and random, which fills a
// tile with random words. Passes may add a body once, whose tiles are allocated once for all
// cells. They may mark a loop independent if its iterations may run in any order, each with its
// own tiles. They may bound the rows and columns of a dot (most 4, 8). A dot may split its factors
// (split).
package kernel

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl/diag"
)

// A Geometry is the approximate size of a launch: mean rows per replica, and replicas.
type Geometry struct{ Rows, Replicas int }

// A Kernel is run once for every cell of its grid. Cells are independent: no
// cell reads what another writes.
type Kernel struct {
	Name   string
	Kind   string // a row of families
	Pos    diag.Pos
	Params []Param          // buffers first, in launch order, then scalars
	Most   map[string]int64 // the largest values of scalars that tables have room for; may be nil
	Grid   []Axis           // outermost first; sizes over scalars
	Span   *Span            // the rows of a cell, before a target cuts them; may be nil
	Once   []Stmt           // Tiles allocated once for all cells; cells pass no values through them
	Body   []Stmt
}

// Mode says how a kernel uses a parameter.
type Mode uint8

// The modes. A Scalar is bound by name from the launch environment (see Scalars) and is not
// a launch argument.
const (
	In Mode = iota
	Out
	InOut
	Scalar
)

// A Param is a row-major buffer (F32, I32, BF16 or F16), or a scalar.
type Param struct {
	Name  string
	Type  expr.Type
	Mode  Mode
	Shape []*expr.Expr // extents over scalars; nil for a scalar parameter
}

// An Axis is an index variable (I32) that runs from 0 to Size-1.
type Axis struct {
	Var  string
	Size *expr.Expr
}

// A Stmt is one of *Let, *Tile, *Var, *Set, *Random, *Dot, *Reduce, *For, *If.
type Stmt interface{ stmt() }

// Let names a scalar for the statements after it in the same body and nested bodies.
type Let struct {
	Name  string
	Value *expr.Expr
}

// Tile allocates a row-major array with undefined contents each time it runs.
type Tile struct {
	Name  string
	Type  expr.Type
	Shape []*expr.Expr // at least one extent
}

// Var declares a variable that Set and Dot can set, undefined if Value is nil. Its type is not
// for elements only.
type Var struct {
	Name  string
	Type  expr.Type
	Value *expr.Expr
}

// Set computes Dst = Value for all values of Axes, the last fastest. Dst is a variable,
// without axes, or an element of a tile or buffer with every axis in its index. Value may
// read only the element Dst of that array.
type Set struct {
	Axes       []Axis
	Dst, Value *expr.Expr
}

// Random sets the first Size elements of a flat tile of U32 to random words. Word e is lane
// (Base+e) mod 4 of Philox4x32-10 with key (seed low, seed high) and counter ((Base+e) div 4,
// Example, step, Stream*65536 + layer). The launch has seed, step and layer as scalars.
type Random struct {
	Dst     string
	Size    *expr.Expr
	Base    *expr.Expr // I32
	Example *expr.Expr // U32
	Stream  uint32
}

// Dot adds a product: Dst += sum over the last axis of A * B. Element indices are linear in the
// axes. Dst is F32. A and B are F32, or both BF16 or F16, which are widened first. Dst is over
// rows and columns, over columns only, or a variable. A is over rows and the last axis, B over
// the last axis and columns. With Zero the sums begin with 0 instead of Dst. MostRows and
// MostCols are constant bounds of rows and columns, 0 if unknown. With Split, a product of F32
// factors is three products of their halves (see Halves). They are low * high, high * low and
// high * high, added in this order.
type Dot struct {
	Axes               []Axis // rows, columns, sum; columns, sum; or sum
	Dst, A, B          *expr.Expr
	Zero, Split        bool
	MostRows, MostCols int
}

// Reduce names the F32 scalar Name = op over Axis of Value; Op is Add, Max or Min. Partials
// start at 0 for Add, -Inf for Max, +Inf for Min, and become Op(value, partial). Lanes of the
// butterfly become Op(other, own). Max and Min ignore NaN. The result is lane 0, plus +0.
type Reduce struct {
	Name  string
	Op    expr.Op
	Axis  Axis
	Value *expr.Expr
}

// For runs Body for Var = Lo … Hi-1. Iterations of an Independent loop may run concurrently,
// each with its own copies of the tiles and variables in Own.
type For struct {
	Var         string
	Lo, Hi      *expr.Expr
	Body        []Stmt
	Independent bool
	Own         map[string]bool
}

// If runs Body when Cond holds.
type If struct {
	Cond *expr.Expr
	Body []Stmt
}

func (*Let) stmt()    {}
func (*Tile) stmt()   {}
func (*Var) stmt()    {}
func (*Set) stmt()    {}
func (*Random) stmt() {}
func (*Dot) stmt()    {}
func (*Reduce) stmt() {}
func (*For) stmt()    {}
func (*If) stmt()     {}
