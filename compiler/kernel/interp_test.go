package kernel

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// load reads the kernel in testdata/kernels/NAME.kir.
func load(t *testing.T, name string) *Kernel {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "kernels", name+".kir"))
	if err != nil {
		t.Fatal(err)
	}
	ks, err := Parse(string(text))
	if err != nil || len(ks) != 1 {
		t.Fatalf("%s: %d kernels, %v", name, len(ks), err)
	}
	return ks[0]
}

func run(t *testing.T, k *Kernel, s Scalars, bufs ...Buffer) {
	t.Helper()
	if err := Run(k, s, bufs); err != nil {
		t.Fatal(err)
	}
}

// sameBits compares elements bit for bit.
func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Errorf("%s: element %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// wave makes n values of both signs that differ from one another.
func wave(n int, seed float64) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(math.Sin(seed+float64(i)*1.7) * 1.5)
	}
	return v
}

// of computes a function of package expr as the interpreter does.
func of(op expr.Op, x float32) float32 {
	return float32(expr.Eval32(expr.New(op, expr.F(float64(x))), expr.Bindings{}).F)
}

// TestLinear multiplies by hand: five rows in tiles of two, the last of one row.
func TestLinear(t *testing.T) {
	x := []float32{
		1, 2, 3,
		4, 5, 6,
		-1, 0, 1,
		0, 0, 0,
		2, -2, 2,
	}
	w := []float32{
		1, 0, 0, -1,
		0, 1, 0, -1,
		0, 0, 1, -1,
	}
	y := make([]float32, 20)
	run(t, load(t, "linear"), Scalars{"B": 1, "T": 5}, Buffer{F: x}, Buffer{F: w}, Buffer{F: []float32{0.5, -1, 0, 7}}, Buffer{F: y})
	sameBits(t, "y", y, []float32{
		1.5, 1, 3, 1,
		4.5, 4, 6, 0,
		0, 0, 1, 7,
		0.5, 0, 0, 7,
		2.5, 0, 2, 5,
	})
}

func TestResidualDropout(t *testing.T) {
	const batch, row = 3, 4 * 6
	x, y, z := wave(batch*row, 1), wave(batch*row, 2), make([]float32, batch*row)
	s := Scalars{"B": batch, "T": 4, "example": 40, "step": 9, "layer": 5, "seed0": 0xdeadbeef, "seed1": 0x12345678}
	run(t, load(t, "residual"), s, Buffer{F: x}, Buffer{F: y}, Buffer{F: z})

	want := make([]float32, batch*row)
	dropped := 0
	for b := range batch {
		for e := range row {
			words := ir.Philox([4]uint32{uint32(e / 4), 40 + uint32(b), 9, 2*65536 + 5}, [2]uint32{0xdeadbeef, 0x12345678})
			kept := x[b*row+e] * float32(1.1111112)
			if words[e%4] < 429496730 {
				kept = 0
				dropped++
			}
			want[b*row+e] = y[b*row+e] + kept
		}
	}
	sameBits(t, "z", z, want)
	if dropped == 0 || dropped > 20 {
		t.Errorf("%d of %d elements dropped at rate 0.1", dropped, batch*row)
	}
}

func TestAdamW(t *testing.T) {
	const n = 21
	grad, param, mean, variance := wave(n, 1), wave(n, 2), wave(n, 3), wave(n, 4)
	for i := range variance {
		variance[i] *= variance[i]
	}
	wantP, wantM, wantV := slices.Clone(param), slices.Clone(mean), slices.Clone(variance)
	lr, c1, c2, clip, decay := float32(1e-3), float32(1.9), float32(30), float32(0.5), float32(0.01)
	for i := range grad {
		g := grad[i] * clip
		m := float32(0.9*wantM[i]) + float32(0.1*g)
		v := float32(0.999*wantV[i]) + float32(0.001*float32(g*g))
		root := float32(math.Sqrt(float64(float32(v * c2))))
		wantP[i] -= float32(lr * (float32(m*c1)/(root+1e-08) + float32(decay*wantP[i])))
		wantM[i], wantV[i] = m, v
	}
	s := Scalars{"N": n, "lr": 1e-3, "bias_correction1": 1.9, "bias_correction2": 30, "clip": 0.5, "decay": 0.01}
	run(t, load(t, "adamw"), s, Buffer{F: grad}, Buffer{F: param}, Buffer{F: mean}, Buffer{F: variance})
	sameBits(t, "param", param, wantP)
	sameBits(t, "mean", mean, wantM)
	sameBits(t, "var", variance, wantV)
}

