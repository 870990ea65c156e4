package host

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/plan"
)

// TestModelHasBudget prints model.go, which must be Go, with a budget of each kind.
func TestModelHasBudget(t *testing.T) {
	for budget, want := range map[string]string{
		"3ksteps": "Steps: 3000", "1000000000000000examples": "Examples: 1000000000000000", "8EFLOP": "FLOP: 8e+18",
		"1e-9s": "Time: 1}", "30m": "Time: 1800000000000", "24h": "Time: 86400000000000", "99420d": "Time: 8589888000000000000",
	} {
		text := model(t, resolve(t, "task successor {}\ntrain.budget = "+budget))
		if !strings.Contains(text, "Budget{"+want) {
			t.Errorf("%s: Budget{%s is missing in\n%s", budget, want, text)
		}
	}
}

// model is model.go of a spec, with single spaces.
func model(t *testing.T, spec *check.Spec) string {
	t.Helper()
	f := Model(Trainer{Spec: spec})
	f.Package = "main"
	text, err := f.Format()
	if err != nil {
		t.Error(err)
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

// TestParamConsts wants a constant for each parameter, even if Go names collide.
func TestParamConsts(t *testing.T) {
	g := &plan.Group{Name: "decoder"}
	for _, name := range []string{"self.b.w1", "self.b.w_1", "self.b_w.1", "self.b.w__1", "self.b.w2", "self.b.w_1.2"} {
		g.Params = append(g.Params, plan.Param{Name: name})
	}
	seen := make(map[string]string)
	for _, p := range g.Params {
		name := paramConst(g, p.Name)
		if other, ok := seen[name]; ok {
			t.Errorf("%s and %s are both %s", other, p.Name, name)
		}
		seen[name] = p.Name
	}
	if want := "self.b.w1"; seen["decoderOffSelfBW1"] != want {
		t.Errorf("%s has lost its constant: %v", want, seen)
	}
}

// TestModelHasReach prints how far tables of positions and calibrated biases go.
func TestModelHasReach(t *testing.T) {
	learned := resolve(t, "task successor { operands = digits(1..6) }\neval.digits = [6]\nmodel.embed.position = learned(max = 16)")
	calibrated := resolve(t, "task successor {}")
	calibrated.Model.Decoder.Self.Params = []check.BiasParam{{Stage: "calibrate", Shape: []int{4, 30, 20}}, {Shape: []int{8}}}
	calibrated.Model.Decoder.Cross.Params = []check.BiasParam{{Stage: "calibrate", Shape: []int{4, 21, 22}}}
	shifted := resolve(t, "task successor { operands = digits(1..6) }\neval.digits = [6]\nmodel.embed.position = shifted(learned, max_offset = 5, max = 21)")
	for want, spec := range map[string]*check.Spec{
		"Reach{Tokens: 16}":           learned,
		"Reach{Tokens: 21}":           shifted,
		"Reach{ Rows: 20, Source: 22": calibrated,
	} {
		if text := model(t, spec); !strings.Contains(text, want) {
			t.Errorf("want %s in\n%s", want, text)
		}
	}
}

// TestModelHasAxes prints the settings of a program that is one training of a sweep.
func TestModelHasAxes(t *testing.T) {
	text := model(t, resolve(t, "task successor {}\nsweep { train.seed = [1, 2] }"))
	if !strings.Contains(text, `[]string{"train.seed"}`) {
		t.Errorf("no axis in\n%s", text)
	}
}
