package emit

import (
	"math/bits"
	"slices"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
)

// Fragments are the matrices that a warp's tensor core multiplies. An accumulator is 16 rows x 8
// columns of floats. Lane 4g + t has columns 2t and 2t+1 of rows g and g + 8 (4 registers). A
// lane has words of factors along k: pairs of 16-bit elements, or single 32-bit elements. The PTX
// manual, 9.7.14.5, says which. ldmatrix or word loads read them from shared memory.

const (
	UnitBytes = 16
	bankUnits = 8 // units that span all banks

	FragmentRows  = 16 // rows of an accumulator and of a left factor
	FragmentCols  = 8
	fragmentUnits = 2 // along k, of an instruction

	WordBytes    = 4                       // an element of F32
	NarrowBytes  = 2                       // an element of BF16
	UnitWide     = UnitBytes / NarrowBytes // elements of a unit
	FragmentDeep = fragmentUnits * UnitWide
)

// A Format is the layout of factors in memory and in fragments.
type Format struct {
	ElementBytes int    // of an element
	multiply     string // the instruction
}

var (
	NarrowFormat = Format{NarrowBytes, "m16n8k16.row.col.f32.bf16.bf16.f32"}
	SplitFormat  = Format{WordBytes, "m16n8k8.row.col.f32.tf32.tf32.f32"} // for halves of elements
)

// Unit returns how many elements a unit has.
func (x Format) Unit() int { return UnitBytes / x.ElementBytes }

// Deep returns how many products an instruction adds to an output.
func (x Format) Deep() int { return fragmentUnits * x.Unit() }

// A Swizzled is a row-major matrix in shared memory with cols columns, in units of 16 bytes. An
// xor with the row's number permutes the units of a row. Then a unit of eight rows spans all
// banks, and so do eight adjacent units. With twos, two units of four rows span all banks.
type Swizzled struct {
	asm.Address
	Cols int
	Format
	Twos bool
}

// RowBytes returns the distance between rows.
func (s Swizzled) RowBytes() int { return s.ElementBytes * s.Cols }

// units returns how many units of a row are permuted with each other. It is the largest power of
// 2 up to bankUnits that divides the units of a row.
func (s Swizzled) units() int {
	n := s.Cols / s.Unit()
	return min(n&-n, bankUnits)
}

// UnitOf returns the address of a unit of a row.
func (p *Builder) UnitOf(s Swizzled, row, unit asm.Value) asm.Address {
	f, n := p.F, s.units()
	by := f.Do("shr.u32", row, asm.Int(bits.Len(uint(bankUnits/n))-1))
	if s.Twos {
		by = f.Do("shl.b32", row, asm.Int(1))
	}
	by = f.Do("and.b32", by, asm.Int(n-1))
	s.Base = f.Do("mad.lo.s32", row, asm.Int(s.RowBytes()), s.Base)
	s.Base = f.Do("mad.lo.s32", f.Do("xor.b32", unit, by), asm.Int(UnitBytes), s.Base)
	return s.Address
}

// A Factor is a swizzled matrix as the lanes of a warp read fragments of it.
type Factor struct {
	Swizzled
	left   bool
	alongK bool        // k goes along its rows; else down them
	lanes  []asm.Value // a lane's base addresses, by pair of units
}

// FactorOf returns a warp's part of a left or right factor: wide elements of each row from col
// on. Row is a multiple of 16; col is a multiple of wide, or of 64.
func (p *Builder) FactorOf(s Swizzled, left, alongK bool, row, col asm.Value, wide int) Factor {
	return p.FactorBy(s, left, alongK, func(r asm.Value) asm.Value { return p.F.Do("add.s32", row, r) }, col, wide)
}

// FactorBy is FactorOf for rows that lie at place(0) to place(15), and so on for each further 16. Place
// maps eight adjacent rows to rows that differ modulo 8.
func (p *Builder) FactorBy(s Swizzled, left, alongK bool, place func(row asm.Value) asm.Value, col asm.Value, wide int) Factor {
	f := p.F
	unit := f.Do("shr.u32", col, asm.Int(bits.Len(uint(s.Unit()))-1))
	x := Factor{Swizzled: s, left: left, alongK: alongK}
	r, u := p.laneOf(x)
	u = f.Do("add.s32", unit, u)
	for i := 0; i < min(wide/s.Unit(), s.units()); i += 2 {
		at := p.UnitOf(s, place(r), f.Do("add.s32", u, asm.Int(i))).Base
		if s.Twos {
			at = f.Do("mad.lo.s32", p.low(f.Do("shr.u32", p.Lane, asm.Int(2)), 4), asm.Int(s.ElementBytes), at)
		}
		x.lanes = append(x.lanes, at)
	}
	return x
}

// low returns x modulo below, a power of two.
func (p *Builder) low(x asm.Value, below int) asm.Value {
	return p.F.Do("and.b32", x, asm.Int(below-1))
}

// laneOf returns the row, and the unit of a pair, whose address a lane reads or gives to ldmatrix.
func (p *Builder) laneOf(x Factor) (row, unit asm.Value) {
	f := p.F
	row, unit = p.low(p.Lane, 16), f.Do("shr.u32", p.Lane, asm.Int(4))
	switch {
	case x.Twos:
		row = p.low(p.Lane, 4)
	case x.left != x.alongK: // the second matrix of four lies to the right of the first
		row, unit = f.Do("mad.lo.s32", unit, asm.Int(8), p.low(p.Lane, 8)), p.low(f.Do("shr.u32", p.Lane, asm.Int(3)), 2)
	}
	return row, unit
}

