package check_test

import (
	"testing"

	"github.com/arithlang/mlc/compiler/check"
)

// TestEpochs wants as many examples as problems are trained on, times the epochs.
func TestEpochs(t *testing.T) {
	text := make([]byte, 1001)
	for i := range text {
		text[i] = "ab\n"[i%3]
	}
	for _, c := range []struct {
		spec string
		want int64
	}{
		{"task successor { operands = below(1000)  holdout = 12.5%  pad = zero(to = 4) }\ntrain.budget = 2epochs", 2 * 875},
		{"task addition { operands = digits(1..3)  examples = 500  holdout = 10% }\nmodel.decoder_only.layers = 1\ntrain.budget = 0.5epochs", 225},
		{"task addition { operands = below(1000)  holdout = 0% }\ntrain.budget = 1epochs", 1000},
		{"task text { path = \"x.txt\"  length = 10  holdout = 10% }\nmodel.decoder_only.layers = 1\ntrain.budget = 3epochs", 3 * 90},
	} {
		read := func(path string) ([]byte, error) {
			if path == "x.txt" {
				return text, nil
			}
			return []byte("arith 2\n" + c.spec + "\n"), nil
		}
		spec, list := check.Resolve(check.Options{Path: "x.arith", Read: read})
		if list.HasErrors() {
			t.Errorf("%s: %s", c.spec, list[0].Message)
			continue
		}
		if got := spec.Train.Budget.Examples; got != c.want {
			t.Errorf("%s: %d examples, want %d", c.spec, got, c.want)
		}
	}
}
