package depend

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

var names = map[Relation]string{Any: "any", Same: "same", Never: "never"}

// TestCompare has pairs of indices in a loop over i, and their relations. The axes that they run
// over are e < 4 and n < N.
func TestCompare(t *testing.T) {
	for _, c := range []struct {
		size, x, y string
		want       Relation
	}{
		{"T", "i", "i", Same},
		{"T", "i", "i + 1", Any},
		{"T", "i + 3", "i + 3", Same},
		{"T", "5 - i", "5 - i", Same},
		{"T", "i", "5 - i", Any},
		{"T", "0", "0", Any},
		{"T", "0", "1", Never},
		{"1", "0", "0", Same},
		{"T", "3", "i", Any},
		{"0", "i", "0", Any}, // unlike steps are not compared

		// Elements between the other's.
		{"T", "i*2", "i*2 + 1", Never},
		{"T", "i*2", "i*2 + 2", Any},
		{"T", "i*-2 + 5", "i*-2", Never},

		// Rows of a length.
		{"T", "i*4 + e", "i*4 + e", Same},
		{"T", "i*4 + e", "i*4", Same},
		{"T", "i*3 + e", "i*3 + e", Any},
		{"T", "i*8 + e", "i*8 + 4 + e", Never},
		{"T", "i*8 + e", "i*8 + 3 + e", Same},
		{"T", "i*8 - e", "i*8 + e", Same},
		{"T", "i*7 - e", "i*7 + e", Same},
		{"T", "i*6 - e", "i*6 + e", Any},
		{"T", "i*9 + n", "i*9 + n", Any},

		// As many iterations as keep parts apart.
		{"5", "i", "i + 5", Never},
		{"5", "i", "i + 4", Any},
		{"5", "i - 5", "i", Never},
		{"T", "i", "i + T", Never},
		{"T", "i - T*2", "i", Never},
		{"T", "i", "i + T - 1", Any},
		{"T", "i*2", "i*2 + T", Any},
		{"T", "i + e", "i + T + e", Any},
		{"T + 1", "i", "i + T", Any},

		// Expressions that vary between iterations, or are unknown.
		{"T", "i + c", "i + c", Any},
		{"T", "i + p[0]", "i + p[0]", Any},
		{"T", "i*T", "i*T", Any},
		{"T", "i/2", "i/2", Any},
		{"T", "i + r", "i + r", Same},
		{"T", "i + r", "i + r*2", Any},

		// One dimension is enough.
		{"T", "i, 0", "i, 1", Never},
		{"T", "i, i", "i + 1, i", Same},
		{"T", "i + c, i", "i, i", Same},
	} {
		size := index(t, c.size)[0]
		l := Loop{Var: "i", Size: size, Changes: map[string]bool{"c": true}}
		axes := []kernel.Axis{{Var: "e", Size: expr.Int(4)}, {Var: "n", Size: expr.NewVar("N", expr.I32)}}
		x, y := Access{"a", true, index(t, c.x), axes}, Access{"a", false, index(t, c.y), axes}
		if got := l.Compare(x, y); got != c.want {
			t.Errorf("%s and %s for i < %s: %s, want %s", c.x, c.y, c.size, names[got], names[c.want])
		}
		if got := l.Compare(y, x); got != c.want {
			t.Errorf("%s and %s for i < %s: %s, want %s", c.y, c.x, c.size, names[got], names[c.want])
		}
		y.Name = "b"
		if l.Compare(x, y) != Never {
			t.Errorf("two arrays meet")
		}
	}
}

// index reads indices.
func index(t *testing.T, text string) []*expr.Expr {
	t.Helper()
	var out []*expr.Expr
	for _, one := range strings.Split(text, ", ") {
		e, err := expr.Parse(one, func(string) (expr.Type, bool) { return expr.I32, true })
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, expr.Simplify(e))
	}
	return out
}

