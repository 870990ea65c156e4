package project

import (
	"errors"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
)

// TestSpecThatChanges wants errors or trainings from a spec that only the second read can
// open.
func TestSpecThatChanges(t *testing.T) {
	reads := 0
	of := ask(check.Options{Path: "a.arith", Read: func(string) ([]byte, error) {
		if reads++; reads == 1 {
			return nil, errors.New("input/output error")
		}
		return []byte("arith 2\ntask successor {}\n"), nil
	}})
	if !of.single && len(of.points) == 0 && !of.found.HasErrors() {
		t.Errorf("after %d reads there is neither a training nor an error", reads)
	}
}
