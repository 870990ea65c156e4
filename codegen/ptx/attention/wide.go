package attention

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

const (
	// narrowestHead is the least width of a head. The schedule has twenty times as many instructions
	// as the generic one, and a driver compiles them all. Narrower heads save too little for that.
	narrowestHead = 16

	wideRows = 4 // rows of a lane: g, g + 4, g + 8 and g + 12

	wideUnit   = emit.UnitBytes / emit.WordBytes // elements that a thread copies or loads at once
	wideGroup  = 8 * wideRows                    // keys of a group
	fewestKeys = keysAtOnce / 2                  // the fewest keys that a kernel has instructions for
	wideBeside = 6                               // blocks of a multiprocessor: there are registers for them
	wideShared = 36 << 10                        // shared memory of each, if a group fits

	weightPitch = wideGroup + wideUnit // elements between rows of weights
	wideColumns = emit.WarpThreads / wideRows * wideUnit

	weightsName = "weights" // shared memory; no kernel's tile has such a name
	scoresName  = "scores." // a tile for scores of many keys
)

// A wide builds an attention in F32, where each output has one chain of fused multiply-adds. Lane
// 8g + t of a warp has four rows, and four keys from 32 m + 4t on. Then it has these rows, and columns
// 32 j + 4t on, of the results; weights go through shared memory for that. Rows of keys are
// permuted within 32, so that eight lanes read eight adjacent rows.
type wide struct {
	*attend
	room    int          // keys in shared memory
	pitch   int          // elements between rows of factors
	factors emit.Address // queries, then keys or values
	weights emit.Address
	onward  bool         // other rows follow those of values that have weights
	q, k    emit.Address // a lane's first row of queries and of keys
	v       columns      // of values
	put     emit.Address // its first weights
	take    emit.Address // the weights of its first row
	scratch emit.Address // its first scores of many keys
}

// PlanWide plans an attention in F32.
func PlanWide(k *kernel.Kernel, l emit.Launches) (p emit.Plan, why string) {
	a, why := attentionOf(k, l, expr.F32)
	if why != "" {
		return p, why
	}
	warps := a.scores.MostRows / warpRows
	pieces := fmt.Sprintf("a cell, %d warps of %d rows, %d keys in shared memory", warps, warpRows, roomFor(a))
	return emit.Plan{Threads: warps * emit.WarpThreads, Whole: true, Pieces: pieces, Cells: func(p *emit.Builder) emit.Cells { return wideCells(p, a) }}, ""
}

// pitchOf returns the elements between rows of a width, an odd number of units: eight adjacent rows
// are then in different banks.
func pitchOf(width int) int { return (width/wideUnit | 1) * wideUnit }

// roomFor returns how many keys fit into shared memory.
func roomFor(a *attention) int {
	rows, pitch := a.scores.MostRows, pitchOf(int(a.scores.Axes[2].Size.I))
	for n := 2 * keysAtOnce; ; n /= 2 {
		if n == wideGroup || ((rows+n)*pitch+rows*weightPitch+len(a.bands)*(rows+keysAtOnce))*emit.WordBytes <= wideShared {
			return n
		}
	}
}

// wideCells returns the cells of a kernel's grid.
func wideCells(p *emit.Builder, m *attention) emit.Cells {
	f := p.F
	first := f.Do("mul.lo.s32", p.Warp, asm.Int(warpRows))
	a := &wide{attend: newAttend(p, m, first, wideRows), room: roomFor(m)}
	a.pitch = pitchOf(a.width)
	if f.Beside = wideBeside; a.width > 2*wideColumns {
		f.Beside = wideBeside - 2 // the results of wide heads take more registers
	}
	a.factors = a.array("factors", (m.scores.MostRows+a.room)*a.pitch)
	a.enterWeights(m.scores.MostRows)
	tiles := append(a.bandTiles(m.scores.MostRows), a.scoresTile())
	p.Place(tiles, nil)
	a.enterBands(asm.Int(0))
	t := f.Do("shr.u32", a.key, asm.Int(2))
	a.q = p.Element(a.factors, f.Do("mul.lo.s32", a.row[0], asm.Int(a.pitch)))
	keys := a.factors.Further(m.scores.MostRows * a.pitch)
	a.k, a.v = p.Element(keys, f.Do("mul.lo.s32", t, asm.Int(a.pitch))), a.columnsOf(keys)
	a.scratch = p.Element(p.Slices[scoresName], f.Do("mul.lo.s32", p.Group.ID, asm.Int(wideUnit)))
	return a.cells(func() {
		a.open = a.Choose(f.Do("setp.lt.s32", first, a.height), a.size, asm.Int(0))
		f.If(f.Do("setp.lt.s32", asm.Int(0), a.height), a.cell)
	})
}

