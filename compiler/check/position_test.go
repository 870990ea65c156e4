package check

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/dsl"
)

// TestSchemesHaveRows: every kind of position in the schema has a row.
func TestSchemesHaveRows(t *testing.T) {
	for _, o := range dsl.NewSchema().Row("model.embed.position").Choices {
		s, list := resolve(map[string]string{"a.arith": "arith 2\ntask addition { operands = digits(1..3) }\nmodel.embed.position = " + o.Name + "\n"}, "a.arith")
		if list.HasErrors() {
			t.Fatal(o.Name, list)
		}
		if _, ok := schemes[s.Model.Position.Kind]; !ok {
			t.Errorf("%s has no row", o.Name)
		}
	}
}

// TestTooFewPositions reports tables that are too small for problems of training, or of tests,
// whichever way tests name their lengths.
func TestTooFewPositions(t *testing.T) {
	for text, want := range map[string]string{
		"position = learned(max = 14)": "max = 14 is fewer than the 25 positions of the longest problem",
		"position = random(max = 14)":  "max = 14 is fewer than the 15 positions of the longest problem of training",
		"position = random(max = 15)":  "positions from 15 to 24 are evaluated and never trained",
		"position = random(max = 25)":  "",
	} {
		for _, eval := range []string{"digits = [6, 10]", "diagonal = 6..10", "grid = [9..10, 9..10]"} {
			_, list := resolve(map[string]string{"a.arith": "arith 2\ntask addition { operands = digits(1..5) }\nmodel.embed." + text + "\neval." + eval + "\n"}, "a.arith")
			got := ""
			if len(list) > 0 {
				got = list[0].Message
			}
			if (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("%s, %s: %q, want %q", text, eval, got, want)
			}
		}
	}
}
