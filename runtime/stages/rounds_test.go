package stages

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/task"
)

// TestKeep checks which answers of a round are accepted.
func TestKeep(t *testing.T) {
	p := func(operands ...string) task.Problem { return task.Problem{Operands: operands} }
	for what, c := range map[string]struct {
		rounds  config.Rounds
		replies []polled
		want    []string
	}{
		"none":                                  {config.Rounds{}, nil, nil},
		"no answer":                             {config.Rounds{Length: 1}, []polled{{p("12"), []string{""}}, {p("15"), []string{"16"}}}, []string{"16"}},
		"too short":                             {config.Rounds{Length: 1}, []polled{{p("999"), []string{"1000"}}, {p("980"), []string{"990"}}, {p("970"), []string{"8"}}, {p("971"), []string{"98"}}, {p("975"), []string{"981"}}}, []string{"1000", "990", "98", "981"}},
		"too long":                              {config.Rounds{Length: 1}, []polled{{p("99"), []string{"10000"}}, {p("98"), []string{"99"}}, {p("97"), []string{"98"}}}, []string{"99", "98"}},
		"the longer of two":                     {config.Rounds{}, []polled{{p("99"), []string{"100"}}, {p("98"), []string{"99"}}}, []string{"100"}},
		"of any length":                         {config.Rounds{Length: -1}, []polled{{p("99"), []string{"100"}}, {p("97"), []string{"8"}}}, []string{"100", "8"}},
		"shorter operands have shorter answers": {config.Rounds{Length: 1}, []polled{{p("9999"), []string{"10000"}}, {p("9"), []string{"8"}}, {p("9", "9"), []string{"1"}}}, []string{"10000", "8", "1"}},
		"what none agrees on does not say how long answers are": {config.Rounds{}, []polled{{p("98"), []string{"9999", "99", "1"}}, {p("97"), []string{"98", "98", "1"}}}, []string{"98"}},
		"half is no majority": {config.Rounds{Length: -1}, []polled{{p("1"), []string{"2", "3"}}, {p("2"), []string{"3", "3"}}, {p("3"), []string{"4", "", "4"}}, {p("4"), []string{"", "", "5"}}}, []string{"3", "4"}},
	} {
		var got []string
		for _, k := range keep(c.rounds, c.replies) {
			got = append(got, k.Answer)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
}
