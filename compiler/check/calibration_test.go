package check

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDirections reads one direction or a list of them, each once.
func TestDirections(t *testing.T) {
	for _, c := range []struct {
		text string
		want [][2]int // nil: an error
	}{
		{"[1, -1]", [][2]int{{1, -1}}},
		{"[[1, -1]]", [][2]int{{1, -1}}},
		{"[[1, 0], [1, -2], [1, 0]]", [][2]int{{1, 0}, {1, -2}}},
		{"[]", nil}, {"[[]]", nil}, {"[1]", nil}, {"[[1, 2, 3]]", nil}, {"[0, 1]", nil}, {"[1, 101]", nil}, {"[[1, 1], 2]", nil},
	} {
		o := Options{Path: "../../specs/bias/successor_abc.arith", Read: os.ReadFile, Set: []string{"calibrate.abc.cross.direction=" + c.text}}
		spec, found := Resolve(o)
		if found.HasErrors() != (c.want == nil) {
			t.Errorf("%s: errors: %t", c.text, found.HasErrors())
		}
		if c.want == nil || spec == nil {
			continue
		}
		for _, s := range spec.Stages {
			if k := s.Calibration; k != nil {
				if diff := cmp.Diff(c.want, k.Cross.Directions); diff != "" {
					t.Errorf("%s: %s", c.text, diff)
				}
			}
		}
	}
}
