package check

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/config"
)

// TestRounds resolves rounds on the model's own answers, and reports useless ones.
func TestRounds(t *testing.T) {
	const tail = "\nstage short {}\nstage long {\n from = short\n rounds = longer(until = 9)\n"
	const digits = "task addition { operands = digits(1..6) }"
	loop := func(task string) string { return "task " + task + "\nmodel.decoder_only { layers = 1 }" }
	for text, want := range map[string]string{
		digits + tail + "}":                                                                                                    "",
		strings.Replace(digits+tail, "9", "6", 1) + "}":                                                                        "use until = 7 or more",
		strings.Replace(digits+tail, "9", "7", 1) + "}":                                                                        "",
		"task successor { operands = below(1k) }" + tail + "}":                                                                 "task.operands = digits(1..3)",
		digits + tail + "task.curriculum = digits }":                                                                           "set it in the earlier stage",
		digits + tail + "train.budget = 5m }":                                                                                  "give the budget in steps",
		digits + tail + "train.budget = 2steps }":                                                                              "give at least one step for each",
		digits + tail + "train.budget = 2steps\nrounds.step = 2 }":                                                             "",
		digits + tail + "rounds.votes = 3 }":                                                                                   "",
		"task successor { operands = digits(1..6) }" + tail + "rounds.votes = 3 }":                                             "use votes = 1",
		"task successor { operands = digits(1..6) }" + tail + "rounds.votes = 2 }":                                             "use votes = 1",
		"task sum { operands = digits(1..6) }" + tail + "}":                                                                    "addition, subtraction",
		"task addition { operands = digits(1..6)  pad = zero(to = 8) }" + tail + "}":                                           "",
		loop("or { operands = digits(1..6) }") + tail + "}":                                                                    "addition, subtraction",
		loop("addition { operands = digits(1..6)  examples = 1 }") + tail + "}":                                                "leave examples out",
		loop("multiplication { operands = digits(1..6)  order = reversed  scratchpad = true }") + tail + "}":                   "leave scratchpad out",
		loop("addition { operands = digits(1..6) }") + tail + "}":                                                              "",
		loop("addition { operands = digits(1..6)  interleave = true }") + tail + "}":                                           "answers always have one place more",
		loop("addition { operands = digits(1..6)  pad = zero(to = 1) }") + tail + "}":                                          "answers always have one place more",
		loop("addition { operands = digits(1..6)  pad = zero(to = 1, answer = 2) }") + tail + "}":                              "",
		loop("addition { operands = digits(1..6)  pad = zero(to = 10) }") + tail + "}":                                         "",
		loop("addition { operands = digits(1..6)  pad = zero(to = 9) }") + tail + "}":                                          "answers always have one place more",
		loop("multiplication { operands = digits(1..6)  pad = zero(to = 1, answer = 2) }") + tail + "}":                        "write pad = zero(to = 18)",
		loop("multiplication { operands = digits(1..6)  pad = zero(to = 18) }") + tail + "}":                                   "",
		loop("addition { operands = digits(1..6) }\nmodel.embed.position = learned(max = 20)") + tail + "}":                    "use learned(max = ",
		loop("addition { operands = digits(1..6) }\nmodel.embed.position = learned(max = 35)\neval.digits = [6]") + tail + "}": "",
	} {
		_, found := resolve(map[string]string{"a.arith": "arith 2\n" + text}, "a.arith")
		if want == "" && found.HasErrors() || want != "" && (!found.HasErrors() || !strings.Contains(found[0].Help, want)) {
			t.Errorf("%s: want %q, found %v", text, want, found)
		}
	}
	spec, found := resolve(map[string]string{"a.arith": "arith 2\n" + digits + tail + "rounds.step = 2\nrounds.length = none }"}, "a.arith")
	if found.HasErrors() {
		t.Fatal(found)
	}
	if got, want := spec.stage("long").Spec.Task.Rounds, (config.Rounds{Until: 9, Step: 2, Samples: 5000, Votes: 1, Length: -1, Newest: 0.5}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if spec.stage("short").Spec.Task.Rounds.Any() || spec.stage("long").Calibration != nil {
		t.Error("another stage has rounds, or the stage calibrates")
	}
	if want := "rounds = longer(until = 9, step = 2, samples = 5000, length = none, votes = 1, newest = 50%)"; strings.Count(spec.Resolved, want) != 1 || strings.Count(spec.Resolved, "rounds") != 1 {
		t.Errorf("no %s, once, in\n%s", want, spec.Resolved)
	}
	again, found := resolve(map[string]string{"a.arith": spec.Resolved}, "a.arith")
	if found.HasErrors() || again.Resolved != spec.Resolved {
		t.Errorf("the resolved spec is another: %v", found)
	}
}
