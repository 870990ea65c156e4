// Package eval tests trained models. It measures exact match cell by cell, by verification or
// by greedy decoding, and answers single problems. For a looped model it shows the answer after
// each run of the loop. Package runtime provides the device and the run directory.
package eval

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/lock"
	"github.com/arithlang/mlc/runtime/task"
)

// The modes of a test. Verify and greedy agree on every problem. Settle runs the loop on each
// problem until the answer stays the same.
const (
	ModeVerify = "verify"
	ModeGreedy = "greedy"
	ModeSettle = "settle"
)

// The metrics of a test: the part of an answer that must be right.
const (
	ExactMatch = "exact_match"
	FirstToken = "first_token"
)

// A Test is one evaluation of a run.
type Test struct {
	Model
	Settings
	Cells        []Pair
	Trained      Pair // the longest problems of training
	SecondsTrain float64
	Own          []Pair         // cells that the means in the result file cover; nil: all
	Patience     time.Duration  // tests cells together for about this long; 0: one by one
	Progress     func(Progress) // called before each batch of cells
	Reader       Reader         // tests a text in place of Cells; nil: a model of problems
	Still        func() error   // returns an error if the run directory is gone; called before each write; nil: not checked
}

// A Progress says how far a test is.
type Progress struct {
	Next        []Pair
	Done, Total int           // cells
	Left        time.Duration // 0: unknown
}

// What names the cells that are tested next.
func (p Progress) What() string {
	first, last := p.Next[0], p.Next[len(p.Next)-1]
	if first == last {
		return first.String()
	}
	return first.String() + " to " + last.String()
}

// String describes the cells that are tested next, and how many are done if there are many.
func (p Progress) String() string {
	what := p.What()
	if p.Total > 20 {
		what += fmt.Sprintf(", %d of %d cells done", p.Done, p.Total)
	}
	return "testing " + what
}

// WithTimes returns the test with n runs of the loop; 0: the length of a problem determines it.
func (t Test) WithTimes(n int) *Test {
	t.Runs, t.Settings.Times = n, n
	return &t
}

// Run tests every cell and adds it to the result in dir at once. An interrupted evaluation
// therefore resumes where it stopped, and several processes share the work. Cells that were
// tested under the same Settings are not tested again. The means of the returned result cover
// Cells.
func (t *Test) Run(ctx context.Context, dir string) (*Result, error) {
	r := &Result{Settings: t.Settings, SecondsTrain: t.SecondsTrain, ByCell: []Cell{}}
	if err := t.join(r, dir); err != nil {
		return nil, err
	}
	left := slices.Clone(t.Cells)
	var took time.Duration
	var behind float64 // tokens
	for n := 1; ; {
		left = slices.DeleteFunc(left, r.has)
		if len(left) == 0 {
			break
		}
		next := left[:min(n, len(left))]
		if t.Progress != nil {
			p := Progress{Next: next, Done: len(r.ByCell), Total: len(r.ByCell) + len(left)}
			if behind > 0 {
				p.Left = time.Duration(float64(took) * t.tokens(left, t.Samples) / behind)
			}
			t.Progress(p)
		}
		start := time.Now()
		cells, err := t.cells(ctx, next, portion)
		if err != nil {
			return nil, err
		}
		now := time.Since(start)
		took, behind = took+now, behind+t.tokens(next, t.Samples)
		if err := t.keep(r, dir, cells, now); err != nil {
			return nil, err
		}
		n = t.together(n, now)
	}
	if t.Reader != nil {
		var err error
		start := time.Now()
		if r.Text, err = t.Reader.Test(ctx, &t.Model); err != nil {
			return nil, err
		}
		r.SecondsEval = time.Since(start).Seconds()
	}
	if err := t.keep(r, dir, nil, 0); err != nil { // a killed test may have left half of a result
		return nil, err
	}
	t.summarise(r, t.Cells)
	return r, nil
}

// Tokens estimates how many tokens the test reads, in equivalents of a training pass with times
// runs of the loop. It returns 0 for tests that decode, which take many passes.
func (t *Test) Tokens(times int) float64 {
	if t.Mode != ModeVerify {
		return 0
	}
	return t.tokens(t.Cells, t.Samples) / float64(max(times, 1))
}

// tokens estimates how many tokens the given number of problems of each cell have, counted once
// for each run of the loop.
func (m *Model) tokens(cells []Pair, samples int) float64 {
	all := 0.0
	for _, p := range cells {
		longest := m.Task.LongestIn(p.I, p.J)
		for _, x := range longest {
			if width, err := m.Task.Width(x); err == nil {
				source, target := m.Task.Shape(width)
				all += float64(m.runs(x)) * float64(samples*(source+target)) / float64(len(longest))
			}
		}
	}
	return all
}

// Workspace returns how many elements of Work and Ints a launch of the longest problems takes,
// and the elements of its largest tensor.
func (t *Test) Workspace() (room float64, largest int) {
	if len(t.Cells) == 0 {
		return 0, 0
	}
	longest := slices.MaxFunc(t.Cells, func(a, b Pair) int { return a.I + a.J - b.I - b.J })
	for p := range t.Task.Each(longest.I, longest.J, 1) {
		width, err := t.Task.Width(p)
		if err != nil { // Run reports it
			return 0, 0
		}
		source, target := t.Task.Shape(width)
		e := device.Env{T: target, S: source, C: target, Times: t.runs(p)}
		for most, program := range map[int]device.Program{maxTokens: t.Plan.Forward, maxTokensDecode: t.Plan.Encode} {
			e.B = max(1, most/(source+target))
			room = max(room, program.Workspace(e.B, e))
			largest = max(largest, program.Layout(&e).Largest)
		}
	}
	return room, largest
}