// TestIndependent wants a loop's iterations to be independent exactly if no write in one meets an
// access in another.
func TestIndependent(t *testing.T) {
	i := expr.NewVar("i", expr.I32)
	next := expr.New(expr.Add, i, expr.Int(1))
	at := func(name string, write bool, e *expr.Expr) Access {
		return Access{Name: name, Write: write, Index: []*expr.Expr{e}}
	}
	l := Loop{Var: "i", Size: expr.NewVar("T", expr.I32)}
	for _, c := range []struct {
		as   []Access
		want bool
	}{
		{[]Access{at("a", true, i), at("a", false, i)}, true},
		{[]Access{at("a", true, i), at("a", false, next)}, false},
		{[]Access{at("a", false, i), at("a", false, next)}, true},
		{[]Access{at("a", true, i), at("b", false, next)}, true},
		{[]Access{at("a", true, expr.Int(0))}, false},
		{[]Access{{Name: "s", Write: true}}, false},
		{[]Access{{Name: "s"}}, true},
	} {
		if got := l.Independent(c.as); got != c.want {
			t.Errorf("%v: %t", texts(c.as), got)
		}
	}
}

// TestRandom compares accesses by trying all iterations and elements.
func TestRandom(t *testing.T) {
	found := map[Relation]int{}
	for seed := range uint64(2000) {
		draw := rand.New(rand.NewPCG(seed, 1))
		l := Loop{Var: "i", Size: expr.Int(draw.Int64N(6))}
		axes := []kernel.Axis{{Var: "e", Size: expr.Int(1 + draw.Int64N(3))}, {Var: "j", Size: expr.Int(1 + draw.Int64N(2))}}
		x, y := Access{Name: "a", Axes: axes}, Access{Name: "a", Axes: axes}
		for range 1 + draw.IntN(2) {
			step := draw.Int64N(7) - 3
			x.Index, y.Index = append(x.Index, affine(draw, step)), append(y.Index, affine(draw, step))
		}
		got, want := l.Compare(x, y), tried(l, x, y)
		found[got]++
		if got > want {
			t.Fatalf("%v and %v for i < %v: %s, but they meet: %s", texts([]Access{x}), texts([]Access{y}), l.Size, names[got], names[want])
		}
		if len(x.Index) == 1 && got < want && plain(x) && plain(y) {
			t.Fatalf("%v and %v for i < %v: %s, want %s", texts([]Access{x}), texts([]Access{y}), l.Size, names[got], names[want])
		}
	}
	for r, name := range names {
		if found[r] < 50 {
			t.Errorf("%d pairs are %s", found[r], name)
		}
	}
}

// affine returns an index.
func affine(draw *rand.Rand, step int64) *expr.Expr {
	sum := expr.Int(draw.Int64N(15) - 7)
	coefs := []int64{step, max(draw.Int64N(5)-2, 0), min(draw.Int64N(5)-2, 0)}
	for d, name := range []string{"i", "e", "j"} {
		sum = expr.New(expr.Add, sum, expr.New(expr.Mul, expr.NewVar(name, expr.I32), expr.Int(coefs[d])))
	}
	return expr.Simplify(sum)
}

// plain reports whether an index runs over no axis.
func plain(a Access) bool { return !expr.Depends(a.Index[0], "e") && !expr.Depends(a.Index[0], "j") }

// tried returns the relation of two accesses.
func tried(l Loop, x, y Access) Relation {
	r := Never
	for v := range l.Size.I {
		for w := range l.Size.I {
			if !meet(elements(x, v), elements(y, w)) {
				continue
			}
			if v != w {
				return Any
			}
			r = Same
		}
	}
	return r
}

func meet(xs, ys [][2]int64) bool {
	return slices.ContainsFunc(xs, func(x [2]int64) bool { return slices.Contains(ys, x) })
}

// elements returns the elements that an access touches in iteration v.
func elements(a Access, v int64) [][2]int64 {
	var out [][2]int64
	for e := range a.Axes[0].Size.I {
		for j := range a.Axes[1].Size.I {
			at := map[string]*expr.Expr{"i": expr.Int(v), "e": expr.Int(e), "j": expr.Int(j)}
			var p [2]int64
			for d, x := range a.Index {
				p[d] = expr.Simplify(expr.Subst(x, at)).I
			}
			out = append(out, p)
		}
	}
	return out
}
