package check

import (
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
