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
