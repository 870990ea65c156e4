// Package rows has two schedules. In one, of sums over rows, a block takes columns. In the other, of
// elementwise kernels such as an optimizer's, a thread takes its elements through all statements in
// registers (pointwise.go).
package rows

import (
	"fmt"
	"maps"
	"math"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A columns is a kernel whose one cell sums rows, column by column, into tiles of one row, or
// into variables. Blocks take few columns, so that there are many blocks. Some warps of a block
// compute the terms of many rows at a time and put them into shared memory. For each sum another
// warp adds the terms, a column a lane, in ascending order of rows, while memory answers the
// loads of the next rows.
type columns struct {
	rows  *kernel.For
	width *expr.Expr
	sums  []columnSum
	of    map[string]int // the sums by the names of their tiles
}

// A columnSum is a sum's initial value, its term of each row, and its destination.
type columnSum struct{ first, term, last column }

// A column is an expression in the column of a variable.
type column struct {
	*expr.Expr
	name string // "": there is one column
}

const (
	columnSums  = 2  // at most, so that staged terms fit into static shared memory
	columnWarps = 8  // of a block that compute terms
	columnLoads = 8  // rows that a lane reads at a time
	columnGroup = 32 // rows whose terms are added without a branch
	columnsFew  = 8  // of a block: a sector of F32
)

// PlanColumns plans sums of columns.
func PlanColumns(k *kernel.Kernel, _ emit.Launches) (emit.Plan, string) {
	c, why := columnsOf(k)
	if why != "" {
		return emit.Plan{}, why
	}
	threads := (columnWarps + len(c.sums)) * emit.WarpThreads
	pieces := fmt.Sprintf("%d columns, %d threads, %d rows a turn", c.across(), threads, columnWarps*c.each())
	return emit.Plan{Threads: threads, Whole: true, Pieces: pieces, Cells: func(p *emit.Builder) emit.Cells { return columnCells(p, c) }}, ""
}

func columnsOf(k *kernel.Kernel) (c columns, why string) {
	n := len(k.Body) / 2
	if len(k.Grid) > 0 || len(k.Body) != 2*n+1 || n < 1 || n > columnSums {
		return c, "it is not a loop over rows between the begin and the end of few sums"
	}
	var ok bool
	if c.rows, ok = k.Body[n].(*kernel.For); !ok || !expr.IsInt(c.rows.Lo, 0) {
		return c, "it has no loop over rows"
	}
	c.of = map[string]int{}
	buffers := emit.Arrays(k)
	for i, s := range k.Body[:n] {
		dst, value, why := c.assigned(s)
		if why != "" {
			return c, why
		}
		if _, taken := c.of[dst.Name]; taken || buffers[dst.Name] || dst.Type != expr.F32 || !dst.of(dst.Name) {
			return c, "a sum does not begin in a tile of its own"
		}
		c.of[dst.Name] = i
		c.sums = append(c.sums, columnSum{first: value})
	}
	if why := c.terms(); why != "" {
		return c, why
	}
	written := map[string]bool{}
	for _, s := range k.Body[n+1:] {
		dst, value, why := c.assigned(s)
		if why != "" {
			return c, why
		}
		i, known := c.of[value.Name]
		if !known || c.sums[i].last.Expr != nil || !buffers[dst.Name] || !value.of(value.Name) {
			return c, "it does not end with the sums going to buffers"
		}
		c.sums[i].last = dst
		written[dst.Name] = true
	}
	for s := range kernel.All(c.rows.Body) {
		for _, e := range expr.Elems(kernel.Reads(s)...) {
			if _, sum := c.of[e.Name]; !buffers[e.Name] && !sum || written[e.Name] {
				return c, "its rows read other tiles, or what it writes"
			}
		}
	}
	return c, ""
}

// assigned splits a statement that sets a row of all columns, or a variable for one column.
func (c *columns) assigned(s kernel.Stmt) (dst, value column, why string) {
	size := expr.Int(1)
	switch s := s.(type) {
	case *kernel.Var:
		if s.Value == nil {
			return dst, value, "a sum begins with nothing"
		}
		dst.Expr, value.Expr = expr.NewVar(s.Name, s.Type), s.Value
	case *kernel.Set:
		dst.Expr, value.Expr = s.Dst, s.Value
		if len(s.Axes) == 1 {
			dst.name, value.name, size = s.Axes[0].Var, s.Axes[0].Var, s.Axes[0].Size
		}
		if len(s.Axes) > 1 || !size.IsConst() {
			return dst, value, "it is more than sums of columns"
		}
	default:
		return dst, value, "it is more than sums of columns"
	}
	if c.width == nil {
		c.width = size
	}
	if !expr.Equal(c.width, size) {
		return dst, value, "its sums have different widths"
	}
	return dst, value, ""
}

// of reports whether an expression is an array's element in its column, or the variable.
func (c column) of(name string) bool {
	if c.name == "" {
		return c.Op == expr.Var && c.Name == name
	}
	return c.Op == expr.Elem && c.Name == name && len(c.Args) == 1 && expr.Equal(c.Args[0], expr.NewVar(c.name, expr.I32))
}

// terms finds the term of each sum. Other statements of a row must not access the sums.
func (c *columns) terms() string {
	for _, s := range c.rows.Body {
		r, reduces := s.(*kernel.Reduce)
		switch named := reduces || kernel.Is[*kernel.Let](s); {
		case named && c.read(kernel.Reads(s)...):
			return "a row reads the sums"
		case reduces && emit.Most(r.Axis.Size) == nil:
			return "what is reduced of a row has no bound"
		case named:
			continue
		}
		dst, value, why := c.assigned(s)
		if why != "" {
			return why
		}
		i, known := c.of[dst.Name]
		if !known || c.sums[i].term.Expr != nil || value.Op != expr.Add || !dst.of(dst.Name) || !(column{value.Args[0], value.name}).of(dst.Name) {
			return "a row does something else than adding to each sum once"
		}
		if c.read(value.Args[1]) {
			return "a row reads the sums"
		}
		c.sums[i].term = column{value.Args[1], value.name}
	}
	for _, s := range c.sums {
		if s.term.Expr == nil {
			return "a row does something else than adding to each sum once"
		}
	}
	return ""
}

// read reports whether expressions read the sums.
func (c *columns) read(es ...*expr.Expr) bool {
	for _, e := range append(expr.Elems(es...), expr.Vars(es...)...) {
		if _, sum := c.of[e.Name]; sum {
			return true
		}
	}
	return false
}

// across returns how many columns a block takes. All lanes of a warp reduce a row together, and
// then take a column each. Otherwise they take few columns of several rows.
func (c *columns) across() int {
	if kernel.Has(c.rows.Body, kernel.Is[*kernel.Reduce]) {
		return emit.WarpThreads
	}
	return columnsFew
}

// each returns how many rows a warp takes in a turn.
func (c *columns) each() int { return columnLoads * emit.WarpThreads / c.across() }

func columnCells(p *emit.Builder, c columns) emit.Cells {
	f, across, turn := p.F, c.across(), columnWarps*c.each()
	bytes := kernel.Bytes(expr.F32) * across * turn * 2 * len(c.sums)
	p.Launch.Static += bytes
	p.F.Beside = 1 // enough registers for two norms of eight rows
	if across == columnsFew {
		p.F.Beside = 2
	}
	stage := emit.Address{Address: asm.Shared.At(emit.StageName, f.SharedArray(emit.StageName, bytes)), Typ: expr.F32}
	half := f.Variable(asm.Int(0)) // where the elements staged in this turn begin
	lane := f.Do("and.b32", p.Lane, asm.Int(across-1))
	mine := f.Do("mad.lo.s32", p.Warp, asm.Int(c.each()), f.Do("div.u32", p.Lane, asm.Int(across))) // a lane's first row of a turn
	group := f.Do("and.b32", f.Do("mul.lo.s32", p.Warp, asm.Int(c.each())), asm.Int(-columnGroup))
	computes := f.Do("setp.lt.s32", p.Warp, asm.Int(columnWarps))
	adds := func(i int) asm.Value { return f.Do("setp.eq.s32", p.Warp, asm.Int(columnWarps+i)) }
	return emit.Cells{Count: kernel.CeilDiv(c.width, int64(across)), Body: func(cell asm.Value) {
		col := f.Do("mad.lo.s32", cell, asm.Int(across), lane)
		width := p.Value(c.width)
		at := f.Do("min.s32", col, f.Do("add.s32", width, asm.Int(-1)))
		var accs []asm.Value
		for _, s := range c.sums {
			p.Vars[s.first.name] = at
			accs = append(accs, f.Variable(p.Value(s.first.Expr)))
		}
		p.Bounds.Enter(c.rows)
		rows := p.Value(c.rows.Hi)
		p.Count(asm.Int(0), rows, asm.Int(turn), func(base asm.Value) {
			f.If(f.Do("and.pred", computes, f.Do("setp.lt.s32", f.Do("add.s32", base, group), rows)), func() {
				to := p.Element(stage, f.Do("add.s32", half, f.Do("mad.lo.s32", mine, asm.Int(across), lane)))
				for j, terms := range terms(p, &c, f.Do("add.s32", base, mine), rows, at) {
					for i, v := range terms {
						f.Store(to.Further(2*i*turn*across+j*emit.WarpThreads).Address, v)
					}
				}
			})
			f.Barrier()
			from := f.Do("add.s32", half, lane)
			for i, acc := range accs {
				f.If(adds(i), func() {
					staged := f.Do("min.s32", f.Do("sub.s32", rows, base), asm.Int(turn))
					p.Count(asm.Int(0), staged, asm.Int(columnGroup), func(row asm.Value) {
						first := p.Element(stage, f.Do("mad.lo.s32", row, asm.Int(across), from))
						for r := range columnGroup {
							f.Into(acc, "add.rn.f32", acc, p.Load(first.Further((2*i*turn+r)*across), 1)[0])
						}
					})
				})
			}
			f.Into(half, "sub.s32", asm.Int(turn*across), half)
		})
		for i, s := range c.sums {
			f.If(f.Do("and.pred", f.Do("and.pred", adds(i), f.Do("setp.lt.s32", p.Lane, asm.Int(across))), f.Do("setp.lt.s32", col, width)), func() {
				p.Vars[s.last.name] = col
				p.Store(s.last.Expr, accs[i])
			})
		}
	}}
}

// terms returns the terms of a lane's rows from row on, by sum. Rows beyond the last give -0,
// which changes no sum.
func terms(p *emit.Builder, c *columns, row, rows, col asm.Value) [][]asm.Value {
	f, mine, step := p.F, make([]map[string]asm.Value, columnLoads), emit.WarpThreads/c.across()
	last := f.Do("add.s32", rows, asm.Int(-1))
	for j := range mine {
		mine[j] = map[string]asm.Value{c.rows.Var: f.Do("min.s32", f.Do("add.s32", row, asm.Int(j*step)), last)}
	}
	enter := func(j int) { maps.Copy(p.Vars, mine[j]) }
	for _, s := range c.rows.Body {
		switch s := s.(type) {
		case *kernel.Let:
			for j := range mine {
				enter(j)
				mine[j][s.Name] = p.Value(s.Value)
			}
		case *kernel.Reduce:
			for j, v := range p.Reduces(s, len(mine), enter) {
				mine[j][s.Name] = v
			}
		}
	}
	terms := make([][]asm.Value, len(mine))
	for j := range mine {
		enter(j)
		there := f.Do("setp.lt.s32", f.Do("add.s32", row, asm.Int(j*step)), rows)
		for _, s := range c.sums {
			p.Vars[s.term.name] = col
			terms[j] = append(terms[j], p.Choose(there, p.Value(s.term.Expr), asm.F32(float32(math.Copysign(0, -1)))))
		}
	}
	return terms
}
