package train

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplitTrain(t *testing.T) {
	for _, c := range []struct {
		args string
		want Line
	}{
		{"x.arith", Line{File: "x.arith"}},
		{"x.arith --seed 3 -q", Line{File: "x.arith", flags: []string{"--seed", "3", "-q"}}},
		{"--set a=1 x.arith --steps 2 --set=b=2 --out r", Line{File: "x.arith", own: OwnFlags{Set: []string{"a=1", "b=2"}}, flags: []string{"--steps", "2", "--out", "r"}}},
		{"x.arith --help", Line{File: "x.arith", flags: []string{"--help"}}},
		{"-h", Line{Help: true}},
	} {
		got, err := Split(strings.Fields(c.args))
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(Line{})); diff != "" {
			t.Errorf("%s:\n%s", c.args, diff)
		}
	}
}