// A columns is where a lane has its columns of a factor in row 0, in the first 32 and in the last ones, if
// these are fewer.
type columns struct{ first, last emit.Address }

// columnsOf returns a lane's columns of a factor.
func (a *wide) columnsOf(at emit.Address) columns {
	last := a.F.Do("min.s32", a.key, asm.Int(max(a.width%wideColumns-wideUnit, 0)))
	return columns{a.Element(at, a.key), a.Element(at.Further(a.width/wideColumns*wideColumns), last)}
}

// enterWeights allocates the weights of so many rows.
func (a *wide) enterWeights(rows int) {
	a.weights = a.array(weightsName, rows*weightPitch)
	a.take = a.Element(a.weights, a.F.Do("mul.lo.s32", a.row[0], asm.Int(weightPitch)))
	a.put = a.Element(a.take, a.key)
}

// array allocates so many elements of shared memory.
func (a *wide) array(name string, n int) emit.Address {
	bytes := n * emit.WordBytes
	a.Launch.Static += bytes
	return emit.Address{Address: asm.Shared.At(name, a.F.SharedArray(name, bytes)), Typ: expr.F32}
}

// scoresTile returns the tile for the scores of a cell, of whole parts of the keys. It is empty if
// all fit into registers.
func (a *wide) scoresTile() kernel.Stmt {
	size, rows := expr.Int(0), a.scores.MostRows
	for _, t := range a.K.Once {
		if t := t.(*kernel.Tile); t.Name == a.scores.Dst.Name {
			size = t.Shape[0]
		}
	}
	part := expr.Int(int64(keysAtOnce * rows))
	size = expr.New(expr.Where, expr.New(expr.Lt, part, size), expr.New(expr.Mul, kernel.CeilDiv(size, int64(keysAtOnce*rows)), part), expr.Int(0))
	return &kernel.Tile{Name: scoresName, Type: expr.F32, Shape: []*expr.Expr{expr.Simplify(size)}}
}

// cell computes the results of some queries.
func (a *wide) cell() {
	f, size := a.F, a.size
	a.enterRows()
	f.Barrier() // all threads have read the previous cell's factors
	a.copyTo(a.factors, a.queries(), a.scores.MostRows, asm.Int(0), a.height, false)
	more := asm.Bool(true)
	for n := fewestKeys; n <= keysAtOnce; n *= 2 {
		fit := f.Do("setp.le.s32", size, asm.Int(n))
		f.If(f.Do("and.pred", more, fit), func() { a.once(n) })
		more = f.Do("not.pred", fit)
	}
	f.If(more, a.often)
}

// copyTo begins to copy rows of a head, from first on. Rows from left on are 0, up to a whole group.
// Key 4 n + i of a permuted group goes to row 8 i + n.
func (a *wide) copyTo(factor emit.Address, from flat.Operand, rows int, first, left asm.Value, permuted bool) {
	f, units := a.F, a.width/wideUnit
	together := min(1<<(bits.Len(uint(a.Group.Threads/units))-1), wideGroup) // rows
	row, unit := a.Divide(a.Group.ID, asm.Int(units))
	near := f.Do("mul.lo.s32", unit, asm.Int(wideUnit))
	place := func(row int) int { return row }
	at := row
	if permuted {
		place = func(row int) int { return row&^31 | row&3<<3 | row>>2&7 }
		at = f.Do("or.b32", f.Do("shl.b32", f.Do("and.b32", row, asm.Int(3)), asm.Int(3)), f.Do("shr.u32", row, asm.Int(2)))
	}
	to := a.Element(factor, f.Do("mad.lo.s32", at, asm.Int(a.pitch), near))
	source := a.Operand(from, f.Do("add.s32", first, row), near)
	by := a.Stride(source, from.RS, together)
	mine := asm.Bool(true)
	if together*units < a.Group.Threads {
		mine = f.Do("setp.lt.s32", a.Group.ID, asm.Int(together*units))
	}
	before := f.Do("sub.s32", left, row)
	for n := 0; n < rows; n += wideGroup {
		f.If(f.Do("and.pred", mine, f.Do("setp.lt.s32", asm.Int(n), left)), func() {
			at := source
			at = a.Behind(at, a.Stride(source, from.RS, n))
			for here := n; here < n+wideGroup; here += together {
				size := a.Choose(f.Do("setp.lt.s32", asm.Int(here), before), asm.Int(emit.UnitBytes), asm.Int(0))
				f.CopyAsync(to.Further(place(here)*a.pitch).Address, at.Address, size)
				at = a.Behind(at, by)
			}
		})
	}
}

