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

// sequence is "12+345=465" and the end token, in a decoder-only model.
var sequence = []int64{5, 6, 14, 7, 8, 9, 17, 8, 10, 9, 3}

// embeddingOf returns an embedding of width 2 with positions p. The longest problem has
// 11 tokens.
func embeddingOf(t *testing.T, p check.Position, md mode, stream uint32) *ir.Func {
	t.Helper()
	spec := &check.Spec{Task: check.Task{Task: config.Task{Kind: "addition", Base: 10, DigitsLo: 3, DigitsHi: 3, Sequence: true}}, Model: check.Model{Width: 2, TokenScale: 1, Position: p}, Train: check.Train{Train: config.Train{Batch: 8}}}
	m := &builder{spec: spec, plan: &plan.Plan{}}
	m.group("embed", m.embedding())
	f, err := m.embed("embed_target", TargetTokens, "T", expr.NewVar("P", expr.I32), stream, md)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// rowsOf embeds tokens, with zeros for tokens and (n, n) for position n, and returns the
// rows from first on.
func rowsOf(t *testing.T, p check.Position, md mode, first int, ids []int64, word uint32) []float64 {
	t.Helper()
	f := embeddingOf(t, p, md, streamTarget)
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
	random := check.Position{Kind: "random", Inner: "learned", Max: 14}
	shifted := check.Position{Kind: "shifted", Inner: "learned", MaxOffset: 10, Max: 21}
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
		{"shifted, offset 5", shifted, training, 0, 11 + 5, []float64{5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
		{"shifted, largest offset", shifted, training, 0, 10, []float64{10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}},
		{"shifted in a test", shifted, teacher, 0, 5, []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{"shifted, rows 6 to 10", shifted, decoding, 6, 5, []float64{6, 7, 8, 9, 10}},
		{"random: words 0 take the first numbers", random, training, 0, 0, []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{"random: words 13 leave out 0", random, training, 0, 13, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
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

// TestOffsets: each example has one offset. All offsets are equally likely. They depend
// on the step and on source or target, but not on the launch.
func TestOffsets(t *testing.T) {
	const offsets, rows, each = 51, 3, 100
	p := check.Position{Kind: "shifted", Inner: "learned", MaxOffset: offsets - 1, Max: offsets + rows - 1}
	table := ir.Tensor{Shape: []int{p.Max, 2}}
	for n := range p.Max {
		table.F = append(table.F, float64(n), float64(n))
	}
	drawn := func(stream, step uint32, first, examples int) []float64 {
		f := embeddingOf(t, p, training, stream)
		env := ir.Env{Dims: map[string]int{"B": examples, "T": rows, "P": 0}, Step: step, Example: uint32(first), Seed: 7}
		var args []ir.Tensor
		for _, param := range f.Params {
			switch param.Attr.Name {
			case TargetTokens:
				args = append(args, ir.Tensor{Shape: []int{examples, rows}, I: make([]int64, examples*rows)})
			case "position":
				args = append(args, table)
			default:
				n := param.Type.Shape[0].N
				args = append(args, ir.Tensor{Shape: []int{n, 2}, F: make([]float64, 2*n)})
			}
		}
		var out []float64
		for x := range slices.Chunk(irtest.Eval(t, f, env, args)[0].F, 2*rows) {
			if x[2] != x[0]+1 || x[4] != x[0]+2 {
				t.Fatalf("an example has the positions %g, %g and %g", x[0], x[2], x[4])
			}
			out = append(out, x[0])
		}
		return out
	}
	all := drawn(streamTarget, 3, 0, offsets*each)
	var count [offsets]float64
	for _, o := range all {
		count[int(o)]++
	}
	spread := 0.0 // Pearson's chi-squared with 50 degrees of freedom is above 86.7 once in a thousand times
	for _, n := range count {
		spread += (n - each) * (n - each) / each
	}
	if spread > 86.7 || spread < 24.7 {
		t.Errorf("chi-squared is %g of %v", spread, count)
	}
	if part := drawn(streamTarget, 3, 70, 20); !slices.Equal(part, all[70:90]) {
		t.Errorf("a launch from example 70 on has %v, all at once %v", part, all[70:90])
	}
	for what, other := range map[string][]float64{"step": drawn(streamTarget, 4, 0, len(all)), "text": drawn(streamSource, 3, 0, len(all))} {
		same := 0
		for i := range all {
			if other[i] == all[i] {
				same++
			}
		}
		if same < each/2 || same > each*3/2 {
			t.Errorf("another %s has the same offset in %d of %d examples", what, same, len(all))
		}
	}
}

// TestDigits: digits have other ids in an encoder-decoder, and a larger base has more of
// them.
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
