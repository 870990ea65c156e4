package verbs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/lock"
	"github.com/arithlang/mlc/runtime/processor"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
	"github.com/arithlang/mlc/runtime/world"
)

// Eval is the verb eval.
type Eval struct {
	world.Flags
	WeightsFlags
	flags.Testing
	Quiet bool `help:"Show no progress." short:"q"`
	JSON  bool `help:"Print the run directory and the result as JSON." name:"json"`
}

// Run tests a trained model: once, or with several numbers of runs of its loop if the spec says
// so.
func (c *Eval) Run(a world.App) error { return c.Together(a, c.run) }

func (c *Eval) run(a world.App) error {
	a, dir, err := c.place(a)
	if err != nil {
		return err
	}
	if c.Weights != "" {
		defer os.RemoveAll(dir)
	}
	if err := c.check(&a.Model); err != nil {
		return err
	}
	test, err := Load(&c.Flags, a, dir, c.WeightsFlags)
	if err != nil {
		return err
	}
	asked := eval.Config{Digits: c.Digits, Operands: c.Operands}
	if asked.Operands == nil {
		asked.Operands = a.Model.Eval.Operands
	}
	if c.Operands != nil && c.Digits == nil {
		asked.Digits = a.Model.Eval.Digits
	}
	if c.Tests != "" {
		text, err := os.ReadFile(c.Tests)
		if err == nil {
			err = test.Task.Retest(string(text))
		}
		if err != nil {
			return world.Usagef("--tests %s: %w", c.Tests, err)
		}
		test.Tests = fmt.Sprintf("%s, SHA-256 %x", filepath.Base(c.Tests), sha256.Sum256(text))
		test.Cells = a.Model.Eval.Cells(test.Task)
	}
	if c.Grid != nil || c.Diagonal != nil || asked.Digits != nil {
		if c.Grid != nil {
			asked.Grid = *c.Grid
		}
		if c.Diagonal != nil {
			asked.Diagonal = *c.Diagonal
		}
		test.Cells = asked.Cells(test.Task)
	}
	if err := eval.Reaches(a.Model.Eval.Reach, test.Task, test.Cells); err != nil {
		return world.Usage(err)
	}
	if c.Samples > 0 {
		test.Samples = c.Samples
	}
	if c.Mode != "" {
		test.Mode = c.Mode
	}
	if c.Metric != "" {
		test.Metric = c.Metric
	}
	ctx, cancel := a.UntilInterrupt()
	defer cancel()
	t := Tester{a, dir, a.Again(), c.Quiet, c.JSON, c.Picture, c.Weights != ""}
	switch {
	case c.Mode == eval.ModeSettle:
		return t.report(ctx, settling(test, cmp.Or(c.Times, a.Model.Eval.Settle, c.longest(test, &a.Model.Eval))))
	case c.Times > 0:
		return t.report(ctx, test.WithTimes(c.Times))
	}
	return t.reportAll(ctx, test)
}

// longest returns how often the loop runs on the longest problems of the test.
func (c *Eval) longest(t *eval.Test, spec *eval.Config) int {
	if spec.ByLength {
		return max(spec.Loop, t.MostRuns())
	}
	return spec.Loop
}

// place returns the model to test, and the directory for its result.
func (c *Eval) place(a world.App) (_ world.App, dir string, err error) {
	switch {
	case c.Weights == "" && c.Dir == "":
		return a, "", world.Usagef("which run? %s eval RUN; or, for weights of no run, eval --weights FILE", a.Model.Name)
	case c.Weights == "":
		return a.At(c.Dir)
	case c.Dir != "":
		return a, "", world.Usagef("%s or --weights %s: a test takes only one of them", c.Dir, c.Weights)
	}
	dir, err = os.MkdirTemp("", "mlc-eval-")
	return a, dir, err
}

// check returns an error for flags that do not fit the model.
func (c *Eval) check(m *program.Model) error {
	spec := &m.Eval
	if m.Reader != nil && (c.Samples > 0 || c.Metric != "" || c.Mode != "") {
		return world.Usagef("a text has no problems to sample: leave out --samples, --metric and --mode")
	}
	if m.Task.Listed() && (c.Grid != nil || c.Diagonal != nil || c.Digits != nil) {
		return world.Usagef("the problems come from a file: leave out --grid, --diagonal and --digits")
	}
	if err := c.checkSize(); err != nil {
		return err
	}
	if c.Operands != nil && m.Task.OperandsHi == 0 {
		return world.Usagef("--operands: the problems of this model are not sums of several numbers")
	}
	if c.Mode == eval.ModeSettle && spec.Loop == 0 {
		return world.Usagef("--mode settle: this model has no loop, its layers are run once")
	}
	if g := c.Grid; g != nil && m.Task.OperandsHi > 0 && g.Second.Lo < 2 {
		return world.Usagef("--grid: its second range is how many numbers are added, from 2 on")
	}
	return checkTimes(c.Times, spec)
}

