package serve

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/serve/chart"
)

// TestDuring draws the tests during training: a line for each length and for the averaged
// weights, without losses that are NaN or infinite.
func TestDuring(t *testing.T) {
	dir := runsCopy(t)
	run := filepath.Join(dir, "successor")
	log, _, err := track.OpenTests(run, 0)
	if err != nil {
		t.Fatal(err)
	}
	loss := 0.5
	for _, test := range []track.Test{
		{Step: 10, Lengths: []track.Length{{Length: 6, ExactMatch: 0.25, Loss: &loss}, {Length: 20, ExactMatch: 0}}},
		{Step: 20, Lengths: []track.Length{{Length: 6, ExactMatch: 1, Loss: &loss}, {Length: 20, ExactMatch: 0.5, Loss: &loss}},
			Average: []track.Length{{Length: 3, Entries: 4, ExactMatch: 0.75}}},
	} {
		if err := log.Write(test); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	v := load(damage.At(run), &Config{})
	got := seriesOf(v.Runs.Trainings[0].Tests, ofLength[0].value)
	want := []chart.Series{
		{Name: "length 6", Style: 0, Points: []chart.Point{{X: 10, Y: 25}, {X: 20, Y: 100}}},
		{Name: "length 20", Style: 1, Points: []chart.Point{{X: 10, Y: 0}, {X: 20, Y: 50}}},
		{Name: "4 entries of length 3, averaged", Style: 2, Points: []chart.Point{{X: 20, Y: 75}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	losses := seriesOf(v.Runs.Trainings[0].Tests, ofLength[1].value)
	if len(losses) != 2 || len(losses[1].Points) != 1 || losses[1].Points[0] != (chart.Point{X: 20, Y: 0.5}) {
		t.Errorf("%+v", losses)
	}
	html, err := v.page()
	if err != nil || strings.Count(string(html), "Tests while training") != 1 || !strings.Contains(string(html), "length 20") {
		t.Errorf("no tests on the page: %v", err)
	}
	if html, err = load(damage.At(filepath.Join(dir, "embeddings", "abacus-2")), &Config{}).page(); err != nil || strings.Contains(string(html), "Tests while training") {
		t.Errorf("tests of a run without any: %v", err)
	}
}