// canonical returns a sum in the canonical order, written as the tree that it is.
func canonical(v []float32) float32 {
	var lane func(l, width int) float32
	lane = func(l, width int) float32 {
		if width == 32 {
			sum := float32(0)
			for i, x := range v {
				if i/4%32 == l {
					sum += x
				}
			}
			return sum
		}
		return lane(l, 2*width) + lane(l+width, 2*width)
	}
	return lane(0, 1)
}

func TestLayerNorm(t *testing.T) {
	const rows, width = 3, 37
	x, gamma, beta, y := wave(rows*width, 1), wave(width, 2), wave(width, 3), make([]float32, rows*width)
	run(t, load(t, "layernorm"), Scalars{"B": 3, "T": 1}, Buffer{F: x}, Buffer{F: gamma}, Buffer{F: beta}, Buffer{F: y})

	want := make([]float32, rows*width)
	for r := range rows {
		v := slices.Clone(x[r*width:][:width])
		mean := canonical(v) / 37
		squares := make([]float32, width)
		for j := range v {
			v[j] -= mean
			squares[j] = v[j] * v[j]
		}
		rstd := 1 / float32(math.Sqrt(float64(canonical(squares)/37+1e-05)))
		for j := range v {
			want[r*width+j] = float32(float32(v[j]*rstd)*gamma[j]) + beta[j]
		}
	}
	sameBits(t, "y", y, want)
}

func TestCrossEntropy(t *testing.T) {
	const rows, vocab = 4, 17
	logits, labels := wave(rows*vocab, 1), []int32{3, -1, 16, 0}
	logits[3*vocab+5], logits[3*vocab+9] = 9, 9 // a tie: the first wins
	loss, pred, grad := make([]float32, rows), make([]int32, rows), make([]float32, rows*vocab)
	run(t, load(t, "crossentropy"), Scalars{"B": 2, "T": 2, "scale": 0.25},
		Buffer{F: logits}, Buffer{I: labels}, Buffer{F: loss}, Buffer{I: pred}, Buffer{F: grad})

	for r := range rows {
		z := logits[r*vocab:][:vocab]
		top, best := slices.Max(z), int32(slices.Index(z, slices.Max(z)))
		e := make([]float32, vocab)
		for v := range z {
			e[v] = of(expr.Exp, z[v]-top)
		}
		total, weight := canonical(e), float32(0.25)
		if labels[r] < 0 {
			weight = 0
		}
		want := weight * (of(expr.Log, total) - (z[max(labels[r], 0)] - top))
		sameBits(t, "loss", loss[r:r+1], []float32{want})
		if pred[r] != best {
			t.Errorf("row %d: prediction %d, want %d", r, pred[r], best)
		}
		for v := range e {
			hit := float32(0)
			if int32(v) == labels[r] {
				hit = 1
			}
			e[v] = weight * (e[v]/total - hit)
		}
		sameBits(t, "grad", grad[r*vocab:][:vocab], e)
	}
}

// TestAttention checks a window that closes the first row, a bias, tiles of four
// rows and an offset P into the keys.
func TestAttention(t *testing.T) {
	const batch, target, keys, heads, dim = 2, 5, 7, 2, 3
	for _, first := range []int{0, 2} {
		q, k, v := wave(batch*target*6, 1), wave(batch*keys*6, 2), wave(batch*keys*6, 3)
		slope, y := []float32{0.5, 0.125}, make([]float32, batch*target*6)
		s := Scalars{"B": batch, "T": target, "C": keys, "P": float64(first)}
		run(t, load(t, "attention"), s, Buffer{F: q}, Buffer{F: k}, Buffer{F: v}, Buffer{F: slope}, Buffer{F: y})

		want := make([]float32, len(y))
		for b := range batch {
			for h := range heads {
				for r := range target {
					row := func(x []float32, i, rows int) []float32 { return x[(b*rows+i)*6+h*dim:][:dim] }
					p := make([]float32, keys)
					top := float32(math.Inf(-1))
					for j := range keys {
						back := first + r - j
						if p[j] = float32(math.Inf(-1)); back < 1 || back > 3 {
							continue
						}
						score := float32(0)
						for d := range dim {
							score = expr.FMA32(row(q, r, target)[d], row(k, j, keys)[d], score)
						}
						p[j] = float32(score*0.57735026) - float32(slope[h]*float32(back))
						top = max(top, p[j])
					}
					for j := range p {
						if p[j] -= top; top == float32(math.Inf(-1)) {
							continue
						}
						p[j] = of(expr.Exp, p[j])
					}
					total := canonical(p)
					for j := range p {
						if p[j] /= total; top == float32(math.Inf(-1)) {
							p[j] = 0
						}
						for d := range dim {
							out := &row(want, r, target)[d]
							*out = expr.FMA32(p[j], row(v, j, keys)[d], *out)
						}
					}
				}
			}
		}
		sameBits(t, "y", y, want)
		if first == 0 && (y[0] != 0 || y[6] == 0) {
			t.Errorf("rows 0 and 1 give %v and %v; only the first has no open key", y[0], y[6])
		}
	}
}

