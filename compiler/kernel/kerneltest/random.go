package kerneltest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// Random returns a small valid kernel, the same for the same seed. It is a map with dropout, a
// row with reductions, a matrix product with an epilogue, or a gather of rows. Or it is a loop
// over windows of rows with a condition, or copies of rows that change meanwhile. Sizes and
// expressions are random. About half of the kernels may have 16-bit elements. The scalars B, T
// and N decide its size.
func Random(seed uint64) *kernel.Kernel {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	g.narrow = g.coin()
	write := generators[seed%uint64(len(generators))]
	text := write(g, fmt.Sprintf("random%d", seed))
	ks, err := kernel.Parse(text)
	if err != nil {
		panic(fmt.Sprintf("BUG: %v in\n%s", err, text))
	}
	return ks[0]
}

var generators = []func(*generator, string) string{
	(*generator).mapKernel,
	(*generator).rowKernel,
	(*generator).matmulKernel,
	(*generator).gatherKernel,
	(*generator).windowKernel,
	(*generator).copyKernel,
}

// generator draws the parts of a kernel.
type generator struct {
	*rand.Rand
	narrow bool // some arrays have elements of 16 bits
}

// size draws an extent, often odd, sometimes 1 and sometimes above 32.
func (g *generator) size() int { return []int{1, 2, 3, 5, 7, 8, 13, 17, 31, 33, 40}[g.IntN(11)] }

func (g *generator) coin() bool { return g.IntN(2) == 0 }

// pick draws one of the texts.
func (g *generator) pick(texts ...string) string { return texts[g.IntN(len(texts))] }

// A stored type is the element type of an array of real numbers: f32, bf16 or f16.
type stored string

func (g *generator) stored() stored {
	if !g.narrow {
		return "f32"
	}
	return stored(g.pick("f32", "bf16", "f16"))
}

// load returns the text of an element as F32.
func (t stored) load(elem string) string {
	if t == "f32" {
		return elem
	}
	return "f32(" + elem + ")"
}

// store returns the text of an F32 value as an element.
func (t stored) store(value any) string {
	if t == "f32" {
		return fmt.Sprint(value)
	}
	return fmt.Sprintf("%s(%v)", t, value)
}

// elem returns the tile element name[index…] as F32.
func (t stored) elem(name string, index ...string) *expr.Expr {
	var vars []*expr.Expr
	for _, v := range index {
		vars = append(vars, integer(v))
	}
	typ, _ := expr.TypeByName(string(t))
	x := expr.NewElem(name, typ, vars...)
	if typ.Narrow() {
		x = expr.New(expr.ToF32, x)
	}
	return x
}

// integer returns an I32 variable.
func integer(name string) *expr.Expr { return expr.NewVar(name, expr.I32) }

// number returns an F32 variable.
func number(name string) *expr.Expr { return expr.NewVar(name, expr.F32) }

// value draws an F32 expression over F32 and I32 leaves.
func (g *generator) value(depth int, leaves ...*expr.Expr) *expr.Expr {
	var floats, ints []*expr.Expr
	for _, l := range leaves {
		if l.Type == expr.F32 {
			floats = append(floats, l)
		} else {
			ints = append(ints, l)
		}
	}
	return g.float(depth, floats, ints)
}

// float draws an F32 expression. Conversions and bit patterns get no NaN, whose bits are
// undefined.
func (g *generator) float(depth int, floats, ints []*expr.Expr) *expr.Expr {
	sub := func() *expr.Expr { return g.float(depth-1, floats, ints) }
	bounded := func(lo, hi float64) *expr.Expr {
		return expr.New(expr.Max, expr.New(expr.Min, sub(), expr.F(hi)), expr.F(lo))
	}
	if depth == 0 {
		if g.IntN(4) == 0 {
			return expr.F(float64(g.IntN(65)-32) / 8)
		}
		return floats[g.IntN(len(floats))]
	}
	switch g.IntN(15) {
	case 0, 1, 2:
		op := []expr.Op{expr.Add, expr.Sub, expr.Mul}[g.IntN(3)]
		return expr.New(op, sub(), sub())
	case 3:
		return expr.New(expr.Div, sub(), sub())
	case 4:
		op := []expr.Op{expr.Min, expr.Max}[g.IntN(2)]
		return expr.New(op, sub(), sub())
	case 5:
		op := []expr.Op{expr.Neg, expr.Abs, expr.Floor}[g.IntN(3)]
		return expr.New(op, sub())
	case 6:
		return expr.New(expr.Sqrt, expr.New(expr.Abs, sub()))
	case 7:
		op := []expr.Op{expr.Lt, expr.Le, expr.Eq, expr.Ne}[g.IntN(4)]
		return expr.New(expr.Where, expr.New(op, sub(), sub()), sub(), sub())
	case 8:
		op := []expr.Op{expr.Exp, expr.Tanh, expr.Sigmoid, expr.Erf, expr.Sin, expr.Cos}[g.IntN(6)]
		return expr.New(op, bounded(-20, 20))
	case 9:
		return expr.New(expr.Log, bounded(0.125, 1000))
	case 10:
		bits := expr.New(expr.FBits, bounded(-8, 8))
		return expr.New(expr.BitsF, expr.New(expr.And, bits, expr.U(0xffff0000)))
	case 11:
		return expr.New(expr.ToTF32, sub())
	case 12:
		op := []expr.Op{expr.ToBF16, expr.ToF16}[g.IntN(2)]
		return expr.New(expr.ToF32, expr.New(op, sub()))
	case 13:
		return expr.New(expr.Fma, sub(), sub(), sub())
	}
	return expr.New(expr.ToF32, g.int(depth-1, floats, ints))
}

