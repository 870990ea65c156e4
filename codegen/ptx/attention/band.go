package attention

import (
	"fmt"
	"iter"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A band is the part of a buffer that scores read by distance: row r and column n read element
// first + n - r. It is copied to shared memory once for all rows and keys there.
type band struct {
	buffer string
	first  *expr.Expr
}

// bandsOf returns the bands that statements by row read.
func (a *attention) bandsOf() (all []band) {
	ofRow := map[string]bool{emit.RowVar: true}
	for _, s := range a.follow {
		if name := kernel.Bound(s); name != "" {
			ofRow[name] = true
		}
	}
	for e, col := range readBy(a.follow) {
		first, ok := byDistance(e, col)
		if ok && a.buffers[e.Name] && e.Type == expr.F32 && !expr.DependsOnAny(first, ofRow) && bandAt(all, e, col) < 0 {
			all = append(all, band{e.Name, first})
		}
	}
	return all
}

// readBy yields the elements that statements read for each value of an axis, and the axis.
func readBy(body []kernel.Stmt) iter.Seq2[*expr.Expr, string] {
	return func(yield func(e *expr.Expr, axis string) bool) {
		for _, s := range body {
			for _, a := range kernel.Axes(s) {
				for _, e := range expr.Elems(kernel.Reads(s)...) {
					if !yield(e, a.Var) {
						return
					}
				}
			}
		}
	}
}

// byDistance returns the index of an element at row and column 0, if it is otherwise further by the
// column and nearer by the row.
func byDistance(e *expr.Expr, col string) (first *expr.Expr, ok bool) {
	if e.Op != expr.Elem || len(e.Args) != 1 {
		return nil, false
	}
	right, rest, ok := expr.Affine(e.Args[0], col)
	if !ok || !expr.IsInt(right, 1) {
		return nil, false
	}
	down, first, ok := expr.Affine(rest, emit.RowVar)
	return first, ok && expr.IsInt(down, -1)
}

// bandAt returns the index of the band that an element belongs to, or -1.
func bandAt(all []band, e *expr.Expr, col string) int {
	for i, b := range all {
		if e.Name != b.buffer {
			continue
		}
		if first, ok := byDistance(e, col); ok && expr.Equal(first, b.first) {
			return i
		}
	}
	return -1
}

// bandTile returns the name of a band's tile; no kernel's tile has this name. Place rows - 1 is for
// row and key 0.
func bandTile(i int) string { return fmt.Sprintf("band.%d", i) }

// bandTiles returns the tiles of bands for so many rows.
func (a *attend) bandTiles(rows int) (tiles []kernel.Stmt) {
	a.bandRows = rows
	for i := range a.bands {
		size := expr.Int(int64(rows + a.many))
		tiles = append(tiles, &kernel.Tile{Name: bandTile(i), Type: expr.F32, Shape: []*expr.Expr{size}})
	}
	return tiles
}

// copyBands copies the bands for rows below height, and left keys from first on, which is so many keys
// before key 0 if number is negative. Other places are 0.
func (a *attend) copyBands(height, first, number, left asm.Value) {
	f := a.F
	for i, b := range a.bands {
		origin := f.Do("add.s32", a.Value(b.first), first)
		begin := f.Do("sub.s32", asm.Int(a.bandRows), height)
		if a.moves {
			begin = f.Do("sub.s32", begin, f.Do("min.s32", number, asm.Int(0)))
		}
		end := f.Do("add.s32", left, asm.Int(a.bandRows-1))
		n := a.bandRows + a.many
		for from := 0; from < n; from += a.Group.Threads {
			place := f.Do("add.s32", a.Group.ID, asm.Int(from))
			v := f.Variable(asm.F32(0))
			there := f.Do("and.pred", f.Do("setp.le.s32", begin, place), f.Do("setp.lt.s32", place, end))
			index := f.Do("add.s32", origin, f.Do("add.s32", place, asm.Int(1-a.bandRows)))
			at := a.Element(a.Slices[b.buffer], index)
			f.Guarded(there, func() { f.LoadInto(at.Address, v) })
			to := a.Element(a.Slices[bandTile(i)], place)
			taken := asm.Bool(true)
			if n-from < a.Group.Threads {
				taken = f.Do("setp.lt.s32", place, asm.Int(n))
			}
			f.Guarded(taken, func() { f.Store(to.Address, v) })
		}
	}
}

// enterBands finds the place of a lane's first key and last row in each band. The cell's first row is row
// before of the bands.
func (a *attend) enterBands(before asm.Value) {
	a.nearBands = nil
	for i := range a.bands {
		row := a.F.Do("add.s32", before, a.row[len(a.row)-1])
		a.nearBands = append(a.nearBands, a.ofBand(i, a.F.Do("sub.s32", a.key, row)))
	}
}

// nearBand returns the elements of bands for row h of a lane and its four keys of group m.
func (a *attend) nearBand(h, m int) func(n, key int) asm.Value {
	return func(n, key int) asm.Value {
		return a.Load(a.nearBands[n].Further((len(a.row)-1-h)*warpRows/len(a.row)+m*a.group+key), 1)[0]
	}
}

// ofBand returns the place of a distance in a band.
func (a *attend) ofBand(i int, distance asm.Value) emit.Address {
	return a.Element(a.Slices[bandTile(i)], a.F.Do("add.s32", distance, asm.Int(a.bandRows-1)))
}