func TestEmbed(t *testing.T) {
	table, place := wave(17*5, 1), wave(9*5, 2)
	ids, x := []int32{16, 0, 3, 3, 7, 1}, make([]float32, 6*5)
	run(t, load(t, "embed"), Scalars{"B": 2, "T": 3, "P": 8}, Buffer{I: ids}, Buffer{F: table}, Buffer{F: place}, Buffer{F: x})
	want := make([]float32, len(x))
	for i, id := range ids {
		for d := range 5 {
			want[i*5+d] = float32(table[int(id)*5+d]*2.25) + place[(8+i%3)%9*5+d]
		}
	}
	sameBits(t, "x", x, want)
}

// TestEmbedGrad adds rows in the order of appearance of their ids.
func TestEmbedGrad(t *testing.T) {
	ids, dy, table := []int32{4, 2, 4, 4}, wave(4*5, 1), wave(17*5, 2)
	dy[0], dy[10] = 1e8, -1e8 // another order would give other bits
	want := slices.Clone(table)
	for n, id := range ids {
		for d := range 5 {
			want[int(id)*5+d] += dy[n*5+d]
		}
	}
	run(t, load(t, "embed_grad"), Scalars{"B": 2, "T": 2}, Buffer{I: ids}, Buffer{F: dy}, Buffer{F: table})
	sameBits(t, "table", table, want)
}

