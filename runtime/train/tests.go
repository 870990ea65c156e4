package train

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/track"
)

// Tests test held-out problems during training, length by length. They only decide when
// training ends and which checkpoint is kept.
type Tests struct {
	Every   Budget                         // between tests, not a time; the last step is also tested
	Lengths []int                          // tested
	Measure func() ([]track.Length, error) // uses the machine's parameters
	Tokens  float64                        // of one test, as in Asked
}

// A Criterion says which of two tests is better.
type Criterion config.Criterion

// comparable is an error if training keeps or stops by tests that do not exist, because no
// problem of their lengths is held out.
func (t *Trainer) comparable() error {
	criteria := map[string]*config.Criterion{"keep": t.Config.Best}
	if p := t.Config.Plateau; p != nil {
		criteria["stop"] = &p.By
	}
	for attribute, by := range criteria {
		switch {
		case by == nil:
		case t.Tests == nil:
			return fmt.Errorf("E0333: train.%s goes by tests during training, and no problem that they could be of is held out: test longer problems, or hold more out with task.holdout", attribute)
		case by.At > 0 && len(t.Tests.Lengths) > 0 && !slices.Contains(t.Tests.Lengths, by.At):
			return fmt.Errorf("E0333: train.%s counts the length %d, of which no problem is held out: count a longer one, or hold more out with task.holdout", attribute, by.At)
		}
	}
	return nil
}

// A grade is the results of a test that a Criterion compares.
type grade struct{ match, loss float64 }

// grade is the mean over the lengths that count. Its loss is NaN if any of their losses is.
func (c *Criterion) grade(t *track.Test) grade {
	lengths, g, n := t.Lengths, grade{}, 0.0
	if c.Average {
		lengths = t.Average
	}
	for _, l := range lengths {
		if c.At > 0 && l.Length != c.At {
			continue
		}
		loss := math.NaN()
		if l.Loss != nil {
			loss = *l.Loss
		}
		g.match, g.loss, n = g.match+l.ExactMatch, g.loss+loss, n+1
	}
	return grade{g.match / n, g.loss / n}
}

// better reports whether a is better than b. A loss that is not a number is the worst.
func (c *Criterion) better(a, b grade) bool {
	lower := a.loss < b.loss || math.IsNaN(b.loss) && !math.IsNaN(a.loss)
	if c.Loss {
		return lower
	}
	return a.match > b.match || a.match == b.match && lower
}

// best is the index of the best test, the first of equals; -1: no tests.
func (c *Criterion) best(tests []track.Test) int {
	best := -1
	for i := range tests {
		if best < 0 || c.better(c.grade(&tests[i]), c.grade(&tests[best])) {
			best = i
		}
	}
	return best
}

// flat reports whether the last Patience tests or more were not better than a test before them.
func flat(p *config.Plateau, tests []track.Test) bool {
	best := (*Criterion)(&p.By).best(tests)
	return best >= 0 && len(tests)-1-best >= p.Patience
}

// tested is the tests of a training so far; nil: training has no tests.
type tested struct {
	*Tests
	flop float64 // of a target row
	log  *track.TestLog
	all  []track.Test
	lost int // if the best checkpoint is gone: the number of tests before
}

// due reports whether a test follows a step.
func (t *tested) due(before, after State, last bool) bool {
	if t == nil {
		return false
	}
	c := Config{Budget: t.Every, RowFLOP: t.flop}
	return last || math.Floor(c.used(after, 0)) > math.Floor(c.used(before, 0))
}

func (t *tested) sync() error {
	if t == nil {
		return nil
	}
	return t.log.Sync()
}

func (t *tested) close() error {
	if t == nil {
		return nil
	}
	return t.log.Close()
}

// openTests continues the tests of earlier processes, and repairs the best checkpoint after a
// killed one.
func (r *run) openTests() error {
	if r.Tests == nil {
		return nil
	}
	t := &tested{Tests: r.Tests, flop: r.Config.RowFLOP}
	var err error
	if t.log, t.all, err = track.OpenTests(r.Dir, r.State.Step); err != nil {
		return err
	}
	r.tested = t
	if r.Config.Best == nil {
		return nil
	}
	step, err := r.bestStep()
	if err != nil {
		return errors.Join(err, t.close())
	}
	switch best := (*Criterion)(r.Config.Best).best(t.all); {
	case best < 0 || t.all[best].Step == step:
	case t.all[best].Step == r.State.Step:
		err = r.saveBest()
	default:
		t.lost = len(t.all)
	}
	return err
}

// bestStep is the step of the best checkpoint; -1: no such file.
func (r *run) bestStep() (int, error) {
	path := BestPath(r.Dir)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return -1, nil
	}
	c, err := Read(path)
	if err != nil {
		return -1, fmt.Errorf("%w\nremove it to go on without it", err)
	}
	return c.State.Step, nil
}

// testLengths tests, keeps the best checkpoint, and stops training on a plateau.
func (r *run) testLengths() (err error) {
	t := r.tested
	if t == nil || len(t.all) > 0 && t.all[len(t.all)-1].Step == r.State.Step {
		return nil
	}
	test := track.Test{Step: r.State.Step, Examples: r.State.Examples}
	measure := func(to *[]track.Length) func() error {
		return func() (err error) { *to, err = t.Measure(); return err }
	}
	err = r.asked.time(t.Tokens, measure(&test.Lengths))
	if err == nil && r.Plan.Averages() {
		err = r.WithAverage(measure(&test.Average))
	}
	if err != nil {
		return fmt.Errorf("the test after step %d failed: %w", r.State.Step, err)
	}
	if err := r.still(); err != nil {
		return err
	}
	if err := t.log.Write(test); err != nil {
		return fmt.Errorf("cannot write tests: %w", err)
	}
	t.all = append(t.all, test)
	if p := r.Config.Plateau; p != nil && flat(p, t.all) {
		r.State.Stopped = true
	}
	if by := r.Config.Best; by == nil || (*Criterion)(by).best(t.all[t.lost:]) != len(t.all)-1-t.lost {
		return nil
	}
	return r.keepBest()
}

// keepBest saves the State twice: a killed run continues from the last checkpoint, and the best
// must not be of a later step.
func (r *run) keepBest() error {
	if err := r.save(); err != nil {
		return err
	}
	return r.saveBest()
}

func (r *run) saveBest() error {
	if err := r.write(BestPath(r.Dir)); err != nil {
		return fmt.Errorf("cannot save the best checkpoint: %w", err)
	}
	return nil
}

// WithAverage calls f while the machine has the averaged weights instead of the trained ones.
func (t *Trainer) WithAverage(f func() error) error {
	w := t.Machine.Root()
	n := device.Trained(t.Params, t.Plan.NumParams)
	weights, average := make([]float32, n), make([]float32, n)
	w.GetFloats(weights, device.Ref{Space: device.Params})
	w.GetFloats(average, device.Ref{Space: t.Plan.Average()})
	if err := t.Machine.Err(); err != nil { // before weights and average are used
		return err
	}
	w.PutFloats(device.Ref{Space: device.Params}, average)
	err := f()
	w.PutFloats(device.Ref{Space: device.Params}, weights)
	return errors.Join(err, t.Machine.Err())
}
