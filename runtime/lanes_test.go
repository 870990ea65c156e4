package runtime

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLanesRefused wants several models at once to be refused where they cannot be, before
// anything is made.
func TestLanesRefused(t *testing.T) {
	with := toyModel()
	with.Lanes.N = 8
	for _, c := range []struct {
		model Model
		flags string
		want  string
	}{
		{toyModel(), "", "this program trains one model at a time: give a single seed, or build it with train.lanes = 32"},
		{with, "--device sim", "and not with --device sim"},
		{with, "--time 1m", "give --steps or --examples"},
		{with, "--pause 1.5", "want a share of the budget below 1"},
		{with, "--resume", "say with --out where the runs are"},
	} {
		args := append([]string{"train", "--init-seed", "0..3"}, strings.Fields(c.flags)...)
		t.Chdir(t.TempDir())
		if s := call(t, c.model, "", args...); s.code != exitUsage || !strings.Contains(s.err, "--init-seed 0..3: ") || !strings.Contains(s.err, c.want) {
			t.Errorf("%s: exit %d, %s, want %q", c.flags, s.code, s.err, c.want)
		}
		if exists("runs") {
			t.Errorf("%s: something is made", c.flags)
		}
	}
}

// TestInGroups deals models to trainings, those of one after the same number of steps.
func TestInGroups(t *testing.T) {
	var members []*member
	for i, steps := range []int{0, 5, 0, 0, 5, 0, 0} {
		members = append(members, &member{seed: uint64(i), steps: steps})
	}
	var got [][]uint64
	for _, g := range inGroups(members, 3) {
		var seeds []uint64
		for _, m := range g {
			seeds = append(seeds, m.seed)
		}
		got = append(got, seeds)
	}
	if diff := cmp.Diff([][]uint64{{0, 2}, {3, 5, 6}, {1, 4}}, got); diff != "" {
		t.Error(diff)
	}
}