// bring begins to copy n keys, which are permuted, or values, from first on, to rows from top on.
func (a *wide) bring(from flat.Operand, permuted bool, top, n int, first asm.Value) {
	a.copyTo(a.factors.Further((a.scores.MostRows+top)*a.pitch), from, n, first, a.F.Do("sub.s32", a.size, first), permuted)
	a.F.CommitCopies()
}

// bringKeys is bring for keys, and waits for them.
func (a *wide) bringKeys(n int, first asm.Value) {
	a.bring(a.keys(), true, 0, n, first)
	a.settle()
}

// once computes a cell of up to n keys, whose scores all fit into registers.
func (a *wide) once(n int) {
	f, zero := a.F, asm.Int(0)
	a.has(n)
	a.copyBands(a.height, zero, zero, a.size)
	a.begin()
	switch {
	case 2*n <= a.room: // keys and values
		a.bring(a.keys(), true, 0, n, zero)
		a.bring(a.vs(), false, n, n, zero)
		f.WaitCopies(1)
		f.Barrier()
		a.multiply(zero, 0, a.to)
	case n <= a.room:
		a.bringKeys(n, zero)
		a.multiply(zero, 0, a.to)
		f.Barrier()
		a.bring(a.vs(), false, 0, n, zero)
	default:
		a.scoresOf(zero)
	}
	from, o := a.reduceOnce(a.elements), a.zeros()
	if n <= a.room {
		a.settle()
		top := 0
		if 2*n <= a.room {
			top = n
		}
		a.weigh(o, from, zero, top, 0, a.to)
	} else {
		a.addWeighted(o, from, zero)
	}
	a.finish(o)
}

// often computes a cell with more keys, some in registers at a time. Scores are kept in memory from one
// reduction to the next, where only their lane reads them.
func (a *wide) often() {
	a.has(keysAtOnce)
	a.scalars(0)
	from, kept := 0, false
	for i, s := range a.follow {
		if r, ok := a.overKeys(s); ok {
			sums := a.sums(r)
			a.overParts(from, i, kept, func(first asm.Value) {
				a.groups(first, func(m int, key asm.Value) {
					a.elements(from, i, m, key)
					a.partial(r, sums, m, key)
					for h := range a.row {
						a.F.Store(a.kept(first, m, h).Address, a.four(a.scores.Dst.Name, h, m)...)
					}
				})
			})
			a.combine(r, sums)
			from, kept = i+1, true
			a.scalars(from)
		}
	}
	o := a.zeros()
	a.overParts(from, len(a.follow), kept, func(first asm.Value) { a.addWeighted(o, from, first) })
	a.finish(o)
}

// overParts calls do for each part of the keys, with its scores in registers, as far as statements
// before from have computed them. Statements [from, to) follow.
func (a *wide) overParts(from, to int, kept bool, do func(first asm.Value)) {
	f := a.F
	a.Count(asm.Int(0), a.size, asm.Int(keysAtOnce), func(first asm.Value) {
		a.begin()
		if a.readsBands(from, to) {
			f.Barrier()
			a.copyBands(a.height, first, first, f.Do("sub.s32", a.size, first))
			if kept {
				f.Barrier()
			}
		}
		if kept {
			a.groups(first, func(m int, _ asm.Value) {
				for h := range a.row {
					f.LoadInto(a.kept(first, m, h).Address, a.four(a.scores.Dst.Name, h, m)...)
				}
			})
		} else {
			a.scoresOf(first)
		}
		do(first)
	})
}

// scoresOf computes the scores of the part from first on.
func (a *wide) scoresOf(first asm.Value) {
	a.chunks(first, func(at asm.Value, n, m int) {
		a.F.Barrier()
		a.bringKeys(n, at)
		a.multiply(first, m, m+n/wideGroup)
	})
}

// addWeighted computes statements from from on for the part from first on, and adds the products of its
// weights with values.
func (a *wide) addWeighted(o emit.Accumulators, from int, first asm.Value) {
	a.chunks(first, func(at asm.Value, n, m int) {
		a.F.Barrier()
		a.bring(a.vs(), false, 0, n, at)
		a.settle()
		a.weigh(o, from, first, 0, m, m+n/wideGroup)
	})
}

