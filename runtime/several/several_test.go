package several

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestInGroups deals models to trainings, each of models after the same number of steps.
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
