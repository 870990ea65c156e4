package emit

import (
	"maps"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A Segment is n adjacent elements, from column col on, that a thread computes statement by
// statement.
type Segment struct {
	Col    asm.Value
	N      int
	Tiles  map[string][]asm.Value                     // values of arrays in registers
	loaded map[kernel.Stmt]map[*expr.Expr][]asm.Value // elements that have been read, by statement
}

// ReadAhead reads the operands of statements that no earlier statement writes, and returns how
// many registers they take.
func (p *Builder) ReadAhead(body []kernel.Stmt, x *Segment) (registers int) {
	written := maps.Clone(x.Tiles)
	x.loaded = map[kernel.Stmt]map[*expr.Expr][]asm.Value{}
	for _, s := range body {
		if s, ok := s.(*kernel.Set); ok {
			value := p.Own(s.Value)
			computed := elementsOf(value, written)
			loaded := maps.Clone(computed)
			p.loadBeside(value, s.Axes[0].Var, x.Col, x.N, loaded)
			if x.N == 1 {
				p.loadEach(value, loaded)
			}
			maps.DeleteFunc(loaded, func(e *expr.Expr, _ []asm.Value) bool { _, is := computed[e]; return is })
			x.loaded[s], registers = loaded, registers+x.N*len(loaded)
		}
		written[kernel.Written(s)] = nil
	}
	return registers
}

// loadEach loads the other elements of an expression.
func (p *Builder) loadEach(value *expr.Expr, loaded map[*expr.Expr][]asm.Value) {
	for _, e := range expr.Elems(value) {
		if _, has := loaded[e]; !has {
			loaded[e] = p.Load(p.At(e, Known{}), 1)
		}
	}
}

// Segment computes the statements for a segment. Values of tiles stay in registers.
func (p *Builder) Segment(body []kernel.Stmt, x Segment) {
	for _, s := range body {
		switch s := s.(type) {
		case *kernel.Random:
			x.Tiles[s.Dst] = p.Four(s, x.Col)
		case *kernel.Set:
			name, value := s.Axes[0].Var, p.Own(s.Value)
			loaded := elementsOf(value, x.Tiles)
			maps.Copy(loaded, x.loaded[s])
			p.loadBeside(value, name, x.Col, x.N, loaded)
			vs := p.Across(value, name, x.Col, x.N, loaded)
			if _, buffer := p.Slices[s.Dst.Name]; !buffer {
				x.Tiles[s.Dst.Name] = vs
				continue
			}
			p.StoreFrom(s.Dst, s.Dst, name, x.Col, vs)
		}
	}
}

// ReadsPlaces says which array is read at another place than written, or, if it is no buffer,
// before it is written. Arrays of filledBefore count as written.
func ReadsPlaces(body []kernel.Stmt, buffers map[string]bool, places map[string]*expr.Expr, filledBefore ...string) string {
	filled := map[string]bool{}
	for _, name := range filledBefore {
		filled[name] = true
	}
	for _, s := range body {
		vars := map[string]string{}
		for _, a := range kernel.Axes(s) {
			vars[a.Var] = ColVar
		}
		for _, e := range expr.Elems(kernel.Reads(s)...) {
			if place := places[e.Name]; place != nil && !expr.Equal(place, At(e, vars)) {
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