// int draws an I32 expression.
func (g *generator) int(depth int, floats, ints []*expr.Expr) *expr.Expr {
	if depth <= 0 || len(ints) == 0 {
		if len(ints) == 0 || g.IntN(3) == 0 {
			return expr.Int(int64(g.IntN(19)) - 9)
		}
		return ints[g.IntN(len(ints))]
	}
	sub := func() *expr.Expr { return g.int(depth-1, floats, ints) }
	switch g.IntN(6) {
	case 0, 1:
		op := []expr.Op{expr.Add, expr.Sub, expr.Mul, expr.Min, expr.Max}[g.IntN(5)]
		return expr.New(op, sub(), sub())
	case 2:
		op := []expr.Op{expr.Div, expr.Mod}[g.IntN(2)]
		return expr.New(op, sub(), expr.Int(int64(1+g.IntN(7))))
	case 3:
		op := []expr.Op{expr.Shl, expr.Shr}[g.IntN(2)]
		return expr.New(op, sub(), expr.Int(int64(g.IntN(4))))
	case 4:
		op := []expr.Op{expr.And, expr.Or, expr.Xor}[g.IntN(3)]
		return expr.New(expr.AsI32, expr.New(op, expr.New(expr.AsU32, sub()), expr.U(uint32(g.IntN(64)))))
	}
	return expr.New(expr.Where, expr.New(expr.Lt, sub(), sub()), sub(), sub())
}

func (g *generator) mapKernel(name string) string {
	block := g.size()
	i, x, y, a, b := integer("i"), g.stored(), g.stored(), g.stored(), g.stored()
	leaves := []*expr.Expr{a.elem("a", "i"), b.elem("b", "i"), number("scale"), number("lr"), i, integer("m"), integer("T")}
	return fmt.Sprintf(`kernel %[1]s map // random.arith:1:1
	in     x %[8]s[N]
	inout  y %[9]s[N]
	out    z i32[N]
	scalar N, T, scale, lr, example
	grid   m < (N + %[2]d - 1) / %[2]d
	let    len = min(%[2]d, N - m * %[2]d)
	tile   a %[10]s[len]
	tile   b %[11]s[len]
	tile   w u32[len]
	set    a[i] = %[12]s
	set    b[i] = %[13]s
	random w[len] = %[3]d of example + as_u32(m) from m * %[4]d
	set    b[i] = %[5]s
	set    y[m * %[2]d + i] = %[6]s for i < len
	set    z[m * %[2]d + i] = %[7]s for i < len
	end`, name, block, g.IntN(100), block,
		b.store(fmt.Sprintf("where(w[i] < 0x60000000u, 0.0, %s)", g.value(4, leaves...))), y.store(g.value(2, leaves...)),
		g.int(2, nil, []*expr.Expr{i}), x, y, a, b,
		a.store(x.load(fmt.Sprintf("x[m * %d + i]", block))), b.store(y.load(fmt.Sprintf("y[m * %d + i]", block))))
}

