package ptx

import (
	"maps"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A segment is n adjacent elements, from column col on, that a thread computes statement by
// statement.
type segment struct {
	col    asm.Value
	n      int
	tiles  map[string][]asm.Value                     // values of arrays in registers
	loaded map[kernel.Stmt]map[*expr.Expr][]asm.Value // elements that have been read, by statement
}

// readAhead reads the operands of statements that no earlier statement writes, and returns how
// many registers they take.
func (p *printer) readAhead(body []kernel.Stmt, x *segment) (registers int) {
	written := maps.Clone(x.tiles)
	x.loaded = map[kernel.Stmt]map[*expr.Expr][]asm.Value{}
	for _, s := range body {
		if s, ok := s.(*kernel.Set); ok {
			value := p.own(s.Value)
			computed := elementsOf(value, written)
			loaded := maps.Clone(computed)
			p.loadBeside(value, s.Axes[0].Var, x.col, x.n, loaded)
			if x.n == 1 {
				p.loadEach(value, loaded)
			}
			maps.DeleteFunc(loaded, func(e *expr.Expr, _ []asm.Value) bool { _, is := computed[e]; return is })
			x.loaded[s], registers = loaded, registers+x.n*len(loaded)
		}
		written[kernel.Written(s)] = nil
	}
	return registers
}

// loadEach loads the other elements of an expression.
func (p *printer) loadEach(value *expr.Expr, loaded map[*expr.Expr][]asm.Value) {
	for _, e := range expr.Elems(value) {
		if _, has := loaded[e]; !has {
			loaded[e] = p.load(p.at(e, known{}), 1)
		}
	}
}

// segment computes the statements for a segment. Values of tiles stay in registers.
func (p *printer) segment(body []kernel.Stmt, x segment) {
	for _, s := range body {
		switch s := s.(type) {
		case *kernel.Random:
			counter := p.f.Do("add.s32", p.value(expr.New(expr.Div, s.Base, expr.Int(philoxWords))), p.f.Do("shr.u32", x.col, asm.Int(2)))
			words := p.wordsOf(s)(counter)
			x.tiles[s.Dst] = words[:]
		case *kernel.Set:
			name, value := s.Axes[0].Var, p.own(s.Value)
			loaded := elementsOf(value, x.tiles)
			maps.Copy(loaded, x.loaded[s])
			p.loadBeside(value, name, x.col, x.n, loaded)
			vs := p.across(value, name, x.col, x.n, loaded)
			if _, buffer := p.slices[s.Dst.Name]; !buffer {
				x.tiles[s.Dst.Name] = vs
				continue
			}
			p.storeFrom(s.Dst, name, x.col, vs)
		}
	}
}

// readsPlaces says which array is read at another place than written, or, if it is no buffer,
// before it is written. Arrays of filledBefore count as written.
func readsPlaces(body []kernel.Stmt, buffers map[string]bool, places map[string]*expr.Expr, filledBefore ...string) string {
	filled := map[string]bool{}
	for _, name := range filledBefore {
		filled[name] = true
	}
	for _, s := range body {
		vars := map[string]string{}
		for _, a := range kernel.Axes(s) {
			vars[a.Var] = colVar
		}
		for _, e := range expr.Elems(kernel.Reads(s)...) {
			if place := places[e.Name]; place != nil && !expr.Equal(place, at(e, vars)) {
				return "it reads other elements of " + e.Name + " than it writes"
			}
			if !buffers[e.Name] && !filled[e.Name] {
				return "it reads " + e.Name + " before it writes it"
			}
		}
		filled[kernel.Written(s)] = true
	}
	return ""
}
