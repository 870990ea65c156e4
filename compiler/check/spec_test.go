package check

import (
	"math"
	"testing"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/runtime/config"
)

// TestShares checks how many layers share parameters.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		share Share
		want  int
	}{{Share{}, 1}, {Share{Group: 2}, 1}, {Share{Of: "all"}, 6}, {Share{Of: "ffn", Group: 2}, 2}} {
		if got := c.share.Span(6); got != c.want {
			t.Errorf("%+v of six layers: %d in a row, want %d", c.share, got, c.want)
		}
	}
}

// TestShapesOfAnAttention checks projections with fewer heads of keys and values.
func TestShapesOfAnAttention(t *testing.T) {
	m := &Model{Width: 12, Heads: 4, HeadWidth: 5, Unnormed: []string{"ffn"}}
	for _, c := range []struct {
		heads, group int
		name         string
		in, out      int
	}{
		{0, 1, "q", 12, 20}, {0, 1, "k", 12, 20}, {0, 1, "v", 12, 20}, {0, 1, "o", 20, 12},
		{2, 2, "q", 12, 20}, {2, 2, "k", 12, 10}, {2, 2, "v", 12, 10}, {2, 2, "o", 20, 12}, {1, 4, "k", 12, 5},
	} {
		s := &Site{KeyHeads: c.heads}
		if group := m.KeyGroup(s); group != c.group {
			t.Errorf("%d heads of keys: groups of %d, want %d", c.heads, group, c.group)
		}
		if in, out := m.Projection(s, c.name); in != c.in || out != c.out {
			t.Errorf("%s with %d heads of keys is %d to %d, want %d to %d", c.name, c.heads, in, out, c.in, c.out)
		}
	}
	if m.Normed("ffn") || !m.Normed("self") {
		t.Error("all parts but ffn have a norm")
	}
}

// TestCalibratedSite: the smallest matrix of an earlier stage counts.
func TestCalibratedSite(t *testing.T) {
	param := func(stage string, shape ...int) BiasParam { return BiasParam{Stage: stage, Shape: shape} }
	for _, c := range []struct {
		site          *Site
		queries, keys int
	}{
		{nil, 0, 0}, {&Site{}, 0, 0}, {&Site{Params: []BiasParam{param("", 2)}}, 0, 0},
		{&Site{Params: []BiasParam{param("a", 2, 7, 9)}}, 7, 9},
		{&Site{Params: []BiasParam{param("a", 2, 7, 9), param("", 1, 1), param("b", 8, 5)}}, 7, 5},
		{&Site{Params: []BiasParam{param("a", 8, 5), param("b", 2, 7, 9)}}, 7, 5},
		{&Site{Params: []BiasParam{param("a", 7, 9), param("b", 7, 9)}}, 7, 9},
	} {
		if queries, keys := c.site.Calibrated(); queries != c.queries || keys != c.keys {
			t.Errorf("%+v: %d queries and %d keys, want %d and %d", c.site, queries, keys, c.queries, c.keys)
		}
	}
}

// TestReachOfPositions checks bounds on tokens or on places in numbers.
func TestReachOfPositions(t *testing.T) {
	for _, c := range []struct {
		position       Position
		rows           int
		tokens, places int
	}{
		{Position{Kind: "none", Max: 9}, 0, 0, 0},
		{Position{Kind: "learned", Max: 9}, 9, 9, 0},
		{Position{Kind: "sinusoidal", Max: 9}, 0, 0, 0},
		{Position{Kind: "cyclic", Period: 12}, 12, 0, 0},
		{Position{Kind: "abacus", Table: 8, Max: 9}, 8, 0, 8},
		{Position{Kind: "random", Max: 9}, 9, 9, 0},
		{Position{Kind: "shifted", Max: 9, Inner: "learned"}, 9, 9, 0},
		{Position{Kind: "shifted", Max: 9, Inner: "sinusoidal"}, 0, 0, 0},
	} {
		tokens, places := c.position.Reach()
		if rows := c.position.Rows(); rows != c.rows || tokens != c.tokens || places != c.places {
			t.Errorf("%+v: %d rows, %d tokens, %d places; want %d, %d, %d", c.position, rows, tokens, places, c.rows, c.tokens, c.places)
		}
	}
}

// A unit is an environment in which x has its value.
type unit float32

func (u unit) Var(string) expr.Value         { return expr.Value{F: float64(u)} }
func (u unit) Elem(string, []int) expr.Value { panic("no array is here") }

// TestActivationValues compares activations with their definitions.
func TestActivationValues(t *testing.T) {
	gelu := func(x float64) float64 { return x * 0.5 * math.Erfc(-x/math.Sqrt2) }
	silu := func(x float64) float64 { return x / (1 + math.Exp(-x)) }
	for name, want := range map[string]func(x float64) float64{
		"relu": func(x float64) float64 { return math.Max(x, 0) }, "gelu": gelu, "geglu": gelu, "swiglu": silu,
	} {
		f := Activations[name].Of(expr.NewVar("x", expr.F32))
		for _, x := range []float64{-3, -1, -0.25, 0, 0.25, 1, 3} {
			if got := expr.Eval64(f, unit(x)).F; math.Abs(got-want(x)) > 1e-6 {
				t.Errorf("%s(%g) is %g, want %g", name, x, got, want(x))
			}
		}
	}
}

// TestDigitTokens checks which tokens are digits, and how many tokens answers may have.
func TestDigitTokens(t *testing.T) {
	for _, c := range []struct {
		name              string
		task              Task
		first, last, said int // said: 0 is not asked
	}{
		{"two stacks", Task{Task: config.Task{Base: 10}}, 5, 14, 0},
		{"one", Task{Task: config.Task{Base: 10, Sequence: true}}, 4, 13, 0},
		{"as used", Task{Task: config.Task{Base: 7, Used: true, Sequence: true, Unended: true}}, 0, 6, 7},
		{"of a file", Task{File: &Problems{Digits: 3}}, ownTokens, ownTokens + 2, 0},
		{"of a file without digits", Task{File: &Problems{}}, ownTokens, ownTokens - 1, 0},
	} {
		if first, last := c.task.Digits(); first != c.first || last != c.last {
			t.Errorf("%s: digits are %d to %d, want %d to %d", c.name, first, last, c.first, c.last)
		}
		if c.said > 0 && c.task.Said() != c.said {
			t.Errorf("%s: answers have %d tokens, want %d", c.name, c.task.Said(), c.said)
		}
	}
}
