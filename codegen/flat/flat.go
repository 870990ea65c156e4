// Package flat is the form of a kernel between the kernel IR and code for a
// machine: tiles have become slices or are read in place, indices are flat, loads
// are gone and what nothing reads is dropped. Packages codegen/cpu (Go),
// codegen/cpu/vector (assembly) and codegen/ptx print it.
//
// Its text has a kernel's header, the tiles that are made once, and what is done
// for each cell, one node a line:
//
//	flat linear matmul
//	  in     x f32[N, 40]
//	  in     w f32[40, 8]
//	  out    y f32[N, 8]
//	  scalar N
//	  grid   m < (N + 3) / 4
//
//	  tile   t f32[4 * 8]                         a tile of so many elements
//	cells
//	  let    rows = min(N - m * 4, 4)
//	  var    v f32 = 0.0                          a variable, with or without a value
//	  dot    t[0; 8, 1] = x[m * 160; 40, 1] * w[0; 8, 1] for rows, 8, 40; most 4, 8
//	  for    i = 0 until rows; apart with u       turns in any order, each with its u
//	    reduce s = sum(t[i * 8 + j]) for j < 8
//	    set    y[m * 32 + i * 8 + j] = t[i * 8 + j] / s for j < 8
//	  end
//	end
//
// An operand a[o; r, c] of dot has its element (i, j) at o + i*r + j*c; = begins
// with 0 and += with what is there; the sizes are rows, columns and the length of
// the sums, or the last alone where the result is a variable; most bounds rows and
// columns, 0 if nothing does. The other nodes are fill t[n] = value, which sets the
// first n elements of a tile, random t[n] = stream of example from base, and if.
package flat

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A Kernel is a kernel in flat form: Pre runs once, Body for each cell of the grid.
type Kernel struct {
	Head      *kernel.Kernel // name, operation, parameters and grid; it has no tiles and no body
	Pre, Body []Node
}

// A Node is a statement of a flat kernel. Every element in it has one flat index
// into a slice: a buffer or the scratch of a tile. A tile of rank 0 is a variable.
// There are no loads: they have become copies, or the tile is read in place.
type Node interface{ node() }

type (
	// Let names a scalar.
	Let struct {
		Name  string
		Value *expr.Expr
	}
	// Alloc makes a tile of Size elements, or a variable where Size is nil, which
	// starts with Value if there is one.
	Alloc struct {
		Name        string
		Type        expr.Type
		Size, Value *expr.Expr
	}
	// Assign sets Dst, an element or variable, for all values of the axes.
	Assign struct {
		Axes       []kernel.Axis
		Dst, Value *expr.Expr
	}
	// Fill sets all Size elements of a tile, or a variable where Size is nil.
	Fill struct {
		Dst         string
		Size, Value *expr.Expr
	}
	// Random fills a tile with Size random words; see kernel.Rand.
	Random struct {
		Dst                 string
		Size, Base, Example *expr.Expr
		Stream              uint32
	}
	// Dot adds a matrix product, to 0 if Zero is set; M and N are nil where C is
	// one value. MostM and MostN bound them where a constant does; 0 is unknown.
	Dot struct {
		M, N, K      *expr.Expr
		A, B, C      Operand
		Zero         bool
		MostM, MostN int
	}
	// Reduce names the canonical combination of Value over an axis.
	Reduce struct {
		Name  string
		Op    expr.Op
		Axis  kernel.Axis
		Value *expr.Expr
	}
	// Loop runs Body for Name = Lo … Hi-1. The turns of one that is Apart may run
	// at the same time, each with the tiles of Own for itself.
	Loop struct {
		Name   string
		Lo, Hi *expr.Expr
		Body   []Node
		Apart  bool
		Own    map[string]bool
	}
	// Branch runs Body if Cond holds.
	Branch struct {
		Cond *expr.Expr
		Body []Node
	}
)

func (*Let) node()    {}
func (*Alloc) node()  {}
func (*Assign) node() {}
func (*Fill) node()   {}
func (*Random) node() {}
func (*Dot) node()    {}
func (*Reduce) node() {}
func (*Loop) node()   {}
func (*Branch) node() {}

// An Operand of a Dot is a strided matrix in a slice: element (i, j) is at
// Off + i*RS + j*CS.
type Operand struct {
	Slice       string
	Off, RS, CS *expr.Expr
}