// Moved returns a factor by bytes further.
func (p *Builder) Moved(x Factor, by asm.Value) Factor {
	lanes := x.lanes
	x.lanes = nil
	for _, at := range lanes {
		x.lanes = append(x.lanes, p.F.Do("add.s32", at, by))
	}
	return x
}

// Fragment loads 16 rows of a left factor, or 16 columns of a right one, for one instruction.
// They begin at outer and k of the warp's part. It returns the 4 registers of a left fragment, or
// 2 registers of each of two right fragments.
func (p *Builder) Fragment(x Factor, outer, k int) []asm.Value {
	switch {
	case x.Twos:
		return p.words(x, outer, k)
	case x.alongK:
		return p.F.LoadMatrices(x.at(outer, k), 4, false)
	}
	return p.F.LoadMatrices(x.at(k, outer), 4, true)
}

// at returns a lane's address for a row and a column of the warp's part. Col is a multiple of two
// units.
func (x Factor) at(row, col int) asm.Address {
	pair := col / (2 * x.Unit())
	at := x.Address
	at.Base = x.lanes[pair%len(x.lanes)]
	further := pair / len(x.lanes) * len(x.lanes) * 2 * UnitBytes
	return at.Plus(row*x.RowBytes() + further)
}

// words loads a fragment of words whose k goes down the rows: two by two matrices of 4 rows x 8
// columns. In a left fragment the second matrix lies to the right of the first, in a right one
// below it.
func (p *Builder) words(x Factor, outer, k int) []asm.Value {
	var all []asm.Value
	for i := range 4 {
		down, beside := i/2, i%2
		if !x.left {
			down, beside = beside, down
		}
		all = append(all, p.F.Load(x.at(k+down*x.Unit(), outer+beside*2*x.Unit()), asm.Word))
	}
	return all
}

// Accumulators are a warp's accumulators, by 16 rows and 8 columns.
type Accumulators [][][]asm.Value

// Zeros returns accumulators of rows x cols zeros.
func (p *Builder) Zeros(rows, cols int) Accumulators {
	acc := make(Accumulators, rows/FragmentRows)
	for i := range acc {
		acc[i] = make([][]asm.Value, cols/FragmentCols)
		for j := range acc[i] {
			acc[i][j] = p.F.Variables(4, asm.F32(0))
		}
	}
	return acc
}

// Add adds the products of fragments of BF16: left ones by 16 rows, right ones in pairs as
// fragment loads them.
func (acc Accumulators) Add(f *asm.Func, left, right [][]asm.Value) {
	acc.Multiply(f, NarrowFormat, slices.Concat(left...), slices.Concat(right...))
}

// AddAll adds a number to all sums.
func (acc Accumulators) AddAll(f *asm.Func, x asm.Value) {
	for _, v := range slices.Concat(slices.Concat(acc...)...) {
		f.Into(v, "add.rn.f32", v, x)
	}
}

// Multiply adds the products of concatenated fragments of a format.
func (acc Accumulators) Multiply(f *asm.Func, x Format, left, right []asm.Value) {
	for i := range acc {
		for j := range acc[i] {
			f.Multiply(x.multiply, acc[i][j], left[4*i:][:4], right[2*j:][:2])
		}
	}
}

// LeftOf rounds accumulators of 16 rows x 16 columns to a left fragment of BF16.
func (p *Builder) LeftOf(first, second []asm.Value) []asm.Value {
	var a []asm.Value
	for _, c := range [][]asm.Value{first, second} {
		for r := 0; r < len(c); r += 2 {
			a = append(a, p.F.Do("cvt.rn.bf16x2.f32", c[r+1], c[r]))
		}
	}
	return a
}

// Fours exchanges an accumulator between adjacent lanes, so that each lane has 4 columns of one
// row, from 4 (t / 2) on. The row is g if t is even, else g + 8. Even says whether t is even.
func (p *Builder) Fours(c []asm.Value, even asm.Value) []asm.Value {
	f := p.F
	pick := func(a, b asm.Value) asm.Value { return f.Do("selp.f32", a, b, even) }
	first, second := f.Shuffle("bfly", pick(c[2], c[0]), 1), f.Shuffle("bfly", pick(c[3], c[1]), 1)
	return []asm.Value{pick(c[0], first), pick(c[1], second), pick(first, c[2]), pick(second, c[3])}
}

// StageUnits are the units along k of each row and column of a stage.
const StageUnits = 4

// Depth returns how many k a stage has.
func (x Format) Depth() int { return StageUnits * x.Unit() }

// InUnits reports whether the columns of an operand are adjacent, in whole units of 16 bytes in
// each row.
func (x Format) InUnits(o flat.Operand, columns *expr.Expr) bool {
	units := func(e *expr.Expr) bool { return expr.IsMultiple(e, expr.Int(int64(x.Unit()))) }
	return expr.IsInt(o.CS, 1) && units(o.RS) && units(o.Off) && units(columns)
}
