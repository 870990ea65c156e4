package runtime

import (
	"strings"
	"testing"
)

// TestUnlearned reports exactly the models that have learned nothing.
func TestUnlearned(t *testing.T) {
	const says = "the model has learned nothing: its loss is "
	for _, c := range []struct {
		rate  float64
		steps string
		want  bool
	}{
		{0.05, "120", false},
		{1e-9, "120", true},
		{1e-9, "20", false}, // a short trial
	} {
		m := toyModel()
		m.Train.LR = c.rate
		s := call(t, m, "", "train", "--steps", c.steps, "--out", t.TempDir()+"/run")
		if s.code != 0 || strings.Contains(s.err, says) != c.want || strings.Contains(s.out, says) {
			t.Errorf("%+v: exit %d\n%s", c, s.code, s.err)
		}
		quiet := call(t, m, "", "train", "--steps", c.steps, "--out", t.TempDir()+"/run", "-q")
		if quiet.code != 0 || quiet.err != "" {
			t.Errorf("%+v, quiet: exit %d\n%s", c, quiet.code, quiet.err)
		}
	}
}
