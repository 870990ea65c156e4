package attention

import (
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

const (
	// keysAtOnce is how many keys a warp holds scores for in registers: four for each partial
	// sum of a row. Key n + keysAtOnce adds to the same partial sum as key n.
	keysAtOnce = 128

	columnsAtOnce = 64 // columns of a warp's rows in registers during a product

	warpRows = emit.FragmentRows
	laneRows = 2 // rows of a lane that has fragments: g and g + 8

	attentionBeside = 2 // blocks: one computes while the other waits; 3 have too few registers
)

// An attend builds an attention. Lane 4g + t of a warp has four keys from 16 m + 4t on, of rows g
// and g + 8. Rows of keys and values are permuted within 16, so that these keys are the lane's
// columns in two adjacent accumulators. A lane with more rows shares them with more lanes, and
// groups of keys are larger.
type attend struct {
	*emit.Builder
	*attention
	width        int         // of a head
	many         int         // keys at once: keysAtOnce, or half of them
	from, to     int         // groups of 16 keys, computed together
	height, size asm.Value   // queries and keys of a cell
	open         asm.Value   // how many keys the warp's queries may see
	group        int         // keys of a group: four for each lane of a row
	row          []asm.Value // rows of the cell, by row of a lane
	inside       []asm.Value // row, at most the cell's last
	key          asm.Value   // first key of a lane
	even         asm.Value   // whether t is even
	q, k, v      emit.Swizzled
	left         emit.Factor                  // queries of the warp
	right, below emit.Factor                  // keys and values
	parts        map[string]emit.Accumulators // scores and other arrays by query and key, with 16 rows
	wanted       map[string]bool              // arrays that are computed; nil: all
	known        []map[string]asm.Value       // values of rows
	bandRows     int                          // of bands
	nearBands    []emit.Address               // places of a lane's first key and last row
	moves        bool                         // rows begin with different keys
	// held returns the place of a lane's four columns of a row that is in shared memory.
	held func(e *expr.Expr, name string, h, m int) (at emit.Address, ok bool)
}

// cellsOf returns the cells of a kernel's grid.
func cellsOf(p *emit.Builder, m *attention) emit.Cells {
	f := p.F
	f.Beside = attentionBeside
	first := f.Do("mul.lo.s32", p.Warp, asm.Int(emit.FragmentRows))
	a := newAttend(p, m, first, laneRows)
	rows := []int{m.scores.MostRows, keysAtOnce}
	if a.apart() {
		rows = append(rows, keysAtOnce)
	}
	factors := a.shared(rows...)
	a.q, a.k, a.v = factors[0], factors[1], factors[len(factors)-1]
	zero := asm.Int(0)
	p.Place(a.bandTiles(m.scores.MostRows), nil)
	a.enterBands(zero)
	a.left = p.FactorOf(a.q, true, true, first, zero, a.width)
	a.right = p.FactorOf(a.k, false, true, zero, zero, a.width)
	a.below = p.FactorOf(a.v, false, false, zero, zero, a.width)
	return a.cells(func() {
		a.open = a.openTo(m.lets, p.K.Grid[len(p.K.Grid)-1].Var, first)
		f.If(f.Do("setp.lt.s32", zero, a.height), a.cell)
	})
}

// cells returns the cells of the grid, which have some rows and keys.
func (a *attend) cells(do func()) emit.Cells {
	return a.Grid(func() {
		a.enterLets(a.lets)
		a.height, a.size = a.Value(a.scores.Axes[0].Size), a.Value(a.scores.Axes[1].Size)
		do()
	})
}

// enterLets gives lets their values.
func (a *attend) enterLets(lets []*kernel.Let) {
	for _, l := range lets {
		a.Vars[l.Name] = a.Value(l.Value)
	}
}

// newAttend returns an attend for a warp whose rows begin at first within the cell, and whose lanes have
// so many rows.
func newAttend(p *emit.Builder, m *attention, first asm.Value, rows int) *attend {
	f := p.F
	a := &attend{Builder: p, attention: m, width: int(m.scores.Axes[2].Size.I), parts: map[string]emit.Accumulators{}}
	lanes := emit.WarpThreads * rows / warpRows // of a row
	g, t := f.Do("shr.u32", p.Lane, asm.Int(bits.Len(uint(lanes))-1)), f.Do("and.b32", p.Lane, asm.Int(lanes-1))
	a.group = 4 * lanes
	a.has(keysAtOnce)
	for h := range rows {
		a.row = append(a.row, f.Do("add.s32", f.Do("add.s32", first, g), asm.Int(warpRows/rows*h)))
	}
	a.held = func(*expr.Expr, string, int, int) (at emit.Address, ok bool) { return at, false }
	a.inside, a.known = make([]asm.Value, rows), make([]map[string]asm.Value, rows)
	a.key, a.even = f.Do("mul.lo.s32", t, asm.Int(4)), f.Do("setp.eq.s32", f.Do("and.b32", t, asm.Int(1)), asm.Int(0))
	return a
}

// has sets how many keys are in shared memory at once.
func (a *attend) has(keys int) { a.many, a.from, a.to = keys, 0, keys/a.group }

// inHalves calls do for the first half of the groups, then for the second.
func (a *attend) inHalves(do func()) {
	from, to := a.from, a.to
	middle := (from + to) / 2
	a.to = middle
	do()
	a.from, a.to = middle, to
	do()
	a.from = from
}

// openTo returns how many keys a warp's queries, from row from on, may see. It evaluates the
// lets as if these queries were a block; block is the variable that counts blocks. Where the
// first key depends on the block, it returns the number of the block's keys.
func (a *attend) openTo(lets []*kernel.Let, block string, from asm.Value) asm.Value {
	f, vars := a.F, maps.Clone(a.Vars)
	i := slices.IndexFunc(lets, func(l *kernel.Let) bool { return expr.Depends(l.Value, block) })
	if i < 0 || i+1 == len(lets) || expr.Depends(expr.Subst(a.keys().Off, a.meanings), block) {
		return a.Choose(f.Do("setp.lt.s32", from, a.height), a.size, asm.Int(0))
	}
	first, height := lets[i].Name, lets[i+1].Name
	left := f.Do("sub.s32", a.height, from)
	a.Vars[first] = f.Do("add.s32", a.Vars[first], from)
	a.Vars[height] = f.Do("min.s32", left, asm.Int(emit.FragmentRows))
	depend := map[string]bool{first: true, height: true}
	for _, l := range lets[i+2:] {
		if expr.DependsOnAny(l.Value, depend) {
			a.Vars[l.Name], depend[l.Name] = a.Value(l.Value), true
		}
	}
	n := a.Value(a.scores.Axes[1].Size)
	a.Vars = vars
	return a.Choose(f.Do("setp.lt.s32", asm.Int(0), left), n, asm.Int(0))
}

// shared allocates a matrix of a head's width for each number of rows. All lie in one array,
// so that a lane's addresses in two matrices differ by a constant.
func (a *attend) shared(rows ...int) (all []emit.Swizzled) {
	row, bytes := a.width*emit.NarrowBytes, 0
	for _, n := range rows {
		bytes += n * row
	}
	a.Launch.Static += bytes
	const name = "factors"
	at := asm.Shared.At(name, a.F.SharedArray(name, bytes))
	for _, n := range rows {
		all = append(all, emit.Swizzled{Address: at, Cols: a.width, Format: emit.NarrowFormat, Twos: false})
		at = at.Plus(n * row)
	}
	return all
}

// apart reports whether keys and values fit into shared memory together.
func (a *attend) apart() bool {
	return (2*keysAtOnce+a.scores.MostRows)*a.width*emit.NarrowBytes <= asm.MostStatic
}

// cell computes the results of some queries.
func (a *attend) cell() {
	f := a.F
	a.enterRows()
	f.Barrier() // all threads have read the previous cell's factors
	a.copy(a.q, asm.Int(0), a.queries(), a.scores.MostRows, asm.Int(0), a.height, false)
	few := f.Do("setp.le.s32", a.size, asm.Int(keysAtOnce))
	f.If(few, a.once)
	f.If(f.Do("not.pred", few), a.often)
}

// enterRows begins with the rows of a cell.
func (a *attend) enterRows() {
	last := a.F.Do("add.s32", a.height, asm.Int(-1))
	for h, row := range a.row {
		a.inside[h] = a.F.Do("min.s32", row, last)
		a.known[h] = map[string]asm.Value{}
	}
}

// copy begins to copy rows of a head, from first on, to rows from top on. Rows from left on are 0, and
// so are rows before row 0. With fours, rows are permuted within 16: row 4 n + 2 j + i goes to row
// 8 j + 2 n + i.
func (a *attend) copy(to emit.Swizzled, top asm.Value, from flat.Operand, rows int, first, left asm.Value, fours bool) {
	f, units := a.F, a.width/emit.UnitWide
	together := a.Group.Threads / units // rows
	row, unit := a.Divide(a.Group.ID, asm.Int(units))
	near := f.Do("mul.lo.s32", unit, asm.Int(emit.UnitWide))
	for slot := 0; slot*together < rows; slot++ {
		place := f.Do("add.s32", row, asm.Int(slot*together))
		at, here := a.UnitOf(to, f.Do("add.s32", top, place), unit), place
		if fours {
			here = f.Do("or.b32", f.Do("or.b32", f.Do("and.b32", place, asm.Int(^14)), a.bits(place, 3, 1, 1)), a.bits(place, 1, 3, 2))
		}
		there := f.Do("setp.lt.s32", here, left)
		if a.moves {
			there = f.Do("and.pred", there, f.Do("setp.le.s32", asm.Int(0), f.Do("add.s32", first, here)))
		}
		size := a.Choose(there, asm.Int(emit.UnitBytes), asm.Int(0))
		source := a.Operand(from, f.Do("add.s32", first, here), near)
		taken := asm.Bool(true)
		if n := min(together, rows-slot*together) * units; n < a.Group.Threads {
			taken = f.Do("setp.lt.s32", a.Group.ID, asm.Int(n))
		}
		f.Guarded(taken, func() { f.CopyAsync(at, source.Address, size) })
	}
}

// bits returns the bits of x that a mask takes from bit right on, moved to bit left.
func (a *attend) bits(x asm.Value, right, mask, left int) asm.Value {
	return a.F.Do("shl.b32", a.F.Do("and.b32", a.F.Do("shr.u32", x, asm.Int(right)), asm.Int(mask)), asm.Int(left))
}

// arrive ends a group of copies and waits for the copies of all threads.
func (a *attend) arrive() {
	a.F.CommitCopies()
	a.settle()
}

// settle waits for the groups of copies of all threads.
func (a *attend) settle() {
	a.F.WaitCopies(0)
	a.F.Barrier()
}

// once computes a cell whose scores all fit into registers.
func (a *attend) once() {
	zero := asm.Int(0)
	a.bring(zero, a.size, true)
	from := a.reduceOnce(a.elements)
	a.settle()
	o := a.zeros()
	a.groups(zero, func(m int, key asm.Value) {
		a.elements(from, len(a.follow), m, key)
		a.values16(o, m, key)
	})
	a.results(o)
}

// often computes a cell with more keys: each reduction over keys computes the scores again.
func (a *attend) often() {
	a.reduceAgain(func(do func(first asm.Value)) { a.blocks(do, false) })
	o := a.zeros()
	a.blocks(func(first asm.Value) {
		a.groups(first, func(m int, key asm.Value) {
			a.elements(0, len(a.follow), m, key)
			a.values16(o, m, key)
		})
	}, true)
	a.results(o)
}

// zeros returns accumulators for products with the warp's rows, as wide as a head.
func (a *attend) zeros() emit.Accumulators { return a.Zeros(emit.FragmentRows, a.width) }

// reduceOnce computes the statements that follow, up to the last reduction over keys, where
// all scores are in registers. It returns the index of the next statement. Elements computes
// statements [from, to) for four keys.
func (a *attend) reduceOnce(elements func(from, to, m int, key asm.Value)) (from int) {
	a.scalars(0)
	for i, s := range a.follow {
		if r, ok := a.overKeys(s); ok {
			sums := a.sums(r)
			a.groups(asm.Int(0), func(m int, key asm.Value) {
				elements(from, i, m, key)
				a.partial(r, sums, m, key)
			})
			a.combine(r, sums)
			from = i + 1
			a.scalars(from)
		}
	}
	return from
}

// reduceAgain computes reductions where scores are not in registers: each reduction computes
// its operands again, by parts of the keys.
func (a *attend) reduceAgain(parts func(do func(first asm.Value))) {
	a.scalars(0)
	for i, s := range a.follow {
		if r, ok := a.overKeys(s); ok {
			sums := a.sums(r)
			a.wanted = a.wantedBy(i)
			parts(func(first asm.Value) {
				a.groups(first, func(m int, key asm.Value) {
					a.elements(0, i, m, key)
					a.partial(r, sums, m, key)
				})
				a.swap(sums)
			})
			a.wanted = nil
			a.combine(r, sums)
			a.scalars(i + 1)
		}
	}
}

// wantedBy returns the arrays and random words that a reduction needs.
func (a *attend) wantedBy(reduction int) map[string]bool {
	wanted := map[string]bool{}
	want := func(s kernel.Stmt) {
		for _, e := range expr.Elems(kernel.Reads(s)...) {
			wanted[e.Name] = true
		}
	}
	want(a.follow[reduction])
	for _, s := range slices.Backward(a.follow[:reduction]) {
		if set, ok := s.(*kernel.Set); ok && wanted[set.Dst.Name] {
			want(set)
		}
	}
	return wanted
}

// wants reports whether an array, or random words, are computed.
func (a *attend) wants(name string) bool { return a.wanted == nil || a.wanted[name] }

// blocks computes the scores of keysAtOnce keys at a time, and calls do with the first key.
func (a *attend) blocks(do func(first asm.Value), values bool) {
	a.Count(asm.Int(0), a.size, asm.Int(keysAtOnce), func(first asm.Value) {
		left := a.F.Do("sub.s32", a.size, first)
		a.F.Barrier()
		a.bring(first, left, values)
		if values {
			a.settle()
		}
		do(first)
	})
}

// bring computes the scores of a block of keys. With values, it also begins to copy their
// values: at once if both fit, otherwise after all threads have read the keys.
func (a *attend) bring(first, left asm.Value, values bool) {
	f, wait := a.F, 0
	a.copy(a.k, asm.Int(0), a.keys(), keysAtOnce, first, left, true)
	f.CommitCopies()
	behind := func() {
		a.copy(a.v, asm.Int(0), a.vs(), keysAtOnce, first, left, true)
		f.CommitCopies()
	}
	if values && a.apart() {
		behind()
		wait = 1
	}
	a.copyBands(a.height, first, first, left)
	f.WaitCopies(wait)
	f.Barrier()
	a.product(a.scores.Dst.Name, a.left, a.right, first)
	if values && !a.apart() {
		f.Barrier()
		behind()
	}
}

// groups calls do for each group of keys, from first on, that the warp's queries may see.
// The weights of other keys are 0, which changes no sum.
func (a *attend) groups(first asm.Value, do func(m int, key asm.Value)) {
	f := a.F
	for m := a.from; m < a.to; m++ {
		from := f.Do("add.s32", first, asm.Int(m*a.group))
		sees := f.Do("setp.lt.s32", from, a.open)
		if a.moves {
			sees = f.Do("and.pred", sees, f.Do("setp.le.s32", asm.Int(0), from))
		}
		f.If(sees, func() { do(m, f.Do("add.s32", from, a.key)) })
	}
}

// product computes an array: the products of the warp's rows with keys from first on.
func (a *attend) product(name string, rows, keys emit.Factor, first asm.Value) {
	p := a.Zeros(emit.FragmentRows, a.many)
	a.parts[name] = p
	for k := 0; k < a.width; k += columnsAtOnce {
		var left [][]asm.Value
		for i := k; i < min(a.width, k+columnsAtOnce); i += emit.FragmentDeep {
			left = append(left, a.Fragment(rows, 0, i))
		}
		a.groups(first, func(m int, _ asm.Value) {
			pair := emit.Accumulators{p[0][2*m:][:2]}
			for i, l := range left {
				pair.Add(a.F, [][]asm.Value{l}, [][]asm.Value{a.Fragment(keys, m*emit.FragmentRows, k+i*emit.FragmentDeep)})
			}
		})
	}
}

// values16 rounds the weights of 16 keys and adds their products with values.
func (a *attend) values16(o emit.Accumulators, m int, key asm.Value) {
	a.rounded16(o, a.scores.Dst.Name, a.below, m, key)
}

// rounded16 rounds an array's elements for 16 keys and adds their products with rows of below.
func (a *attend) rounded16(o emit.Accumulators, name string, below emit.Factor, m int, key asm.Value) {
	f, p := a.F, a.parts[name]
	for h := range laneRows {
		for i, at := range a.four(name, h, m) {
			there := f.Do("setp.lt.s32", f.Do("add.s32", key, asm.Int(i)), a.size)
			f.Move(at, a.Choose(there, at, asm.F32(0)))
		}
	}
	left := [][]asm.Value{a.LeftOf(p[0][2*m], p[0][2*m+1])}
	for j := 0; j < a.width; j += emit.FragmentRows {
		pair := emit.Accumulators{o[0][j/emit.FragmentCols:][:2]}
		pair.Add(f, left, [][]asm.Value{a.Fragment(below, j, m*emit.FragmentRows)})
	}
}

// addClosed adds to sums over keys the products of the keys that groups left out. These are 0,
// which turns the -0 that an underflow leaves into 0.
func (a *attend) addClosed(sums ...emit.Accumulators) {
	f := a.F
	whole := f.Do("and.b32", f.Do("add.s32", a.open, asm.Int(emit.FragmentRows-1)), asm.Int(-emit.FragmentRows))
	none := a.Choose(f.Do("setp.lt.s32", whole, a.size), asm.F32(0), asm.F32(float32(math.Copysign(0, -1))))
	for _, o := range sums {
		o.AddAll(f, none)
	}
}

// results writes the last product after its epilogue, and the leaves of each row.
func (a *attend) results(o emit.Accumulators) {
	a.addClosed(o)
	a.write(o, a.values, a.out, a.row, a.height)
	a.leave()
}

// leave writes the leaves of each row.
func (a *attend) leave() {
	mine := a.F.Do("setp.eq.s32", a.key, asm.Int(0))
	for h, row := range a.row {
		a.F.If(a.F.Do("and.pred", mine, a.F.Do("setp.lt.s32", row, a.height)), func() {
			a.enter(h)
			for _, s := range a.leaves {
				a.Store(s.Dst, a.Value(s.Value))
			}
		})
	}
}