// The limits of a test: a typing error must not take all memory, or a year.
const (
	maxTimes   = 1 << 10 // as in the language: eval.times
	maxGrid    = 1000    // as in the language: eval.grid
	maxLength  = config.MaxDigits
	maxSamples = 1 << 20
)

// checkSize returns an error for flags beyond the limits.
func (c *Eval) checkSize() error {
	for _, n := range c.Digits {
		if n < 1 || n > maxLength {
			return world.Usagef("--digits %d: want lengths from 1 to %d", n, maxLength)
		}
	}
	if d := c.Diagonal; d != nil && d.Hi > maxLength {
		return world.Usagef("--diagonal %d..%d: want lengths up to %d", d.Lo, d.Hi, maxLength)
	}
	if g := c.Grid; g != nil && max(g.First.Hi, g.Second.Hi) > maxGrid {
		return world.Usagef("--grid %d..%d,%d..%d: want lengths up to %d; --diagonal and --digits take longer ones", g.First.Lo, g.First.Hi, g.Second.Lo, g.Second.Hi, maxGrid)
	}
	for _, n := range c.Operands {
		if n < 2 || n > config.MaxOperands {
			return world.Usagef("--operands %d: want from 2 to %d numbers", n, config.MaxOperands)
		}
	}
	if c.Samples > maxSamples {
		return world.Usagef("--samples %d: want at most %d problems a length", c.Samples, maxSamples)
	}
	return nil
}

// settling returns the test that runs the loop until the answer settles, at most the given
// number of times.
func settling(t *eval.Test, most int) *eval.Test {
	other := *t
	other.Mode, other.Settings.Times = eval.ModeSettle, most
	return &other
}

// checkTimes checks a number of runs of the loop; 0 means the default.
func checkTimes(times int, spec *eval.Config) error {
	switch {
	case times > 0 && spec.Loop == 0:
		return world.Usagef("--times %d: this model has no loop, its layers are run once", times)
	case times > maxTimes:
		return world.Usagef("--times %d: the loop is run at most %d times; it was trained with %d", times, maxTimes, spec.Loop)
	}
	return nil
}

// NewTest returns the spec's test of the run in dir, or of no run if dir is "".
func NewTest(a world.App, machine device.Machine, dir string, rec *record.Record, state train.State) (*eval.Test, error) {
	m := &a.Model
	problems, err := m.NewTask(rec.Seed)
	if err != nil {
		return nil, err
	}
	pad := m.Eval.Pad
	problems = problems.WithPad(pad)
	t := &eval.Test{
		Model: eval.Model{Machine: machine, Plan: &m.Plan, Task: problems, Seed: rec.Seed, Ranks: a.EvalRanks()},
		Settings: eval.Settings{Name: rec.Name, SpecHash: m.SpecHash, Seed: rec.Seed, Mode: eval.ModeVerify, Metric: eval.ExactMatch,
			ExamplesTrained: state.Examples, Samples: m.Eval.Samples, Pad: [2]int{pad.To, pad.Step}},
		Cells: m.Eval.Cells(problems), Patience: time.Second, Reader: m.Reader}
	if m.Eval.Greedy {
		t.Mode = eval.ModeGreedy
	}
	if m.Eval.FirstToken {
		t.Metric = eval.FirstToken
	}
	if m.Reader != nil {
		t.Metric = "loss"
	}
	t.Trained.I, t.Trained.J = problems.Extent()
	if dir == "" {
		return t.WithTimes(m.Eval.Own()), nil
	}
	watched, err := lock.Watch(dir) // until the process ends
	if err != nil {
		return nil, err
	}
	t.Still = watched.Check
	reports, err := track.Until(dir, state.Step)
	if err != nil {
		return nil, err
	}
	if n := len(reports); n > 0 {
		t.SecondsTrain = reports[n-1].Seconds
	}
	return t.WithTimes(m.Eval.Own()), nil
}

// A Tester tests a run and prints the results.
type Tester struct {
	world.App
	Dir         string // of the run
	again       string // command that resumes an interrupted test
	Quiet, json bool
	picture     bool // draw lengths even if the output is no terminal
	weights     bool // the weights belong to no run
}