func (g *generator) rowKernel(name string) string {
	width, from, in, to := g.size(), g.stored(), g.stored(), g.stored()
	x, j, top, total, mean := in.elem("x", "j"), integer("j"), number("top"), number("total"), number("mean")
	return fmt.Sprintf(`kernel %[1]s row
	in     src %[8]s[B * T, %[2]d]
	in     gamma f32[%[2]d]
	out    dst %[9]s[B * T, %[2]d]
	out    sums f32[B * T]
	scalar B, T, example
	grid   r < B * T
	tile   x %[10]s[%[2]d]
	tile   c f32[%[2]d]
	set    x[j] = %[11]s
	set    c[j] = gamma[%[7]s]
	reduce top = %[3]s(%[4]s) for j < %[2]d
	set    x[j] = %[5]s
	reduce total = sum(%[12]s * c[j])
	let    mean = total / %[2]d.0
	set    dst[r, j] = %[6]s
	set    sums[r] = total - mean
	end`, name, width, g.pick("max", "min", "sum"), g.value(2, x, j), in.store(g.value(2, x, top, j)),
		to.store(g.value(3, x, total, mean, top)), g.pick("j", fmt.Sprintf("%d - 1 - j", width)),
		from, to, in, in.store(from.load("src[r, j]")), x)
}

func (g *generator) matmulKernel(name string) string {
	rows, inner, cols := g.size(), g.size(), g.size()
	weight, load := fmt.Sprintf("%d, %d", inner, cols), "w[k, n]"
	if g.coin() {
		weight, load = fmt.Sprintf("%d, %d", cols, inner), "w[n, k]"
	}
	input, from := fmt.Sprintf("B * T, %d", inner), fmt.Sprintf("x[m * %d + r, k]", rows)
	if g.coin() {
		input, from = fmt.Sprintf("%d, B * T", inner), fmt.Sprintf("x[k, m * %d + r]", rows)
	}
	t, out := g.stored(), g.stored()
	epilogue := out.store(g.value(2, stored("f32").elem("c", "r", "n"), stored("f32").elem("b", "n"), integer("n")))
	shape, at := fmt.Sprintf("rows, %d", inner), "r, k"
	if g.coin() {
		shape, at = fmt.Sprintf("%d, rows", inner), "k, r"
	}
	prologue := g.pick("", fmt.Sprintf("set a[%s] = %s", at, t.store("max("+t.load("a["+at+"]")+", 0.0)")),
		"set wt[k, n] = "+t.store(t.load("wt[k, n]")+" * scale"))
	split := ""
	if t == "f32" {
		split = g.pick("", "; split")
	}
	grid := fmt.Sprintf("grid m < (B * T + %[1]d - 1) / %[1]d", rows)
	let := fmt.Sprintf("let rows = min(%[1]d, B * T - m * %[1]d)", rows)
	first := fmt.Sprintf("m * %d", rows)
	if g.coin() {
		grid, let, first = "span first, rows of B * T", "", "first"
		from = strings.ReplaceAll(from, fmt.Sprintf("m * %d", rows), first)
	}
	return fmt.Sprintf(`kernel %[1]s matmul
	in     x %[14]s[%[2]s]
	in     w %[14]s[%[3]s]
	in     bias f32[%[4]d]
	out    y %[15]s[B * T, %[4]d]
	scalar B, T, scale
	%[17]s
	tile   wt %[14]s[%[6]d, %[4]d]
	tile   b f32[%[4]d]
	%[18]s
	tile   a %[14]s[%[12]s]
	tile   c f32[rows, %[4]d]
	set    a[%[13]s] = %[7]s
	set    wt[k, n] = %[8]s
	set    b[n] = bias[n]
	set    c[r, n] = %[9]s
	%[10]s
	dot    c[r, n] += a[%[13]s] * wt[k, n]%[16]s
	set    y[%[5]s + r, n] = %[11]s for r < rows, n < %[4]d
	end`, name, input, weight, cols, first, inner, from, load, g.pick("0.0", "0.5", "-0.0"), prologue, epilogue,
		shape, at, t, out, split, grid, let)
}

func (g *generator) gatherKernel(name string) string {
	width, rows, in, e, out := g.size(), g.size(), g.stored(), g.stored(), g.stored()
	value := out.store(g.value(2, e.elem("e", "j"), stored("f32").elem("q", "j"), integer("id"), integer("t")))
	return fmt.Sprintf(`kernel %[1]s gather
	in     ids i32[B, T]
	in     table %[6]s[%[2]d, %[3]d]
	in     place f32[%[4]d, %[3]d]
	out    y %[8]s[B, T, %[3]d]
	out    hit i32[B, T]
	scalar B, T
	grid   b < B, t < T
	tile   e %[7]s[%[3]d]
	tile   q f32[%[3]d]
	let    id = ids[b, t]
	set    e[j] = %[9]s
	if     id >= 0
	  set    e[j] = %[10]s
	end
	set    q[j] = place[(t + b * 3) %% %[4]d, j]
	set    y[b, t, j] = %[5]s
	set    hit[b, t] = max(id, 0) * 2 + t
	end`, name, rows, width, g.size(), value, in, e, out, e.store(0.25), e.store(in.load("table[id, j]")))
}