// chunks calls do for the keys of a part that are in shared memory at once: their first, their number,
// and their first group.
func (a *wide) chunks(first asm.Value, do func(at asm.Value, n, m int)) {
	n := min(a.room, a.many)
	for k := 0; k < a.many; k += n {
		at := a.F.Do("add.s32", first, asm.Int(k))
		a.F.If(a.F.Do("setp.lt.s32", at, a.size), func() { do(at, n, k/wideGroup) })
	}
}

// readsBands reports whether statements [from, to) read bands.
func (a *wide) readsBands(from, to int) bool {
	for e, col := range readBy(a.follow[from:to]) {
		if bandAt(a.bands, e, col) >= 0 {
			return true
		}
	}
	return false
}

// kept returns the place of a lane's scores of group m of the part from first on, in row h.
func (a *wide) kept(first asm.Value, m, h int) emit.Address {
	at := a.Element(a.scratch, a.F.Do("mul.lo.s32", first, asm.Int(a.scores.MostRows)))
	return at.Further((m*wideRows + h) * a.Group.Threads * wideUnit)
}

// begin sets the scores to 0.
func (a *wide) begin() { a.parts[a.scores.Dst.Name] = a.zeroArray() }

// zeroArray returns a lane's elements of an array by query and key.
func (a *wide) zeroArray() emit.Accumulators {
	p := make(emit.Accumulators, a.to)
	for m := range p {
		p[m] = a.fours(len(a.row))
	}
	return p
}

// zeros returns a lane's results, by row and 32 columns.
func (a *wide) zeros() emit.Accumulators {
	o := make(emit.Accumulators, len(a.row))
	for h := range o {
		o[h] = a.fours((a.width + wideColumns - 1) / wideColumns)
	}
	return o
}

// fours returns n fours of zeros.
func (a *wide) fours(n int) [][]asm.Value {
	all := make([][]asm.Value, n)
	for i := range all {
		all[i] = a.F.Variables(wideUnit, asm.F32(0))
	}
	return all
}

// multiply computes the scores of groups [m0, m1) of the part from first on, two at a time. Shared memory
// has the keys from group m0 on.
func (a *wide) multiply(first asm.Value, m0, m1 int) {
	f := a.F
	sees := func(m int) asm.Value {
		return f.Do("setp.lt.s32", f.Do("add.s32", first, asm.Int(m*wideGroup)), a.open)
	}
	for m := m0; m < m1; m += 2 {
		k, one := a.k.Further((m-m0)*wideGroup*a.pitch), sees(m)
		if m+1 < m1 {
			two := sees(m + 1)
			f.If(two, func() { a.products(a.scores.Dst.Name, a.q, warpRows/wideRows, k, m, m+1) })
			one = f.Do("and.pred", one, f.Do("not.pred", two))
		}
		f.If(one, func() { a.products(a.scores.Dst.Name, a.q, warpRows/wideRows, k, m) })
	}
}

// products adds the products of a lane's rows, from q on and so far apart, and of adjacent groups of keys,
// from k on, to an array.
func (a *wide) products(array string, q emit.Address, apart int, k emit.Address, groups ...int) {
	q, k = a.Pointer(q), a.Pointer(k)
	a.Count(asm.Int(0), asm.Int(a.width/wideUnit), asm.Int(1), func(asm.Value) {
		var x [][]asm.Value
		for h := range a.row {
			x = append(x, a.Load(q.Further(h*apart*a.pitch), wideUnit))
		}
		for n, m := range groups {
			for i := range wideUnit {
				y := a.Load(k.Further((n*wideGroup+8*i)*a.pitch), wideUnit)
				for e := range wideUnit {
					for h := range a.row {
						acc := a.four(array, h, m)[i]
						a.F.Into(acc, "fma.rn.f32", x[h][e], y[e], acc)
					}
				}
			}
		}
		a.Advance(q, asm.Int(emit.UnitBytes))
		a.Advance(k, asm.Int(emit.UnitBytes))
	})
}

// weigh computes statements from from on, for groups [m0, m1) of the part from first on, and adds
// the products of their weights with values, which are in rows from top on. The products of keys that
// do not exist are -0, which changes no sum.
func (a *wide) weigh(o emit.Accumulators, from int, first asm.Value, top, m0, m1 int) {
	f := a.F
	many, least := a.to, a.from
	a.from, a.to = m0, m1
	a.groups(first, func(m int, key asm.Value) {
		a.elements(from, len(a.follow), m, key)
		if m > m0 {
			f.WarpSync() // all lanes have read the weights before
		}
		for h := range a.row {
			a.putFour(h, a.four(a.scores.Dst.Name, h, m), key, a.size)
		}
		f.WarpSync()
		left := f.Do("sub.s32", a.size, f.Do("add.s32", first, asm.Int(m*wideGroup)))
		left = f.Do("min.s32", left, asm.Int(wideGroup))
		further := (top + (m-m0)*wideGroup) * a.pitch
		a.addValues(o, columns{a.v.first.Further(further), a.v.last.Further(further)}, left, 1, nil)
	})
	a.from, a.to = least, many
}

