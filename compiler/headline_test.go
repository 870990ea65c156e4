package compiler_test

import (
	"math"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/plan"
)

// TestInitialValues compares the initial values of the headline's parameters, and of
// FIRE's, with the standard deviations of the released code at effective depth 16
// ("deepnorm-straight").
func TestInitialValues(t *testing.T) {
	want := map[string]float64{
		"embed.token": 0.03125, "embed.position": 0.03125,
		"loop.self.q.w": 0.03125, "loop.self.k.w": 0.03125, "loop.self.v.w": 0.009291, "loop.self.o.w": 0.009291,
		"loop.self.fire.w1": 0.07319, "loop.self.fire.w2": 0.06069,
		"loop.ffn.in.u.w": 0.007586, "loop.ffn.in.g.w": 0.007586, "loop.ffn.out.w": 0.009291,
		"head.ffn.in.u.w": 0.007586, "head.ffn.in.g.w": 0.007586, "head.ffn.out.w": 0.009291,
		"head.adapter.w": 0.009291, "head.out.w": 0.013019,
	}
	constant := map[string]float64{"gamma": 1, "beta": 0, "b1": 0, "b2": 0, "scale": 0.1, "reach": 1}
	for name, p := range headlineParams(t) {
		if std, ok := want[name]; ok {
			if p.Init.Kind != "normal" || math.Abs(p.Init.A-std) > 1e-3*std {
				t.Errorf("%s starts as %+v, want normal with standard deviation %g", name, p.Init, std)
			}
			continue
		}
		value, ok := constant[name[strings.LastIndex(name, ".")+1:]]
		if !ok || p.Init.Kind != "const" || p.Init.A != value {
			t.Errorf("%s starts as %+v, want %g", name, p.Init, value)
		}
	}
}

// TestDecay: all but norms and biases decay.
func TestDecay(t *testing.T) {
	for name, p := range headlineParams(t) {
		want := !strings.HasSuffix(name, ".gamma") && !strings.HasSuffix(name, ".beta") &&
			!strings.HasSuffix(name, ".b1") && !strings.HasSuffix(name, ".b2")
		if p.Decay != want {
			t.Errorf("%s: decay is %t, want %t", name, p.Decay, want)
		}
	}
}

// headlineParams returns the parameters of the headline model with FIRE, by group and
// name.
func headlineParams(t *testing.T) map[string]plan.Param {
	t.Helper()
	p := compileHeadline(t, "model.decoder_only.self.bias = fire(hidden = 32, c = 0.1, threshold = 512)")
	params := map[string]plan.Param{}
	for _, g := range p.Lowered.Groups {
		for _, param := range g.Params {
			params[g.Name+"."+param.Name] = param
		}
	}
	return params
}