// MostRuns returns the most runs of the loop that the lengths of problems ask for.
func (t *Test) MostRuns() int {
	most := 0
	for _, c := range t.Cells {
		for _, p := range t.Task.LongestIn(c.I, c.J) {
			most = max(most, t.Task.Recurrences(p))
		}
	}
	return most
}

// join adds the cells of the result in dir if it has the same Settings.
func (t *Test) join(r *Result, dir string) error {
	there, err := Load(damage.At(dir))
	if there == nil || there.Settings != t.Settings {
		return err
	}
	r.add(slices.DeleteFunc(there.ByCell, t.lacks))
	r.SecondsEval = there.SecondsEval
	return nil
}

// lacks reports whether a cell has no number of runs although the mode counts them.
func (t *Test) lacks(c Cell) bool { return t.Mode == ModeSettle && c.Samples > 0 && c.Runs == 0 }

// keep adds cells to r, merges cells that other processes have saved meanwhile, and saves r. An
// unchanged result is not written again.
func (t *Test) keep(r *Result, dir string, cells []Cell, took time.Duration) error {
	if t.Still != nil {
		if err := t.Still(); err != nil {
			return err
		}
	}
	held, err := occupy(dir)
	if err != nil {
		return err
	}
	defer held.Close()
	if err := ckpt.Clean(dir); err != nil {
		return cannotSave(err)
	}
	if err := t.join(r, dir); err != nil {
		return err
	}
	if len(cells) == 0 && t.saved(r, dir) {
		return nil
	}
	r.add(cells)
	r.SecondsEval += took.Seconds()
	t.summarise(r, t.Own)
	if err := r.save(dir); err != nil {
		return cannotSave(err)
	}
	return nil
}

// saved reports whether the files in dir already have the content of r.
func (t *Test) saved(r *Result, dir string) bool {
	there, err := Load(damage.At(dir))
	if err != nil || there == nil || there.Settings != t.Settings || there.Text != r.Text || !slices.Equal(there.ByCell, r.ByCell) {
		return false
	}
	table, err := damage.At(dir).Join(gridFile).Read()
	return err == nil && string(table) == r.grid()
}

// occupy makes the directory of a result and locks it against other processes.
func occupy(dir string) (*lock.Dir, error) {
	err := os.MkdirAll(dir, 0o755)
	var held *lock.Dir
	if err == nil {
		held, err = lock.Wait(dir)
	}
	if err != nil {
		return nil, cannotSave(err)
	}
	return held, nil
}

func cannotSave(err error) error { return fmt.Errorf("cannot save the result: %w", err) }

// summarise computes all that follows from the cells, with means over some of them.
func (t *Test) summarise(r *Result, over []Pair) {
	if t.Reader != nil {
		return
	}
	if t.Task.Sums() {
		_, r.Second = t.Task.Axes()
	}
	r.summarise(t.Trained, over)
	r.TrainedOn = t.trainedOn(r)
	if t.Task.Listed() {
		if r.OOD == nil && r.OOD100 == nil { // ID then repeats Overall with other weights
			r.ID = nil
		}
		share := r.total().Fraction()
		r.Overall, r.Tested = &share, t.Task.Tested()
		r.ByPrompt, r.ByLength = r.ByLength, nil
	}
}

// trainedOn estimates how many tested problems training has drawn: few of long numbers, most of
// one digit, unless they are held out.
func (t *Test) trainedOn(r *Result) int {
	const few = 16
	all := 0.0
	for _, c := range r.ByCell {
		if !t.Trained.holds(c.Pair) {
			continue
		}
		// A few problems represent a cell that training has hardly drawn from.
		some := t.Task.Cell(c.I, c.J, min(few, c.Samples))
		if n := t.Task.ExpectedSeen(some, t.ExamplesTrained); n > 1e-4*float64(len(some)) && len(some) < c.Samples {
			all += t.Task.ExpectedSeen(t.Task.Cell(c.I, c.J, c.Samples), t.ExamplesTrained)
		} else {
			all += n * float64(c.Samples) / float64(max(len(some), 1))
		}
	}
	return int(math.Round(all))
}

// together returns how many cells to test at once after n took so long. Results do not depend
// on it.
func (t *Test) together(n int, took time.Duration) int {
	fit := int(float64(n) * t.Patience.Seconds() / max(took.Seconds(), 1e-6))
	return max(1, min(2*n, fit))
}

// portion is how many problems of a test are in memory at a time: enough for all workers of any
// machine.
const portion = 1 << 14

// cells tests the problems of some cells, portion at a time. Results do not depend on portion.
func (t *Test) cells(ctx context.Context, pairs []Pair, portion int) ([]Cell, error) {
	out := make([]Cell, len(pairs))
	var problems []task.Problem
	var of []*Cell // the cell of each problem
	judge := func() error {
		answers, err := t.ask(ctx, Question{Mode: t.Mode, Metric: t.Metric, Runs: t.Settings.Times, Problems: problems})
		if err != nil {
			return err
		}
		for k, c := range of {
			c.Samples++
			c.Runs += answers[k].Runs
			if answers[k].Right {
				c.Correct++
			}
		}
		problems, of = problems[:0], of[:0]
		return nil
	}
	for k, pair := range pairs {
		out[k].Pair = pair
		for p := range t.Task.Each(pair.I, pair.J, t.Samples) {
			if problems, of = append(problems, p), append(of, &out[k]); len(problems) < portion {
				continue
			}
			if err := judge(); err != nil {
				return nil, err
			}
		}
	}
	return out, judge()
}
