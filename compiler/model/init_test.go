package model

import (
	"math"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/plan"
)

// TestInitialBiases: biases start at 0 or, outside of attention, between -1/sqrt(in) and
// 1/sqrt(in).
func TestInitialBiases(t *testing.T) {
	for _, uniform := range []bool{false, true} {
		site := &check.Site{Scale: 0.5}
		spec := &check.Spec{Model: check.Model{Width: 16, Heads: 2, Act: "relu", Hidden: 64, Norm: "layernorm", Bias: true, Init: xavier, InitBiases: uniform,
			TokenScale: 1, Position: check.Position{Kind: "none"}, Decoder: check.Stack{Layers: 2, Self: site, Cross: site}},
			Train: check.Train{Optimizer: "adamw"}}
		spec.Task.Base = 10
		p, err := Build(spec)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, g := range p.Groups {
			for k, param := range g.Params {
				if !strings.HasSuffix(param.Name, ".b") {
					continue
				}
				seen++
				want := plan.Init{Kind: "const"}
				if in := g.Params[k-1].Shape[0]; uniform && !strings.HasPrefix(param.Name, "self") && !strings.HasPrefix(param.Name, "cross") {
					a := 1 / math.Sqrt(float64(in))
					want = plan.Init{Kind: "uniform", A: -a, B: a}
				}
				if param.Init != want {
					t.Errorf("%s.%s starts as %+v, want %+v", g.Name, param.Name, param.Init, want)
				}
			}
		}
		if seen != 11 { // four in each attention, two in the feed-forward part, one in the output
			t.Errorf("%d biases", seen)
		}
	}
}