func (g *generator) windowKernel(name string) string {
	width, block := g.size(), 1+g.IntN(6)
	back, ahead, t := g.IntN(5), g.IntN(5), g.stored()
	weight := g.value(2, stored("f32").elem("s", "j"), number("total"), integer("i"), integer("j"))
	return fmt.Sprintf(`kernel %[1]s attention
	in     q %[8]s[B, T, %[2]d]
	in     v %[8]s[B, S, %[2]d]
	out    y f32[B, T, %[2]d]
	out    z f32[B, T]
	scalar B, T, S, P
	grid   b < B, i < T
	tile   query %[8]s[%[2]d]
	tile   acc f32[%[2]d]
	tile   row %[8]s[%[2]d]
	var    total f32
	set    query[d] = q[b, i, d]
	set    acc[e] = 0.0
	set    total = 1.0
	for t = max(0, (i - %[4]d) / %[3]d) until (S + %[3]d - 1) / %[3]d
	  if t * %[3]d <= i + P + %[5]d && t != %[6]d
	    let    n = min(%[3]d, S - t * %[3]d)
	    tile   keys %[8]s[%[2]d, n]
	    tile   rows f32[n, %[2]d]
	    tile   s f32[n]
	    set    keys[d, j] = v[b, t * %[3]d + j, d]
	    set    rows[j, d] = %[9]s
	    set    s[e] = 0.0
	    dot    s[col] += query[k] * keys[k, col]
	    set    s[j] = where(t * %[3]d + j <= i + %[5]d, %[7]s, 0.0)
	    dot    acc[col] += s[k] * rows[k, col]
	    reduce top = max(s[j])
	    set    row[d] = v[b, t * %[3]d, d]
	    dot    total += row[k] * query[k]
	    set    total = min(total + top, 1000.0)
	  end
	end
	set    y[b, i, d] = acc[d]
	set    z[b, i] = total
	end`, name, width, block, back, ahead, g.IntN(4), weight, t, t.load(fmt.Sprintf("v[b, t * %d + j, d]", block)))
}

// copyKernel copies rows of a buffer. Then it changes, in some order, the buffer, the copies and
// the variable that says where the copies begin. At least one of the changes is to the buffer.
func (g *generator) copyKernel(name string) string {
	width, t := g.size(), g.stored()
	a, b, first := t.elem("a", "j"), t.elem("b", "j"), number("first")
	turned := fmt.Sprintf("a[%d - j]", width-1)
	changes := []string{
		"set y[r, j] = " + t.store(g.value(1, a, b, first)) + fmt.Sprintf(" for j < %d", width),
		fmt.Sprintf("set y[r, j] = %s for j < %d", t.store(t.load(turned)+" + "+t.load("b[j]")), width),
		fmt.Sprintf("set at = (at + %d) %% %d", 1+g.IntN(5), width),
		"set y[r, at] = " + t.store("first"),
		fmt.Sprintf("for i = 0 until %d\n    set b[i] = %s\n  end", width, t.store(t.load(fmt.Sprintf("a[(i + at) %% %d]", width))+" * 0.5")),
		fmt.Sprintf("set c[j] = %[2]s\n  set y[r, j] = c[(j + 1) %% %[1]d] for j < %[1]d", width, t.store(t.load("a[j]")+" + f32(j)")),
	}
	g.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
	return fmt.Sprintf(`kernel %[1]s row
	in     x %[6]s[B * T, %[2]d]
	inout  y %[6]s[B * T, %[2]d]
	out    z %[6]s[B * T, %[2]d]
	scalar B, T
	grid   r < B * T
	var    at i32 = %[3]d
	tile   a %[6]s[%[2]d]
	tile   b %[6]s[%[2]d]
	tile   c %[6]s[%[2]d]
	let    first = %[7]s
	set    a[j] = y[r, j]
	set    b[j] = x[r, (j + at) %% %[2]d]
	%[4]s
	set    z[r, j] = %[5]s for j < %[2]d
	end`, name, width, g.IntN(width), strings.Join(changes[:3+g.IntN(2)], "\n\t"), t.store(g.value(2, a, b, first, integer("at"))), t, t.load("y[r, at]"))
}
