package eval

import (
	"testing"

	"github.com/arithlang/mlc/runtime/task"
)

// share returns a fraction of a result.
func share(x float64) *float64 { return &x }

// TestMeansInWords describes what means cover, with the number of lengths if it is known.
func TestMeansInWords(t *testing.T) {
	pairs := []Cell{{Pair: Pair{1, 2}, Samples: 4, Correct: 1}}
	lengths := []Cell{{Pair: Pair{2, 2}, Samples: 3, Correct: 1}, {Pair: Pair{3, 0}, Samples: 5, Correct: 5}}
	for _, c := range []struct {
		name, of, what, summary string
		r                       *Result
	}{
		{"one length", ID, "mean over 1 length of training", "id 50.00 % over 1 length", &Result{ByCell: lengths, ID: share(0.5), Over: map[string]int{ID: 1}}},
		{"lengths", ID, "mean over 2 lengths of training", "id 50.00 % over 2 lengths", &Result{ByCell: lengths, ID: share(0.5), Over: map[string]int{ID: 2}}},
		{"a pair", ID, "mean over 1 pair of lengths of training", "id 50.00 % over 1 pair of lengths", &Result{ByCell: pairs, ID: share(0.5), Over: map[string]int{ID: 1}}},
		{"of sums", ID, "mean over 2 lengths of training", "id 50.00 % over 2 lengths", &Result{ByCell: pairs, Second: "operands", ID: share(0.5), Over: map[string]int{ID: 2}}},
		{"not said", ID, "mean over lengths of training", "id 50.00 %", &Result{ByCell: pairs, ID: share(0.5)}},
		{"one longer", OOD, "mean over 1 longer one, up to 100 digits", "ood 25.00 % over 1 pair of lengths", &Result{ByCell: pairs, OOD: share(0.25), Over: map[string]int{OOD: 1}}},
		{"many longer", OOD, "mean over 1,200 longer ones, up to 100 digits", "ood 25.00 % over 1,200 lengths", &Result{OOD: share(0.25), ByCell: lengths, Over: map[string]int{OOD: 1200}}},
		{"above", OOD100, "mean over 3 lengths above 100 digits", "ood100 0.00 % over 3 lengths", &Result{OOD100: share(0), Over: map[string]int{OOD100: 3}}},
		{"a file", Overall, "of problems of the test file", "overall 75.00 %", &Result{Overall: share(0.75), Tested: task.OfTestFile}},
		{"a file of old", Overall, "of problems of the file", "overall 75.00 %", &Result{Overall: share(0.75)}},
		{"none", "no mean", "", "75.00 %", &Result{ByCell: []Cell{{Samples: 3, Correct: 2}, {Samples: 5, Correct: 4}}}},
	} {
		if got := c.r.What(c.of); got != c.what {
			t.Errorf("%s is %q, want %q", c.name, got, c.what)
		}
		if got := c.r.Summary(); got != c.summary {
			t.Errorf("%s: %q, want %q", c.name, got, c.summary)
		}
	}
	if got := new(Result).Mean("no mean"); got != nil {
		t.Errorf("a mean that there is not: %v", *got)
	}
	if got := (&Result{ByCell: lengths}).Fraction(); got != 0.75 {
		t.Errorf("6 of 8 are %g", got)
	}
}
