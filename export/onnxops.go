package export

import (
	"math"
	"strconv"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// numbered splits x12 into the letter and 12.
func numbered(name string, letter byte) (int, bool) {
	if name == "" || name[0] != letter {
		return 0, false
	}
	k, err := strconv.Atoi(name[1:])
	return k, err == nil
}

func (g *graph) mapped(v *ir.Value, args []tensor) tensor {
	e, shape := expr.Simplify(v.Attr.Expr), v.Type.Shape
	index := make([]tensor, len(shape))
	for axis := range shape {
		if expr.Depends(e, ir.D(axis).Name) {
			index[axis] = g.index(shape[axis], len(shape)-axis)
		}
	}
	t := g.expr(e, args, v.Args, index)
	if whole(covered(e, shape, v.Args)) {
		return t
	}
	return g.op("Expand", []tensor{t, g.shape(shape)})
}

func (g *graph) matmul(v *ir.Value, args []tensor) tensor {
	right := args[1]
	if v.Attr.TransB {
		right = g.turned(right)
	}
	if v.Attr.TransA {
		g.err = errNoRow("a product with a transposed left factor")
	}
	return g.op("MatMul", []tensor{args[0], right})
}

// turned returns a transposed matrix.
func (g *graph) turned(t tensor) tensor {
	return g.op("Transpose", []tensor{t}, attribute{"perm", []int{1, 0}})
}

func (g *graph) gather(_ *ir.Value, args []tensor) tensor {
	return g.op("Gather", args, attribute{"axis", 0})
}

func (g *graph) layernorm(v *ir.Value, args []tensor) tensor {
	return g.op("LayerNormalization", args, attribute{"axis", -1}, attribute{"epsilon", float32(v.Attr.Eps)})
}

func (g *graph) rmsnorm(v *ir.Value, args []tensor) tensor {
	x := args[0]
	mean := g.op("ReduceMean", []tensor{g.op("Mul", []tensor{x, x}), g.ints(-1)}, attribute{"keepdims", 1})
	root := g.op("Sqrt", []tensor{g.op("Add", []tensor{mean, g.float(v.Attr.Eps)})})
	return g.op("Mul", []tensor{g.op("Div", []tensor{x, root}), args[1]})
}

// heads reshapes x [B, L, heads * N] to [B, L, heads, N].
func (g *graph) heads(x tensor, heads int) tensor {
	return g.op("Reshape", []tensor{x, g.ints(0, 0, heads, -1)})
}

// split turns x [B, L, heads * N] into [B, heads, L, N]. joined undoes it.
func (g *graph) split(x tensor, heads int) tensor {
	return g.op("Transpose", []tensor{g.heads(x, heads)}, attribute{"perm", []int{0, 2, 1, 3}})
}

func (g *graph) joined(x tensor) tensor {
	return g.op("Reshape", []tensor{g.op("Transpose", []tensor{x}, attribute{"perm", []int{0, 2, 1, 3}}), g.ints(0, 0, -1)})
}

func (g *graph) slice(x tensor, from, to int) tensor {
	return g.op("Slice", []tensor{x, g.ints(from), g.ints(to), g.ints(-1)})
}

func (g *graph) rotate(v *ir.Value, args []tensor) tensor {
	x, r := g.heads(args[0], v.Attr.Attn.Heads), v.Args[1].Type.Shape[1].N
	wide := v.Type.Shape[2].N / v.Attr.Attn.Heads
	cos, sin := g.op("Unsqueeze", []tensor{args[1], g.ints(1)}), g.op("Unsqueeze", []tensor{args[2], g.ints(1)})
	a, b := g.slice(x, 0, r), g.slice(x, r, 2*r)
	by := func(x, y tensor) tensor { return g.op("Mul", []tensor{x, y}) }
	parts := []tensor{g.op("Sub", []tensor{by(a, cos), by(b, sin)}), g.op("Add", []tensor{by(b, cos), by(a, sin)})}
	if 2*r < wide {
		parts = append(parts, g.slice(x, 2*r, wide))
	}
	return g.op("Reshape", []tensor{g.op("Concat", parts, attribute{"axis", -1}), g.ints(0, 0, -1)})
}

func (g *graph) repeatHeads(v *ir.Value, args []tensor) tensor {
	group := v.Attr.Group
	each := g.op("Unsqueeze", []tensor{g.heads(args[0], v.Attr.Attn.Heads/group), g.ints(3)})
	return g.op("Reshape", []tensor{g.op("Tile", []tensor{each, g.ints(1, 1, 1, group, 1)}), g.ints(0, 0, -1)})
}

func (g *graph) headProduct(v *ir.Value, args []tensor) tensor {
	w := args[1]
	if v.Attr.TransB {
		w = g.turned(w)
	}
	return g.joined(g.op("MatMul", []tensor{g.split(args[0], v.Attr.Attn.Heads), w}))
}

// cell returns the index variables of a site. The index of examples is only there if an
// expression reads it.
func (g *graph) cell(s site) []tensor {
	at := []tensor{"", g.index(s.shape[1], s.axes(1)), g.index(s.shape[2], 2), g.index(s.shape[3], 1)}
	for _, e := range []*expr.Expr{s.mask, s.bias} {
		if at[0] == "" && e != nil && expr.Depends(e, ir.D(0).Name) {
			at[0] = g.index(s.shape[0], 4)
		}
	}
	return at
}

func (g *graph) biasTable(v *ir.Value, args []tensor) tensor {
	s := siteOf(v)
	t := g.expr(s.bias, args, s.params, g.cell(s))
	if s.flat {
		return g.op("Expand", []tensor{t, g.shape(v.Type.Shape)})
	}
	return t
}

func (g *graph) attention(v *ir.Value, args []tensor) tensor {
	s, a := siteOf(v), v.Attr.Attn
	index := g.cell(s)
	keys := g.op("Transpose", []tensor{g.heads(args[1], a.Heads)}, attribute{"perm", []int{0, 2, 3, 1}})
	scores := g.op("MatMul", []tensor{g.split(args[0], a.Heads), keys})
	rest := args[3:]
	if a.Relative > 0 {
		at := g.expr(s.over(a, a.Distance()), nil, nil, index)
		scores, rest = g.op("Add", []tensor{scores, g.distances(g.split(rest[0], a.Heads), at, s, 2*a.Relative+1)}), rest[1:]
	}
	scores = g.op("Mul", []tensor{scores, g.float(a.Scale)})
	if a.Table {
		scores, rest = g.op("Add", []tensor{scores, rest[0]}), rest[1:]
	}
	if s.bias != nil {
		scores = g.op("Add", []tensor{scores, g.expr(s.bias, rest, s.params, index)})
	}
	softmax := func(x tensor) tensor { return g.op("Softmax", []tensor{x}, attribute{"axis", -1}) }
	values := g.split(args[2], a.Heads)
	if s.mask == nil {
		return g.joined(g.op("MatMul", []tensor{softmax(scores), values}))
	}
	open := g.expr(s.mask, rest, s.params, index)
	weights := softmax(g.op("Where", []tensor{open, scores, g.float(-3e38)}))
	return g.joined(g.op("MatMul", []tensor{g.op("Where", []tensor{open, weights, g.float(0)}), values}))
}

// distances picks each cell's relative score from scores [B, H, T, spans].
func (g *graph) distances(scores, at tensor, s site, spans int) tensor {
	sum := func(x, y tensor) tensor { return g.op("Add", []tensor{x, y}) }
	by := func(x, y tensor) tensor { return g.op("Mul", []tensor{x, y}) }
	row := sum(by(g.index(s.shape[0], 4), g.int(int64(s.shape[1].N))), g.index(s.shape[1], 3))
	row = sum(by(row, g.dim(s.shape[2])), g.index(s.shape[2], 2))
	place := sum(by(row, g.int(int64(spans))), at)
	return g.op("Gather", []tensor{g.op("Reshape", []tensor{scores, g.ints(-1)}), place}, attribute{"axis", 0})
}

// runs returns the number of each token in its run: its place minus the place of the last
// token before it that is not a member.
func (g *graph) runs(v *ir.Value, args []tensor) tensor {
	member := g.expr(expr.Simplify(v.Attr.Expr), args, v.Args, nil)
	if v.Attr.Total {
		return g.op("CumSum", []tensor{g.op("Where", []tensor{member, g.int(1), g.int(0)}), g.int(1)})
	}
	rows := v.Type.Shape[1]
	place := g.op("Add", []tensor{g.index(rows, 1), g.int(1)})
	outside := g.op("Where", []tensor{member, g.int(0), place})
	before := g.op("LessOrEqual", []tensor{g.index(rows, 1), g.index(rows, 2)})
	each := g.op("Where", []tensor{before, g.op("Unsqueeze", []tensor{outside, g.ints(1)}), g.int(0)})
	last := g.op("ReduceMax", []tensor{each, g.ints(-1)}, attribute{"keepdims", 0})
	return g.op("Where", []tensor{member, g.op("Sub", []tensor{place, last}), g.int(0)})
}

// noise computes standard normal numbers from the words of Philox (ir.Philox, ir.Normal),
// for rows from the first on.
func (g *graph) noise(v *ir.Value, _ []tensor) tensor {
	d := v.Type.Shape[2].N
	blocks := (2*d + 3) / 4
	all := g.op("Mul", []tensor{g.dim(v.Type.Shape[1]), g.int(int64(blocks))})
	counter := [4]tensor{g.op("Range", []tensor{g.int(0), all, g.int(1)}), g.int(0), g.int(0), g.int(int64(v.Attr.Stream) << 16)}
	words := g.philox(counter, g.m.Seed)
	var columns []tensor
	for _, w := range words {
		columns = append(columns, g.op("Unsqueeze", []tensor{w, g.ints(-1)}))
	}
	row := g.op("Reshape", []tensor{g.op("Concat", columns, attribute{"axis", -1}), g.ints(1, -1, 4*blocks)})
	uniform := func(from int) tensor {
		word := g.op("Div", []tensor{g.slice(row, from, from+d), g.int(256)})
		return g.op("Cast", []tensor{word}, attribute{"to", onnxFloat})
	}
	const ulp = 1.0 / (1 << 24)
	u := g.op("Mul", []tensor{g.op("Add", []tensor{uniform(0), g.float(1)}), g.float(ulp)})
	angle := g.op("Mul", []tensor{uniform(d), g.float(2 * math.Pi * ulp)})
	radius := g.op("Sqrt", []tensor{g.op("Mul", []tensor{g.float(-2), g.op("Log", []tensor{u})})})
	return g.op("Mul", []tensor{radius, g.op("Cos", []tensor{angle})})
}

// philox computes the ten rounds of Philox4x32. Words are 64-bit integers.
func (g *graph) philox(c [4]tensor, seed uint64) [4]tensor {
	xor := func(x, y tensor) tensor { return g.op("BitwiseXor", []tensor{x, y}) }
	key := [2]uint32{uint32(seed), uint32(seed >> 32)}
	for range 10 {
		hi0, lo0 := g.product(0xD2511F53, c[0])
		hi1, lo1 := g.product(0xCD9E8D57, c[2])
		c = [4]tensor{xor(xor(hi1, c[1]), g.int(int64(key[0]))), lo1, xor(xor(hi0, c[3]), g.int(int64(key[1]))), lo0}
		key[0] += 0x9E3779B9
		key[1] += 0xBB67AE85
	}
	return c
}

// product computes the upper and lower 32 bits of a product. It multiplies the halves of x,
// so that no product exceeds a signed 64-bit integer.
func (g *graph) product(m int64, x tensor) (hi, lo tensor) {
	half := g.int(1 << 16)
	of := func(kind string, a, b tensor) tensor { return g.op(kind, []tensor{a, b}) }
	low := of("Mul", of("Mod", x, half), g.int(m))
	high := of("Add", of("Mul", of("Div", x, half), g.int(m)), of("Div", low, half))
	return of("Div", high, half), of("Add", of("Mul", of("Mod", high, half), half), of("Mod", low, half))
}