// TestReduceOrder has sums whose bits reveal the order of addition.
func TestReduceOrder(t *testing.T) {
	const big = 1 << 25 // absorbs 1 on its own
	sum := findReduction(expr.Add)
	for _, c := range []struct {
		name   string
		values map[int]float32
		want   float32
	}{
		{"one lane, ascending", map[int]float32{0: big, 3: 1, 128: -big}, 0},
		{"one lane, big values first", map[int]float32{1: big, 2: -big, 129: 1}, 1},
		{"one lane takes four neighbours", map[int]float32{4: big, 7: 1, 8: -big}, 0},
		{"lanes 0 and 16 meet first", map[int]float32{0: big, 4 * 16: -big, 4 * 8: 1}, 1},
		{"lane 8 joins before lane 1", map[int]float32{0: big, 4 * 8: 1, 4: -big}, 0},
		{"lanes 1 and 17 meet first", map[int]float32{4: big, 4 * 17: -big, 0: 1}, 1},
		{"lane 31 comes with lane 15", map[int]float32{4 * 31: big, 4 * 15: 1, 4 * 7: -big}, 0},
	} {
		p := sum.begin()
		for e := range 256 {
			sum.take(&p, int64(e), c.values[e])
		}
		if got := sum.combine(p); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestReduceText runs the reductions of empty and short axes.
func TestReduceText(t *testing.T) {
	inf, nan, negative := float32(math.Inf(1)), float32(math.NaN()), float32(math.Copysign(0, -1))
	for _, c := range []struct {
		op   string
		x    []float32
		want float32
	}{
		{"sum", nil, 0},
		{"max", nil, -inf},
		{"min", nil, inf},
		{"sum", []float32{1, 2, 3}, 6},
		{"max", []float32{-3, -2, -5}, -2},
		{"min", []float32{-3, -2, -5}, -5},
		{"max", []float32{2, nan}, 2},
		{"max", []float32{nan, -1, nan, nan, 2, nan}, 2},
		{"min", []float32{nan, nan}, inf},
		{"max", []float32{-1, negative, -2}, 0},
		{"min", []float32{1, 0, negative}, 0},
	} {
		ks, err := Parse(`kernel one row
			in x f32[N]
			out y f32[]
			scalar N
			tile   v f32[N]
			set v[i] = x[i]
			reduce r = ` + c.op + `(v[i])
			set y[] = r
			end`)
		if err != nil {
			t.Fatal(err)
		}
		y := []float32{99}
		run(t, ks[0], Scalars{"N": float64(len(c.x))}, Buffer{F: c.x}, Buffer{F: y})
		sameBits(t, c.op, y, []float32{c.want})
	}
}

// TestTileLifetime shows when a tile is fresh: c in each cell, p whenever n is set; k keeps the
// values of earlier iterations.
func TestTileLifetime(t *testing.T) {
	ks, err := Parse(`kernel lifetime map
		out y f32[2, 3]
		out z f32[2, 3]
		out w i32[2, 3]
		grid g < 2
		var    c f32
		var    k f32
		set k = 0.0
		if g == 0
		  set c = 1.0
		end
		for i = 0 until 3
		  let n = i + 1
		  tile   p f32[n]
		  tile   q i32[n]
		  set k = k + 1.0
		  if i == 1
		    set p[e] = k
		    set q[e] = i
		  end
		  set y[g, i] = c + k
		  set z[g, i] = p[i]
		  set w[g, i] = q[n - 1]
		end
		end`)
	if err != nil {
		t.Fatal(err)
	}
	y, z, w := make([]float32, 6), make([]float32, 6), make([]int32, 6)
	run(t, ks[0], nil, Buffer{F: y}, Buffer{F: z}, Buffer{I: w})
	show := func(v []float32) (s []float64) {
		for _, x := range v {
			s = append(s, float64(x))
		}
		return s
	}
	nan := math.NaN()
	same := cmp.Comparer(func(a, b float64) bool { return a == b || a != a && b != b })
	if d := cmp.Diff([]float64{2, 3, 4, nan, nan, nan}, show(y), same); d != "" {
		t.Errorf("y: %s", d)
	}
	if d := cmp.Diff([]float64{nan, 2, nan, nan, 2, nan}, show(z), same); d != "" {
		t.Errorf("z: %s", d)
	}
	if d := cmp.Diff([]int32{poison, 1, poison, poison, 1, poison}, w); d != "" {
		t.Errorf("w: %s", d)
	}
}

// TestTileOfLoop has a tile that is fresh in each iteration, as its size counts
// them, and an axis that had the loop's name before.
func TestTileOfLoop(t *testing.T) {
	ks, err := Parse(`kernel loop map
		out y f32[3]
		out z f32[3]
		set z[i] = f32(i)
		for i = 0 until 3
		  tile   p f32[i + 1]
		  set p[i] = 5.0
		  set y[i] = where(p[0] == 5.0, 1.0, 0.0)
		end
		end`)
	if err != nil {
		t.Fatal(err)
	}
	y, z := make([]float32, 3), make([]float32, 3)
	run(t, ks[0], nil, Buffer{F: y}, Buffer{F: z})
	sameBits(t, "y", y, []float32{1, 0, 0})
	sameBits(t, "z", z, []float32{0, 1, 2})
}

// TestDotRanks runs the four forms of Dot: y[0] needs a fused product, and z
// would be 1 in any other order.
func TestDotRanks(t *testing.T) {
	ks, err := Parse(`kernel dots matmul
		in a f32[3]
		in b f32[3, 3]
		out x f32[1, 3]
		out y f32[3]
		out z f32[]
		out s f32[2, 2]
		tile   m f32[1, 3]
		tile   v f32[3]
		tile   w f32[3, 3]
		tile   u f32[3]
		tile   c f32[1, 3]
		tile   d f32[3]
		var    e f32
		tile   left f32[3, 2]
		tile   right f32[3, 2]
		tile   f f32[2, 2]
		set m[i, k] = a[k]
		set left[k, i] = b[k, i]
		set right[k, i] = b[k, i + 1]
		set v[k] = a[k]
		set w[k, n] = b[k, n]
		set u[k] = b[k, 2]
		set c[r, j] = 1.0
		set d[j] = -1.0
		set e = 0.0
		dot c[r, j] += m[r, depth] * w[depth, j]
		dot d[j] += v[depth] * w[depth, j]
		dot e += v[depth] * u[depth]
		set f[r, j] = 0.0
		dot f[r, j] += left[depth, r] * right[depth, j]
		set s[i, n] = f[i, n]
		set x[i, n] = c[i, n]
		set y[n] = d[n]
		set z[] = e
		end`)
	if err != nil {
		t.Fatal(err)
	}
	const big = 1<<25 + 1<<13
	a := []float32{1 + 0x1p-12, 2, -1}
	b := []float32{
		1 + 0x1p-12, 0, 1 << 25,
		0, 3, 0.5,
		0, 4, big,
	}
	x, y, z, s := make([]float32, 3), make([]float32, 3), make([]float32, 1), make([]float32, 4)
	run(t, ks[0], nil, Buffer{F: a}, Buffer{F: b}, Buffer{F: x}, Buffer{F: y}, Buffer{F: z}, Buffer{F: s})
	sameBits(t, "s", s, []float32{0, 1<<25 + 1<<13, 25, 1.5 + 4*big})
	sameBits(t, "x", x, []float32{2 + 0x1p-11, 3, 0})
	sameBits(t, "y", y, []float32{0x1p-11 + 0x1p-24, 1, 0})
	sameBits(t, "z", z, []float32{0})
}
