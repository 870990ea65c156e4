package check

import (
	"strings"
	"testing"
)

// TestHints wants names that the language does not have to lead to settings that it
// has.
func TestHints(t *testing.T) {
	for _, h := range hints {
		for _, s := range []string{h.write, h.loop} {
			one(t, "task successor {}\n"+s)
		}
		for _, name := range h.names {
			for _, block := range []string{"", "train.", "model.", "model.decoder.", "stage.x.train."} {
				if newLanguage().row(block+name) != nil {
					continue
				}
				_, list := resolve(map[string]string{"a.arith": "arith 1\ntask successor {}\n" + block + name + " = 3"}, "a.arith")
				if len(list) != 1 || !strings.Contains(list[0].Help, h.write) {
					t.Errorf("%s%s: %q, want %s", block, name, list[0].Help, h.write)
				}
			}
		}
	}
	for name, want := range map[string]string{
		"train.batc":       `did you mean "batch"?`,
		"train.widht":      `did you mean "model.width"?`,
		"eval.layers":      "write model.decoder.layers = 2, or in a decoder-only model model.loop.layers = 2",
		"model.loop.layes": `did you mean "layers"?`,
	} {
		_, list := resolve(map[string]string{"a.arith": "arith 1\ntask successor {}\n" + name + " = 3"}, "a.arith")
		if len(list) != 1 || list[0].Help != want {
			t.Errorf("%s: %q, want %q", name, list[0].Help, want)
		}
	}
}
