package verbs

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/world"
)

func TestResultFolders(t *testing.T) {
	spec := eval.Config{Samples: 300, Greedy: true, Loop: 4, Times: []int{8}, Settle: 16}
	for _, c := range []struct {
		settings eval.Settings
		folder   string
		own      bool
	}{
		{eval.Settings{Mode: "greedy", Metric: "exact_match", Samples: 300, Times: 4}, "", true},
		{eval.Settings{Mode: "greedy", Metric: "exact_match", Samples: 300, Times: 8}, "times-8", true},
		{eval.Settings{Mode: "greedy", Metric: "exact_match", Samples: 300, Times: 9}, "times-9", false},
		{eval.Settings{Mode: "settle", Metric: "exact_match", Samples: 300, Times: 16}, "settle-16", true},
		{eval.Settings{Mode: "settle", Metric: "exact_match", Samples: 300, Times: 4}, "settle-4", false},
		{eval.Settings{Mode: "verify", Metric: "first_token", Samples: 3, Times: 8}, "first_token/verify/samples-3/times-8", false},
	} {
		folder, own := resultFolder(&spec, &eval.Test{Settings: c.settings})
		if filepath.ToSlash(folder) != c.folder || own != c.own {
			t.Errorf("%+v: %s, %t, want %s, %t", c.settings, folder, own, c.folder, c.own)
		}
	}
	spec.ByLength = true // and so the spec does not ask for 4
	for times, want := range map[int]string{0: "", 4: "times-4"} {
		settings := eval.Settings{Mode: "greedy", Metric: "exact_match", Samples: 300, Times: times}
		if folder, own := resultFolder(&spec, &eval.Test{Settings: settings}); folder != want || own != (times == 0) {
			t.Errorf("by length, %d runs: %s, %t", times, folder, own)
		}
	}
}

// TestTimes bounds the runs of a loop.
func TestTimes(t *testing.T) {
	for _, c := range []struct {
		times, loop int
		want        string // part of the error; "": none
	}{
		{0, 0, ""}, {0, 4, ""}, {1, 4, ""}, {1024, 4, ""},
		{2, 0, "this model has no loop"},
		{1025, 4, "--times 1025: the loop is run at most 1024 times; it was trained with 4"},
	} {
		err := checkTimes(c.times, &eval.Config{Loop: c.loop})
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || world.ExitCode(err) != world.ExitUsage) {
			t.Errorf("--times %d of a loop of %d: %v, want %q", c.times, c.loop, err, c.want)
		}
	}
}

// TestSomeOf lists the first of many names.
func TestSomeOf(t *testing.T) {
	if got, want := someOf([]string{"a", "b", "c", "d", "e"}), "a, b, c and 2 more"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
