// Package kernel is the kernel IR: the program of one grid cell over whole tiles.
// Threads, layouts and barriers are not in it; they belong to a target's
// schedule. Package lower makes kernels from groups of tensor values, and the
// back ends (codegen/cpu and codegen/ptx, both by way of codegen/flat) print them.
//
// The interpreter (interp.go) defines every kernel's result to the last bit:
// F32 operations round once each and never fuse, except that Dot adds its
// products in ascending k with a fused multiply-add, and Reduce keeps 32
// partial values (element e goes to partial e mod 32, ascending) and combines
// them by a xor butterfly with distances 16, 8, 4, 2, 1.
package kernel

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl/diag"
)

// A Kernel is run once for every cell of its grid. Cells are independent: no
// cell reads what another writes.
type Kernel struct {
	Name   string
	Op     Operation
	Pos    diag.Pos
	Params []Param // buffers first, in launch order, then scalars
	Grid   []Axis  // outermost first; sizes over scalars
	Tiles  []Tile
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

// A Param is a row-major buffer (F32 or I32), or a scalar.
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

// A Tile is a local array. Shape may use scalars, grid variables, lets and the
// variables of For. The tile is fresh, with undefined contents, in each cell, or
// whenever the last let or For variable of its shape gets its value; it can be
// used where all of them are in scope. A rank-0 tile is one value.
type Tile struct {
	Name  string
	Type  expr.Type
	Shape []*expr.Expr
}

// A Stmt is one of *Let, *Load, *Store, *Fill, *Map, *Dot, *Reduce, *For, *If.
type Stmt interface{ stmt() }

// Let names a scalar for the statements after it in the same body and below.
type Let struct {
	Name  string
	Value *expr.Expr
}

// Load copies from a buffer: Dst[a0, a1, …] = Buf[Index…] for all values of Axes.
// Axes has one entry a dimension of Dst. A tile that is loaded once and not
// written otherwise may be read in place by a back end.
type Load struct {
	Dst   string
	Axes  []Axis
	Buf   string
	Index []*expr.Expr
}

// Store writes Buf[Index…] = Value for all values of Axes, the last fastest. Each
// axis appears in Index.
type Store struct {
	Buf   string
	Index []*expr.Expr
	Axes  []Axis
	Value *expr.Expr
}

// Fill sets a whole tile to Value (no index variables), or to random words.
type Fill struct {
	Dst   string
	Value *expr.Expr
	Rand  *Rand
}

// Rand fills a rank-1 U32 tile of n words: word e is lane (Base+e) mod 4 of
// Philox4x32-10 with key (seed low, seed high) and counter
// ((Base+e) div 4, Example, step, Stream*65536 + layer), where seed, step and
// layer are scalars of the launch.
type Rand struct {
	Base    *expr.Expr // I32
	Example *expr.Expr // U32
	Stream  uint32
}

// Map computes Dst[At…] = Value for all values of Axes, each of which appears in
// At. Without axes it sets one element. Value may read Dst only at [At…].
type Map struct {
	Dst   string
	At    []*expr.Expr
	Axes  []Axis
	Value *expr.Expr
}

// Dot adds a product: Dst[m, n] += sum over k of A[m, k] * B[k, n], or of A[k, m]
// with TransA. Dst, A and B have rank 2, 2, 2; or, without TransA, 1, 1, 2 (no m)
// or 0, 1, 1 (neither m nor n).
type Dot struct {
	Dst, A, B string
	TransA    bool
}

// Reduce names the F32 scalar Name = op over Axis of Value; Op is Add, Max or Min.
// Partials start at 0 for Add, -Inf for Max, +Inf for Min; each step takes
// Op(partial, value), and the butterfly Op(own, other). The result is lane 0.
type Reduce struct {
	Name  string
	Op    expr.Op
	Axis  Axis
	Value *expr.Expr
}

// For runs Body for Var = Lo … Hi-1.
type For struct {
	Var    string
	Lo, Hi *expr.Expr
	Body   []Stmt
}

// If runs Then when Cond holds.
type If struct {
	Cond *expr.Expr
	Then []Stmt
}

func (*Let) stmt()    {}
func (*Load) stmt()   {}
func (*Store) stmt()  {}
func (*Fill) stmt()   {}
func (*Map) stmt()    {}
func (*Dot) stmt()    {}
func (*Reduce) stmt() {}
func (*For) stmt()    {}
func (*If) stmt()     {}
