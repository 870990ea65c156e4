package list

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestArguments takes calls apart, and nothing else.
func TestArguments(t *testing.T) {
	for value, want := range map[string]string{
		"adamw(lr = 0.001, betas = [0.9, 0.98])":   "adamw; lr: 0.001; betas: [0.9, 0.98]",
		"cyclic(inner = sinusoidal(base = 1e4))":   "cyclic; inner: sinusoidal(base = 1e4)",
		"learned([H], init = uniform(0, 1))":       "learned([H]); init: uniform(0, 1)",
		"causal()":                                 "causal()",
		"sqrt(width)":                              "sqrt(width)",
		"f(a = 1) + g(b = 2)":                      "f(a = 1) + g(b = 2)",
		"-r1[h] * log(1 + abs(i - j))":             "-r1[h] * log(1 + abs(i - j))",
		"where(i == j)":                            "where(i == j)",
		"broken(lr = 1":                            "broken(lr = 1",
		"broken((lr = 1)":                          "broken((lr = 1)",
		"1 / sqrt(width / heads)":                  "1 / sqrt(width / heads)",
		"":                                         "",
		"relu(hidden = 256)":                       "relu; hidden: 256",
		"brief(every = auto, problems = 64)":       "brief; every: auto; problems: 64",
		"f(x <= 1, y = 2)":                         "f(x <= 1); y: 2",
		"0 <= J - 1 - i - j && J - 1 - i - j <= 1": "0 <= J - 1 - i - j && J - 1 - i - j <= 1",
	} {
		rest, named := arguments(value)
		got := []string{rest}
		for _, a := range named {
			got = append(got, a[0]+": "+a[1])
		}
		if text := strings.Join(got, "; "); text != want {
			t.Errorf("%s: %s, want %s", value, text, want)
		}
	}
}

// TestExactly wants only the learning rate as the difference, not the whole call of the
// optimizer.
func TestExactly(t *testing.T) {
	var runs []*Run
	for _, spec := range []string{
		"train {\n optimizer = adamw(lr = 0.001, betas = [0.9, 0.98])\n schedule = constant\n}\nmodel {\n embed {\n  position = abacus(max = 16, inner = table(lr = 1))\n }\n}\n",
		"train {\n optimizer = adamw(lr = 0.002, betas = [0.9, 0.98])\n schedule = cosine(warmup = 5%)\n}\nmodel {\n embed {\n  position = abacus(max = 16, inner = table(lr = 2))\n }\n}\n",
	} {
		r := &Run{}
		r.Settings, r.order = spread(settings(spec))
		runs = append(runs, r)
	}
	differing := Differing(runs)
	if want := []string{"train.optimizer.lr", "train.schedule", "model.embed.position.inner.lr"}; !slices.Equal(differing, want) {
		t.Errorf("%q differ, want %q", differing, want)
	}
	if diff := cmp.Diff(map[string]string{"train.optimizer.lr": "optimizer.lr", "train.schedule": "schedule", "model.embed.position.inner.lr": "inner.lr"}, Names(differing)); diff != "" {
		t.Error(diff)
	}
	for i, want := range []string{"optimizer.lr = 0.001, schedule = constant, inner.lr = 1", "optimizer.lr = 0.002, schedule = cosine, inner.lr = 2"} {
		if got := runs[i].Said(differing); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := runs[0].Said([]string{"train.optimizer.lr"}); got != "lr = 0.001" {
		t.Errorf("alone it is %s", got)
	}
}
