// Package kernel is the kernel IR, in which kernels are from the moment that package
// lower makes them of tensor values until a back end prints them. Package lower
// writes what one cell of the grid computes on whole tiles; the passes of a target
// (package codegen/flat) then read tiles in place, make arrays flat and move what
// they can out of loops, all within this one IR. Threads and instructions are not in
// it.
//
// The interpreter (interp.go) defines every kernel's result to the last bit, before
// and after each pass: F32 operations round once each and never fuse, except that
// fma does, and that Dot adds its products in ascending k with a fused multiply-add, and Reduce keeps
// 32 partial values (element e goes to partial (e / 4) mod 32, ascending; one without
// elements stays as it starts) and combines them by a xor butterfly with distances 16,
// 8, 4, 2, 1. Four elements in a row are one load of a GPU's lane.
//
// A kernel has a text, one statement a line:
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
// Cells of as many rows as a target likes have a span in place of that axis and that let:
//
//	span   first, height of N
//
// Axes are spelt out (for i < rows) where the subscripts do not imply them. A dot
// with = begins with 0. The other statements are if, and random, which fills a tile
// with random words. After passes a kernel may have a body once, of the tiles that
// are made once for all cells; a loop may be independent, when its iterations may run in
// any order, each with tiles of its own; and a dot may say what bounds its rows and
// columns (most 4, 8), and that its factors are split (split).
package kernel

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl/diag"
)

// A Geometry is how large a launch is about: rows of a replica, in the mean, and replicas.
type Geometry struct{ Rows, Replicas int }

// A Kernel is run once for every cell of its grid. Cells are independent: no
// cell reads what another writes.
type Kernel struct {
	Name   string
	Op     Operation
	Pos    diag.Pos
	Params []Param // buffers first, in launch order, then scalars
	Grid   []Axis  // outermost first; sizes over scalars
	Span   *Span   // the rows of a cell, before a target cuts them; nil: cells have none
	Once   []Stmt  // Tiles that are made once for all cells, which leave nothing in them for each other
	Body   []Stmt
}

// Mode says how a kernel uses a parameter.
type Mode uint8

// The modes. A Scalar is bound by its name from the launch environment (see
// Scalars); it is no argument of the launch.
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

// Let names a scalar for the statements after it in the same body and below.
type Let struct {
	Name  string
	Value *expr.Expr
}

// Tile makes a row-major array, fresh and with undefined contents each time.
type Tile struct {
	Name  string
	Type  expr.Type
	Shape []*expr.Expr // one extent at least
}

// Var makes a variable, of no type that is for elements alone, which Set and Dot can set; undefined where Value is nil.
type Var struct {
	Name  string
	Type  expr.Type
	Value *expr.Expr
}

// Set computes Dst = Value for all values of Axes, the last fastest. Dst is a
// variable (then there are no axes) or an element of a tile or buffer, whose index
// each axis appears in. Of the array that it sets Value may read the element Dst
// alone.
type Set struct {
	Axes       []Axis
	Dst, Value *expr.Expr
}

// Random sets the first Size elements of a flat tile of U32 to random words: word e
// is lane (Base+e) mod 4 of Philox4x32-10 with key (seed low, seed high) and counter
// ((Base+e) div 4, Example, step, Stream*65536 + layer), where seed, step and
// layer are scalars of the launch.
type Random struct {
	Dst     string
	Size    *expr.Expr
	Base    *expr.Expr // I32
	Example *expr.Expr // U32
	Stream  uint32
}

// Dot adds a product: Dst += sum over the last axis of A * B, all elements of
// arrays at indices that are linear in the axes: Dst of F32, A and B of F32, or both of
// BF16 or F16, which are widened first. Dst is over rows i and columns j,
// over columns alone, or a variable; A is over rows and the last axis, B over the
// last axis and columns. With Zero the sums begin with 0 instead of Dst. MostRows and
// MostCols bound rows and columns where a constant does; 0 is unknown. With Split, a product of F32 factors is
// three of their halves (see Halves): low * high, high * low and high * high, added in this
// order.
type Dot struct {
	Axes               []Axis // rows, columns, sum; columns, sum; or sum
	Dst, A, B          *expr.Expr
	Zero, Split        bool
	MostRows, MostCols int
}

// Reduce names the F32 scalar Name = op over Axis of Value; Op is Add, Max or Min.
// Partials start at 0 for Add, -Inf for Max, +Inf for Min, and take Op(value, partial),
// as lanes of the butterfly take Op(other, own): Max and Min leave out NaN. The result is
// lane 0, plus +0.
type Reduce struct {
	Name  string
	Op    expr.Op
	Axis  Axis
	Value *expr.Expr
}

// For runs Body for Var = Lo … Hi-1. The iterations of one that is Independent may run at
// the same time, each with the tiles and variables of Own for itself.
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
