package list

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/runtime/track"
)

// A Point is the data to draw at one step of a training: the numbers of a report, or of a test
// of lengths.
type Point struct {
	Step    int
	Seconds float64 // of training, as of the last report
	Numbers []Number
}

// A Number is one number of a point, with its name.
type Number struct {
	Name  string
	Value float64
}

// reportPoint returns the numbers of a report by their names in JSON.
func reportPoint(r *track.Report) Point {
	all := []Number{{"loss", r.Loss}, {"lr", r.LR}, {"grad_norm", r.GradNorm}}
	for _, some := range []struct {
		name  string
		value *float64
	}{{"exact_match", r.ExactMatch}, {"held_out_loss", r.HeldOutLoss}, {"train_exact_match", r.TrainExactMatch}, {"train_loss", r.TrainLoss}} {
		if some.value != nil {
			all = append(all, Number{some.name, *some.value})
		}
	}
	return Point{r.Step, r.Seconds, append(all, Number{"examples", float64(r.Examples)})}
}

// testPoint returns the numbers of a test: test/exact_match/10, test/loss/10, and average/… for
// the averaged weights. Seconds are the last report's.
func testPoint(t *track.Test, seconds float64) Point {
	p := Point{Step: t.Step, Seconds: seconds}
	for _, of := range []struct {
		name    string
		lengths []track.Length
	}{{"test", t.Lengths}, {"average", t.Average}} {
		for _, l := range of.lengths {
			length := fmt.Sprint(l.Length)
			if l.Entries > 0 {
				length += fmt.Sprintf("x%d", l.Entries)
			}
			p.Numbers = append(p.Numbers, Number{of.name + "/exact_match/" + length, l.ExactMatch})
			if l.Loss != nil {
				p.Numbers = append(p.Numbers, Number{of.name + "/loss/" + length, *l.Loss})
			}
		}
	}
	return p
}

// Points returns the points of a run's reports and tests, in the order of steps. At equal steps
// the report comes first.
func Points(reports []track.Report, tests []track.Test) []Point {
	var all []Point
	seconds := 0.0
	for i := range reports {
		r := &reports[i]
		for len(tests) > 0 && tests[0].Step < r.Step {
			all, tests = append(all, testPoint(&tests[0], seconds)), tests[1:]
		}
		seconds = r.Seconds
		all = append(all, reportPoint(r))
	}
	for i := range tests {
		all = append(all, testPoint(&tests[i], seconds))
	}
	return slices.Clip(all)
}
