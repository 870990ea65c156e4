package model

import (
	"fmt"
	"slices"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/ir/irtest"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/runtime/config"
)

// sequence is "12+345=465" and its end, as a decoder-only model reads it.
var sequence = []int64{5, 6, 14, 7, 8, 9, 17, 8, 10, 9, 3}

// rowsOf builds the embedding of a model of width 2 whose tokens are 0 and whose
// position n is (n, n), and gives the rows that the tokens from the first on get. Its
// longest problem has 11 tokens.
func rowsOf(t *testing.T, p check.Position, md mode, first int, ids []int64, word uint32) []float64 {
	t.Helper()
	spec := &check.Spec{Task: check.Task{Task: config.Task{Kind: "addition", DigitsLo: 4, DigitsHi: 4, Sequence: true}}, Model: check.Model{Width: 2, TokenScale: 1, Position: p}, Train: check.Train{Train: config.Train{Batch: 8}}}
	m := &builder{spec: spec, plan: &plan.Plan{}}
	f, err := m.embed("embed_target", TargetTokens, "T", expr.NewVar("P", expr.I32), streamTarget, md)
	if err != nil {
		t.Fatal(err)
	}
	rows := len(ids) - first
	env := ir.Env{
		Dims: map[string]int{"B": 1, "T": rows, "C": len(ids), "P": first},
		Rand: func(_, _ uint32, _ int) uint32 { return word },
	}
	var args []ir.Tensor
	for _, param := range f.Params {
		shape, n := []int{}, 1
		for _, d := range param.Type.Shape {
			size, err := d.Size(env.Dims)
			if err != nil {
				t.Fatal(err)
			}
			shape, n = append(shape, size), n*size
		}
		x := ir.Tensor{Shape: shape}
		switch param.Attr.Name {
		case TargetTokens:
			x.I = ids[first:]
		case "history":
			x.I = append(slices.Clone(ids[:first]), make([]int64, rows)...)
		default:
			x.F = make([]float64, n)
		}
		if param.Attr.Name == "position" {
			for k := range x.F {
				x.F[k] = float64(k / 2)
			}
		}
		args = append(args, x)
	}
	var out []float64
	for i, r := range f.Results {
		if r.Name == "x" {
			for k, y := range irtest.Eval(t, f, env, args)[i].F {
				if k%2 == 0 {
					out = append(out, y)
				}
			}
		}
	}
	return out
}

func TestPositionRows(t *testing.T) {
	abacus := check.Position{Kind: "abacus", MaxOffset: 10, Table: 20}
	short := check.Position{Kind: "abacus", MaxOffset: 10, Table: 8}
	coupling := check.Position{Kind: "abacus", MaxOffset: 10, Table: 20, Coupled: true}
	random := check.Position{Kind: "random", Inner: "learned", Max: 13}
	cases := []struct {
		name  string
		p     check.Position
		md    mode
		first int
		word  uint32
		want  []float64
	}{
		{"abacus, offset 5", abacus, training, 0, 11 + 5, []float64{6, 7, 0, 6, 7, 8, 0, 6, 7, 8, 0}},
		{"abacus, largest offset", abacus, training, 0, 10, []float64{11, 12, 0, 11, 12, 13, 0, 11, 12, 13, 0}},
		{"abacus beyond the table", short, training, 0, 5, []float64{6, 7, 0, 6, 7, 7, 0, 6, 7, 7, 0}},
		{"abacus in a test", abacus, teacher, 0, 5, []float64{1, 2, 0, 1, 2, 3, 0, 1, 2, 3, 0}},
		{"abacus, rows 4 to 10", abacus, decoding, 4, 5, []float64{2, 3, 0, 1, 2, 3, 0}},
		{"abacus, row 10", abacus, decoding, 10, 5, []float64{0}},
		{"coupling, offset 5", coupling, training, 0, 5, []float64{6, 7, 5, 6, 7, 8, 5, 6, 7, 8, 5}},
		{"coupling in a test", coupling, teacher, 0, 5, []float64{1, 2, 0, 1, 2, 3, 0, 1, 2, 3, 0}},
		{"random: words 0 take the first numbers", random, training, 0, 0, []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{"random: words 12 leave out 0", random, training, 0, 12, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
		{"random in a test", random, teacher, 0, 7, []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{"random, rows 6 to 10", random, decoding, 6, 7, []float64{6, 7, 8, 9, 10}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := rowsOf(t, c.p, c.md, c.first, sequence, c.word); !slices.Equal(got, c.want) {
				t.Errorf("got  %v\nwant %v", got, c.want)
			}
		})
	}
}

// TestDigits: the digits of an encoder-decoder have other ids, and more of them for
// a larger base.
func TestDigits(t *testing.T) {
	for _, c := range []struct {
		task config.Task
		want string
	}{
		{config.Task{Sequence: true, Base: 10}, "[4 5 6 7 8 9 10 11 12 13]"},
		{config.Task{Base: 10}, "[5 6 7 8 9 10 11 12 13 14]"},
		{config.Task{Base: 12}, "[5 6 7 8 9 10 11 12 13 14 17 18]"},
	} {
		var got []int64
		for id := range int64(40) {
			if expr.Eval32(isDigit(check.Task{Task: c.task}), expr.Bindings{"x0": {I: id}}).I != 0 {
				got = append(got, id)
			}
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%+v: %v, want %s", c.task, got, c.want)
		}
	}
}
