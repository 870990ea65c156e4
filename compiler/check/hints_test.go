package check

import (
	"regexp"
	"strings"
	"testing"
)

// TestHints: the help for names of other libraries is a valid setting.
func TestHints(t *testing.T) {
	for _, h := range hints {
		one(t, "task successor {}\n"+h.path+" = "+h.value)
		if h.loop != "" {
			one(t, "task successor {}\n"+h.loop+" = "+h.value)
		}
		for _, name := range h.names {
			for _, block := range []string{"", "train.", "model.", "model.decoder.", "stage.x.train.", "sweep.train.", "sweep.", "sweep.a.b.train."} {
				if newLanguage().row(block+name) != nil {
					continue
				}
				_, list := resolve(map[string]string{"a.arith": "arith 2\ntask successor {}\n" + block + name + " = 3"}, "a.arith")
				want := h.path + " = " + h.value
				if block == "sweep." || block == "sweep.train." {
					want = h.path + " = [" + h.value + ", …]"
				}
				if len(list) != 1 || !strings.Contains(list[0].Help, want) {
					t.Errorf("%s%s: %q, want %s", block, name, list[0].Help, want)
				}
			}
		}
	}
	for name, want := range map[string]string{
		"train.batc":               `did you mean "batch"?`,
		"train.widht":              `did you mean "model.width"?`,
		"eval.layers":              "write model.decoder.layers = 2, or in a decoder-only model model.decoder_only.layers = 2",
		"model.decoder_only.layes": `did you mean "layers"?`,
	} {
		_, list := resolve(map[string]string{"a.arith": "arith 2\ntask successor {}\n" + name + " = 3"}, "a.arith")
		if len(list) != 1 || list[0].Help != want {
			t.Errorf("%s: %q, want %q", name, list[0].Help, want)
		}
	}
}

// TestWordings: the help for functions of other libraries is a valid expression, where it
// is offered.
func TestWordings(t *testing.T) {
	for _, w := range wordings {
		site := "model.decoder.self.bias = "
		if w.mask {
			site = "model.encoder.layers = 1\nmodel.encoder.self.mask = "
		}
		for _, write := range strings.Split(w.write, ", or ") {
			for from, to := range map[string]string{"x": "(i + 1)", "y": "0.5", "lo": "0", "hi": "1"} {
				write = regexp.MustCompile(`\b`+from+`\b`).ReplaceAllString(write, to)
			}
			one(t, "task successor {}\n"+site+write)
		}
		for _, name := range w.names {
			for _, use := range []string{name, name + "(i)"} {
				if help := helpOf(t, site+use); help != "write "+w.write {
					t.Errorf("%s%s: %q", site, use, help)
				}
			}
		}
	}
	const all = "functions are abs, min, max, clip, floor, mod, sqrt, exp, log, sin, cos, relu, tanh, sigmoid, softplus, where, sum, table"
	for set, want := range map[string]string{
		"model.decoder.self.bias = tril(i)":     "a mask does that: mask = causal()",
		"model.decoder.self.bias = softpuls(i)": `did you mean "softplus"? (` + all + ")",
		"model.decoder.self.bias = besselj(i)":  all,
		"model.decoder.self.mask = casual(i)":   `did you mean "causal"?`,
		"model.decoder.self.bias = softpuls":    "a bias sees " + indexHelp,
		"table a { value = tril(n) }":           all,
		"stage a { } calibrate b { from = a\n self.keep = maen > 1 }\nstage c { model.decoder.self.bias = b.self }": `did you mean "mean"?`,
	} {
		if help := helpOf(t, set); help != want {
			t.Errorf("%s: %q, want %q", set, help, want)
		}
	}
}

// helpOf returns the help of the spec's only finding.
func helpOf(t *testing.T, text string) string {
	t.Helper()
	_, list := resolve(map[string]string{"a.arith": "arith 2\ntask successor {}\n" + text}, "a.arith")
	if len(list) != 1 {
		t.Fatalf("%s: %v", text, list)
	}
	return list[0].Help
}
