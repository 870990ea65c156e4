package list

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/runtime/track"
)

// TestPoints orders reports and tests by step. A test has the time of the report before it.
func TestPoints(t *testing.T) {
	loss := 0.25
	got := Points([]track.Report{{Step: 2, Seconds: 1, Loss: 3}, {Step: 4, Seconds: 2, Loss: 2}},
		[]track.Test{{Step: 1, Lengths: []track.Length{{Length: 6, ExactMatch: 0.5}}},
			{Step: 4, Lengths: []track.Length{{Length: 6, ExactMatch: 1, Loss: &loss}}, Average: []track.Length{{Length: 3, Entries: 5, ExactMatch: 0.75}}}, {Step: 5}})
	report := func(loss, examples float64) []Number {
		return []Number{{"loss", loss}, {"lr", 0}, {"grad_norm", 0}, {"examples", examples}}
	}
	want := []Point{{1, 0, []Number{{"test/exact_match/6", 0.5}}}, {2, 1, report(3, 0)}, {4, 2, report(2, 0)},
		{4, 2, []Number{{"test/exact_match/6", 1}, {"test/loss/6", 0.25}, {"average/exact_match/3x5", 0.75}}}, {5, 2, nil}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
