package expr

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tower doubles x levels times with sharing. As a tree it would have 2^levels leaves.
func tower(levels int) *Expr {
	e := NewVar("x", F32)
	for range levels {
		e = New(Mul, e, New(Neg, e))
	}
	return e
}

// TestSharedWorkIsLinear would not end if any of these visited a tree.
func TestSharedWorkIsLinear(t *testing.T) {
	a, b := tower(200), tower(200)
	if !Equal(a, b) || Key(a) != Key(b) {
		t.Error("equal towers differ")
	}
	if Equal(a, tower(199)) || Key(a) == Key(tower(199)) {
		t.Error("different towers are equal")
	}
	if err := Typecheck(a); err != nil {
		t.Error(err)
	}
	Simplify(Expand(a))
	Diff(a, NewVar("x", F32))
	if n := len(Vars(a)); n != 1 {
		t.Errorf("%d variables", n)
	}
	if got := Eval32(a, Bindings{"x": {F: 1}}).F; got != -1 {
		t.Errorf("value %v, want -1", got)
	}
	lets, _ := Share([]*Expr{a}, func(n int) string { return fmt.Sprintf("t%d", n) })
	if len(lets) != 199 {
		t.Errorf("%d lets, want one for each level but the last", len(lets))
	}
}

func TestSubst(t *testing.T) {
	e := parse(t, "a[i] + x * f32(i)")
	got := Subst(e, map[string]*Expr{"i": parse(t, "i + j"), "x": parse(t, "y"), "z": parse(t, "x")})
	if want := "a[i + j] + y * f32(i + j)"; got.String() != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if e.String() != "a[i] + x * f32(i)" {
		t.Errorf("the original became %v", e)
	}
	if Subst(e, nil) != e {
		t.Error("an empty substitution makes a new node")
	}
}

func TestLeaves(t *testing.T) {
	e, f := parse(t, "a[i] * y + x + a[i - n] * y"), parse(t, "a[i] + a[a_index[]] + z")
	got := fmt.Sprint(Vars(e, f), Elems(e, f))
	if want := "[i y x n z] [a[i] a[i - n] a_index[] a[a_index[]]]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestEqual(t *testing.T) {
	es := []*Expr{
		NewVar("x", F32), NewVar("x", I32), NewVar("y", F32), NewElem("x", F32), NewElem("x", F32, Int(0)),
		F(0), F(math.Copysign(0, -1)), F(1), Int(0), Int(1), U(0), B(false),
		parse(t, "x + y"), parse(t, "y + x"), parse(t, "x - y"), parse(t, "x + y + z"), parse(t, "x + (y + z)"),
	}
	for i, a := range es {
		for j, b := range es {
			if Equal(a, b) != (i == j) || (Key(a) == Key(b)) != (i == j) {
				t.Errorf("%d %v, %d %v: Equal %v, same Key %v", i, a, j, b, Equal(a, b), Key(a) == Key(b))
			}
		}
	}
}

func TestUses(t *testing.T) {
	x := NewVar("x", F32)
	square := New(Mul, x, x)
	sum := New(Add, square, x)
	uses := Uses(sum, square)
	got := []int{uses[x], uses[square], uses[sum]}
	if diff := cmp.Diff([]int{3, 2, 1}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestShare(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"x + y", "x + y"},
		{"x * x + 1.0 / 1.0", "x * x + 1.0 / 1.0"},
		{"(x + y) * (x + y)", "t0 = x + y; t0 * t0"},
		{"a[i] * a[i]", "t0 = a[i]; t0 * t0"},
		{"a[i + 1] * a[i + 1] + f32(i + 1)", "t0 = i + 1; t1 = a[t0]; t1 * t1 + f32(t0)"},
		{"exp(x + y) + exp(x + y)", "t0 = exp(x + y); t0 + t0"},
		{"x * y; x * y + z", "t0 = x * y; t0; t0 + z"},
		{"x * y; x", "x * y; x"},
	} {
		var es []*Expr
		for _, text := range strings.Split(c.in, "; ") {
			es = append(es, parse(t, text))
		}
		lets, rest := Share(es, func(n int) string { return fmt.Sprintf("t%d", n) })
		var got []string
		for _, l := range lets {
			got = append(got, l.Name+" = "+l.Value.String())
		}
		for _, e := range rest {
			got = append(got, e.String())
		}
		if got := strings.Join(got, "; "); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

// TestShareKeepsValues substitutes the lets and compares values.
func TestShareKeepsValues(t *testing.T) {
	s := newSource(5)
	for range 300 {
		es := []*Expr{Expand(s.expr(F32, 4)), Expand(s.expr(Bool, 3))}
		lets, rest := Share(es, func(n int) string { return fmt.Sprintf("t%d", n) })
		values := map[string]*Expr{}
		for _, l := range lets {
			values[l.Name] = Subst(l.Value, values)
		}
		for i, e := range rest {
			if !Equal(Subst(e, values), es[i]) {
				t.Fatalf("%v\nis shared as %v\nover %v", es[i], rest[i], lets)
			}
		}
	}
}
