package lower

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// lowerRuns numbers the tokens of one example in each cell, starting at its first token. It
// stores all numbers or, if the tokens are a cache, the numbers of rows P, P+1, ….
func lowerRuns(e *emitter, v *ir.Value) {
	tokens := v.Args[0]
	b := e.grid("b", size(v.Type.Shape[0]))
	own := e.example(b, v.Type.Shape[1])
	rows, first := own.rows, ivar("P")
	if tokens.Type.Shape[1] == v.Type.Shape[1] {
		first = expr.Int(0)
	}
	all := add(first, rows)
	row := func(i exprs) exprs { return exprs{b, i[0]} }
	if e.env.rows.ragged(v.Type.Shape) {
		row = from(own.first)
	}
	ids := e.load("id", expr.I32, e.in(tokens, "tokens", e.viewed(tokens.Type.Shape)...), exprs{all}, row)
	count, numbers := e.tile("count", expr.I32), e.tile("number", expr.I32, all)
	e.set(count, expr.Int(0))
	e.loop("p", all, func(p *expr.Expr) {
		member := expr.Subst(v.Attr.Expr, map[string]*expr.Expr{"x0": ielem(ids, p)})
		others := expr.Int(0)
		if v.Attr.Total {
			others = ielem(count)
		}
		e.set(count, where(member, add(ielem(count), expr.Int(1)), others))
		e.set(numbers, ielem(count), p)
	})
	buf := e.out(v, "runs", e.viewed(v.Type.Shape)...)
	e.fill(buf, exprs{rows}, row, func(t exprs) *expr.Expr { return ielem(numbers, add(first, t[0])) })
}

// drawn returns the number that this row's draw group has drawn.
func (r *row) drawn(v *ir.Value) *expr.Expr {
	group := expr.New(expr.Div, r.example(), expr.U(uint32(v.Attr.Group)))
	word := r.tile("word", expr.U32, expr.Int(1))
	r.random(word, expr.Int(0), group, v.Attr.Stream)
	return below(ref(word, expr.U32, expr.Int(0)), expr.U(uint32(v.Attr.Rows)))
}

// below returns a number 0 … n-1 from a random word.
func below(word, n *expr.Expr) *expr.Expr {
	return expr.New(expr.AsI32, expr.New(expr.Mod, word, n))
}

// lowerSubset takes each number with probability wanted/left, where left counts the numbers not
// yet considered. See Knuth, The Art of Computer Programming, volume 2, 3.4.2, algorithm S.
func lowerSubset(e *emitter, v *ir.Value) {
	rows, choices, wanted := size(v.Type.Shape[0]), num(v.Attr.Rows), num(v.Attr.Size)
	last := sub(wanted, expr.Int(1))
	words := e.tile("words", expr.U32, choices)
	group := expr.New(expr.Div, firstExample, expr.U(uint32(v.Attr.Group)))
	e.random(words, expr.Int(0), group, v.Attr.Stream)
	chosen, count := e.tile("chosen", expr.I32, wanted), e.tile("count", expr.I32)
	e.mapTo(chosen, func(i exprs) *expr.Expr { return i[0] })
	e.set(count, expr.Int(0))
	e.loop("n", choices, func(n *expr.Expr) {
		left := expr.New(expr.AsU32, sub(choices, n))
		take := lt(below(expr.NewElem(words, expr.U32, n), left), sub(wanted, ielem(count)))
		at := lesser(ielem(count), last)
		e.set(chosen, where(take, n, ielem(chosen, at)), at)
		e.set(count, add(ielem(count), where(take, expr.Int(1), expr.Int(0))))
	})
	e.fill(e.out(v, "subset", rows), exprs{rows}, same, func(t exprs) *expr.Expr {
		return where(le(rows, wanted), ielem(chosen, lesser(t[0], last)), t[0])
	})
}

// noise returns the elements of this row of a Noise, from two random words each.
func (r *row) noise(v *ir.Value) element {
	words := mul(expr.Int(2), r.width)
	t := r.tile("bits", expr.U32, words)
	base := mul(add(ivar("P"), r.leading(1)), ir.WholeBlocks(words))
	r.random(t, base, r.example(), v.Attr.Stream)
	word := func(e *expr.Expr) *expr.Expr { return expr.NewElem(t, expr.U32, e) }
	return func(e *expr.Expr) *expr.Expr { return ir.Normal(word(e), word(add(r.width, e))) }
}

// lowerRotate turns the pairs of one row in each cell, head by head.
func lowerRotate(e *emitter, v *ir.Value) {
	x, angles := v.Args[0], v.Args[1].Type.Shape
	all := e.rowsOf(v.Type.Shape)
	width, heads, r := v.Type.Shape[2].N, v.Attr.Attn.Heads, angles[1].N
	dh := width / heads
	row := e.grid("r", all)
	angle := e.let("t", e.leading(v.Type.Shape, row, e.let)[1])
	table := func(name string, arg *ir.Value) string {
		return e.load(name, expr.F32, e.in(arg, name+"_", sizes(angles)...), exprs{num(r)}, func(i exprs) exprs { return exprs{angle, i[0]} })
	}
	cos, sin := table("cos", v.Args[1]), table("sin", v.Args[2])
	buf := e.in(x, "x", all, num(width))
	e.loop("h", num(heads), func(h *expr.Expr) {
		part := func(first int) place {
			return func(i exprs) exprs { return exprs{row, add(add(mul(h, num(dh)), num(first)), i[0])} }
		}
		load := func(name string, first, n int) string { return e.load(name, expr.F32, buf, exprs{num(n)}, part(first)) }
		store := func(first, n int, value func(i exprs) *expr.Expr) {
			e.stored(v, value, func(w *ir.Value, value func(i exprs) *expr.Expr) {
				e.fill(e.out(w, "y", all, num(width)), exprs{num(n)}, part(first), value)
			})
		}
		a, b := load("a", 0, r), load("b", r, r)
		store(0, r, func(i exprs) *expr.Expr {
			return sub(mul(elem(a, i...), elem(cos, i...)), mul(elem(b, i...), elem(sin, i...)))
		})
		store(r, r, func(i exprs) *expr.Expr {
			return add(mul(elem(b, i...), elem(cos, i...)), mul(elem(a, i...), elem(sin, i...)))
		})
		if rest := dh - 2*r; rest > 0 {
			c := load("c", 2*r, rest)
			store(2*r, rest, func(i exprs) *expr.Expr { return elem(c, i...) })
		}
	})
}
