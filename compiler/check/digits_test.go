package check

import (
	"testing"

	"github.com/arithlang/mlc/runtime/config"
)

// TestMostDigits compares the bounds of the language with the limits of generated
// programs.
func TestMostDigits(t *testing.T) {
	rows := newLanguage().rows
	for _, path := range []string{"eval.digits", "eval.diagonal", "eval.during.digits"} {
		if got := newLanguage().meaning(path).Max; got != config.MaxDigits {
			t.Errorf("%s is %g at the most, a program tests %d", path, got, config.MaxDigits)
		}
	}
	for _, path := range []string{"task.pad", "eval.pad"} {
		for _, o := range rows[path].Choices {
			for _, a := range o.Args {
				if a.Max != 2*config.MaxDigits {
					t.Errorf("%s: %s is %g at the most, want %d", path, a.Path, a.Max, 2*config.MaxDigits)
				}
			}
		}
	}
}

// TestEvaluatedDigits wants the digits of the longest number of a test.
func TestEvaluatedDigits(t *testing.T) {
	const adding = "task addition { order = reversed }\n"
	for _, c := range []struct {
		text string
		want int
	}{
		{adding + "eval.digits = [4, 30]", 31},
		{adding + "eval.grid = [1..7, 1..30]", 31},
		{adding + "eval.grid = [1..40, 1..30]", 41},
		{adding + "eval.grid = [1..2, 1..3]\neval.digits = [4]", 5},
		{adding + "eval.diagonal = 1..12", 13},
		{"task multiplication { order = reversed }\neval.grid = [1..7, 1..9]", 16},
		{"task sort { order = reversed }\neval.grid = [1..7, 1..30]", 7},
	} {
		spec, found := resolve(map[string]string{"a.arith": "arith 2\nmodel.decoder_only { layers = 1 }\n" + c.text + "\n"}, "a.arith")
		if found.HasErrors() {
			t.Fatalf("%s: %v", c.text, found)
		}
		if got := spec.evaluatedDigits(); got != c.want {
			t.Errorf("%s: %d digits, want %d", c.text, got, c.want)
		}
	}
}