// reportAll tests as the spec says: with the loop's default number of runs, then with others.
func (r *Tester) reportAll(ctx context.Context, t *eval.Test) error {
	if err := r.report(ctx, t); err != nil {
		return err
	}
	for _, times := range r.Model.Eval.Times {
		if !r.json {
			fmt.Fprintf(r.Out, "\n%d runs of the loop:\n", times)
		}
		if err := r.report(ctx, t.WithTimes(times)); err != nil {
			return err
		}
	}
	if most := r.Model.Eval.Settle; most > 0 {
		if !r.json {
			fmt.Fprintf(r.Out, "\nruns of the loop until an answer stays the same, %d at most:\n", most)
		}
		return r.report(ctx, settling(t, most))
	}
	return nil
}

// report tests and prints the result.
func (r *Tester) report(ctx context.Context, t *eval.Test) error {
	result, err := r.Test(ctx, t)
	if err != nil {
		return err
	}
	if !r.json {
		text := result.Table(world.Columns(r.Out))
		if r.picture || world.OnTerminal(r.Out) {
			if chart := result.Chart(world.Columns(r.Out)); chart != "" {
				text += "\n" + chart
			}
		}
		if _, err := fmt.Fprint(r.Out, text); err != nil {
			return err
		}
		r.sayFolder(t)
		return nil
	}
	run := r.Dir
	if r.weights {
		run = ""
	}
	return world.PrintJSON(r.App, Printed{run, result})
}

// sayFolder tells where a result lies that the spec does not ask for, and which command draws
// it.
func (r *Tester) sayFolder(t *eval.Test) {
	if folder, own := resultFolder(&r.Model.Eval, t); !own && !r.weights && !r.Quiet {
		fmt.Fprintf(r.Err, "the result is in %s; draw it with: mlc plot %s --eval %s\n", record.Results(r.Dir, folder), flag.Word(r.Dir), flag.Word(folder))
	}
}

// Test tests, and saves the result in the run directory.
func (r *Tester) Test(ctx context.Context, t *eval.Test) (*eval.Result, error) {
	test := *t
	folder, own := resultFolder(&r.Model.Eval, t)
	if own {
		test.Own = r.Model.Eval.Cells(t.Task)
	}
	status := track.NewStatus(r.Err, r.Quiet)
	defer status.Erase()
	if !r.Quiet {
		test.Progress = progress(r.Err, status)
	}
	room, largest := t.Workspace()
	if m, onCPU := world.Local(t.Machine).(*processor.Machine); onCPU {
		if err := r.Afford(world.Need{Work: world.ElemBytes * room}, m.Threads()); err != nil {
			return nil, err
		}
	}
	if err := world.Countable(largest, "of a launch of the test"); err != nil {
		return nil, fmt.Errorf("%w: test shorter problems", err)
	}
	result, err := test.Run(ctx, record.Results(r.Dir, folder))
	status.Erase()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%w while testing; continue with: %s", context.Cause(ctx), r.again)
	}
	return result, err
}

// Printed is a result in the form of --json.
type Printed struct {
	Run string `json:"run,omitempty"` // the run's directory
	*eval.Result
}

// resultFolder returns the folder of a result below eval. Each setting that differs from the
// spec, except lengths, adds a part to the path, so that no test overwrites another one. Own
// reports whether the spec asks for this result.
func resultFolder(spec *eval.Config, t *eval.Test) (folder string, own bool) {
	var parts []string
	other := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if (t.Metric == eval.FirstToken) != spec.FirstToken {
		other("%s", t.Metric)
	}
	if t.Mode != eval.ModeSettle && (t.Mode == eval.ModeGreedy) != spec.Greedy {
		other("%s", t.Mode)
	}
	if t.Weights != "" {
		other("%s", t.Weights)
	}
	if name, _, _ := strings.Cut(t.Tests, ", SHA-256 "); name != "" {
		other("tests-%s", name)
	}
	if t.Samples != spec.Samples {
		other("samples-%d", t.Samples)
	}
	own = len(parts) == 0
	switch times := t.Settings.Times; {
	case t.Mode == eval.ModeSettle:
		other("settle-%d", times)
		own = own && times == spec.Settle
	case times != spec.Own():
		other("times-%d", times)
		own = own && slices.Contains(spec.Times, times)
	}
	return filepath.Join(parts...), own
}

// progressEvery is the least time between lines of progress if there are many cells.
const progressEvery = 10 * time.Second

// progress reports every cell if there are few, else one from time to time; on a terminal in
// one line.
func progress(to *os.File, status *track.Status) func(eval.Progress) {
	var last time.Time
	return func(p eval.Progress) {
		if status.Live() {
			status.Testing(track.Testing{What: p.What(), Done: p.Done, Total: p.Total, Left: p.Left})
			return
		}
		if p.Total > 20 && time.Since(last) < progressEvery {
			return
		}
		last = time.Now()
		fmt.Fprintln(to, p)
	}
}