// putFour stores four weights of row h. Weights from size on do not exist: they become -0.
func (a *wide) putFour(h int, four []asm.Value, first, size asm.Value) {
	so := make([]asm.Value, len(four))
	for i, w := range four {
		there := a.F.Do("setp.lt.s32", a.F.Do("add.s32", first, asm.Int(i)), size)
		so[i] = a.Choose(there, w, asm.F32(float32(math.Copysign(0, -1))))
	}
	a.F.Store(a.put.Further(h*warpRows/wideRows*weightPitch).Address, so...)
}

// addValues adds the products of left weights with values, in rows that are so far apart: 1, or 8 if they
// are permuted. It leaves out rows of the results that are not there; nil: all are.
func (a *wide) addValues(o emit.Accumulators, v columns, left asm.Value, apart int, there []asm.Value) {
	w, first, last := a.Pointer(a.take), a.Pointer(v.first), a.Pointer(v.last)
	next := asm.Int(emit.UnitBytes * a.pitch)
	if apart > 1 {
		next = asm.Int(emit.WordBytes * a.pitch)
	}
	whole := left
	if a.onward {
		whole = a.F.Do("and.b32", left, asm.Int(-wideUnit))
	}
	a.Count(asm.Int(0), whole, asm.Int(wideUnit), func(asm.Value) {
		x := a.weightsAt(w)
		for i := range wideUnit {
			a.addOne(o, x, i, columns{first, last}, apart, there)
		}
		a.Advance(w, asm.Int(emit.UnitBytes))
		a.Advance(first, next)
		a.Advance(last, next)
	})
	if a.onward {
		rest := a.F.Do("and.b32", left, asm.Int(wideUnit-1))
		a.F.If(a.F.Do("setp.lt.s32", asm.Int(0), rest), func() {
			x := a.weightsAt(w)
			for i := range wideUnit - 1 {
				a.F.If(a.F.Do("setp.lt.s32", asm.Int(i), rest), func() { a.addOne(o, x, i, columns{first, last}, apart, there) })
			}
		})
	}
}

// weightsAt loads four weights of each row of a lane.
func (a *wide) weightsAt(w emit.Address) (x [][]asm.Value) {
	for h := range a.row {
		x = append(x, a.Load(w.Further(h*warpRows/wideRows*weightPitch), wideUnit))
	}
	return x
}

// addOne adds the products of weight i of each row with a value.
func (a *wide) addOne(o emit.Accumulators, x [][]asm.Value, i int, v columns, apart int, there []asm.Value) {
	for j := range o[0] {
		at := v.first.Further(i*apart*a.pitch + j*wideColumns)
		if j == a.width/wideColumns {
			at = v.last.Further(i * apart * a.pitch)
		}
		for c, y := range a.Load(at, wideUnit) {
			for h := range a.row {
				add := func() { a.F.Into(o[h][j][c], "fma.rn.f32", x[h][i], y, o[h][j][c]) }
				if there == nil {
					add()
				} else {
					a.F.Guarded(there[h], add)
				}
			}
		}
	}
}

// finish writes the results after their epilogue, and the leaves of each row.
func (a *wide) finish(o emit.Accumulators) {
	a.writeWide(o, a.values, a.out, a.row, a.height)
	a.leave()
}

// writeWide writes a product after its epilogue, for the rows of a lane below a limit.
func (a *wide) writeWide(o emit.Accumulators, d *kernel.Dot, out []*kernel.Set, rows []asm.Value, limit asm.Value) {
	f := a.F
	for h, row := range rows {
		f.If(f.Do("setp.lt.s32", row, limit), func() {
			for j, four := range o[h] {
				there := asm.Bool(true)
				if j == a.width/wideColumns {
					there = f.Do("setp.lt.s32", a.key, asm.Int(a.width%wideColumns))
				}
				a.When(there, func() { a.writeFour(d, out, row, f.Do("add.s32", a.key, asm.Int(j*wideColumns)), four) })
			}
		})
	}
}
