package model

import (
	"slices"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/plan"
)

// Places of digits in their numbers, I32 [B, L], 0 of other tokens: what embeddings make of
// tokens for masks and biases over di and dj. When decoding, those of the target are a cache.
const (
	targetPlaces = "places"
	sourcePlaces = "source_places"
)

// readsPlaces reports whether mask or bias of a site reads the places of some side: di, dj.
func readsPlaces(s *check.Site, sides ...string) bool {
	return s != nil && slices.ContainsFunc([]*expr.Expr{s.Mask, s.Bias}, func(x *expr.Expr) bool {
		return x != nil && slices.ContainsFunc(sides, func(v string) bool { return expr.Depends(x, v) })
	})
}

// hasPlaces reports whether some site reads places of the source, or of the target.
func (m *builder) hasPlaces(part string) bool {
	s := m.spec.Model
	if s.Loop != nil {
		return part == "target" && readsPlaces(s.Loop.Self, "di", "dj")
	}
	if part == "source" {
		return depth(s.Encoder) > 0 && readsPlaces(s.Encoder.Self, "di", "dj") || readsPlaces(s.Decoder.Cross, "dj")
	}
	return readsPlaces(s.Decoder.Self, "di", "dj") || readsPlaces(s.Decoder.Cross, "di")
}

// placesType is that of the places of rows of a length.
func placesType(length string) ir.Type { return ir.Ints(ir.Sym("B"), ir.Sym(length)) }

// runs is the place of each digit in its number, from 1, and 0 of all other tokens. When
// decoding, target tokens are counted with those so far.
func (l *layer) runs(tokens *ir.Value) *ir.Value {
	rows := tokens.Type.Shape[1]
	if l.md == decoding {
		known := l.b.Append(l.b.Param(history, placesType("C"), ir.Input), tokens)
		l.b.Result(history, known, false)
		tokens = known
	}
	return l.b.Runs(tokens, isDigit(l.spec.Task), rows)
}

// placeParams adds the places that mask and bias of a site read to their parameters.
func (l *layer) placeParams(s *check.Site, self bool, rows, keys ir.Dim, attr *ir.AttnAttr, params []*ir.Value) []*ir.Value {
	if l.md == decoding { // the target's cache has all rows
		rows = ir.Sym("C")
	}
	of := func(name string, n ir.Dim) *ir.Value {
		if l.declared[name] == nil {
			l.declared[name] = l.b.Param(name, placesType(n.Sym), ir.Input)
		}
		return l.declared[name]
	}
	target, source := targetPlaces, sourcePlaces
	if self {
		source = target
		if rows.Sym == "S" {
			target, source = sourcePlaces, sourcePlaces
		}
	}
	for _, side := range []struct {
		place, index, name string
		n                  ir.Dim
	}{{"di", "i", target, rows}, {"dj", "j", source, keys}} {
		if readsPlaces(s, side.place) {
			attr.Params = append(attr.Params, side.place)
			params = append(params, of(side.name, side.n))
		}
	}
	return params
}

// placesOf is what the places of the source or the target are called.
var placesOf = map[string]string{"source": sourcePlaces, "target": targetPlaces}

// places makes the places of the source's or the target's tokens, if a site reads them.
func (c *caller) places(part string, md mode) {
	if !c.hasPlaces(part) {
		return
	}
	name, tokens, length := sourcePlaces, SourceTokens, "S"
	if part == "target" {
		name, tokens, length = targetPlaces, TargetTokens, "T"
	}
	args, results := refs{tokens: plan.At(tokens, 0)}, refs{name: plan.At(name, 0)}
	if md == decoding {
		args[history], results[history] = plan.At(history, 0), plan.At(history, 0)
		args[name] = plan.At(name, 0)
	}
	if c.p.Buffer(name) == nil {
		c.buffer(name, placesType(length), 1)
	}
	c.call("embed", func() (*ir.Func, error) {
		l := c.newLayer("places_"+part, "embed", c.spec.Model.Pos, 0, md)
		at := l.runs(l.b.Param(tokens, placesType(length), ir.Input))
		if md == decoding {
			at = l.b.Append(l.b.Param(name, placesType("C"), ir.Input), at)
		}
		l.b.Result(name, l.b.Label(at, name), false)
		return l.b.Func()
	}, args, results)
}

// history declares what decoding keeps of the tokens so far, and of the source.
func (c *caller) history() {
	if c.hasHistory() {
		c.buffer(history, ir.Ints(ir.Sym("B"), ir.Sym("C")), 1)
	}
	for _, side := range []struct{ part, rows string }{{"source", "S"}, {"target", "C"}} {
		if c.hasPlaces(side.part) {
			c.buffer(placesOf[side.part], placesType(side.rows), 1)
		}
	}
}

// placesFor are the places that layers of a stack read.
func (c *caller) placesFor(parts ...string) refs {
	all := refs{}
	for _, part := range parts {
		if c.hasPlaces(part) {
			all[placesOf[part]] = plan.At(placesOf[part], 0)
		}
	}
	return all
}
