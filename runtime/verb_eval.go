package runtime

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/term"

	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
)

// evalCmd is the verb eval.
type evalCmd struct {
	deviceFlags
	Dir      string     `arg:"" name:"RUN" help:"Run directory."`
	Grid     *eval.Grid `help:"Lengths of both operands to test, every pair of them, instead of the spec's tests." placeholder:"1..100,1..100"`
	Diagonal *eval.Span `help:"Lengths to test where both operands have the same." placeholder:"101..160"`
	Digits   []int      `help:"The same, one by one." placeholder:"6,10,20"`
	Samples  int        `help:"Problems a length, or a pair of lengths." placeholder:"N"`
	Times    int        `help:"Run the loop so often, instead of as often as in training." placeholder:"N"`
	Metric   string     `help:"exact_match: all of an answer is right; first_token: its first token is." enum:"exact_match,first_token," default:""`
	Mode     string     `help:"verify: one pass a problem; greedy: a token at a time; settle: greedy, with as many runs of the loop, --times at most, as it takes until an answer stays the same." enum:"verify,greedy,settle," default:""`
	Quiet    bool       `help:"Show no progress." short:"q"`
	JSON     bool       `help:"Print the result as JSON." name:"json"`
}

// Run tests a trained model: once, or, if the spec says so, with several numbers
// of runs of its loop.
func (c *evalCmd) Run(a app, name program) error {
	a, dir, err := a.at(c.Dir)
	if err != nil {
		return err
	}
	if err := c.check(&a.model.Eval); err != nil {
		return err
	}
	test, err := c.load(a, dir)
	if err != nil {
		return err
	}
	if asked := (eval.Config{Digits: c.Digits}); c.Grid != nil || c.Diagonal != nil || c.Digits != nil {
		if c.Grid != nil {
			asked.Grid = *c.Grid
		}
		if c.Diagonal != nil {
			asked.Diagonal = *c.Diagonal
		}
		test.Cells = asked.Cells(test.Task)
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
	ctx, cancel := a.untilInterrupt()
	defer cancel()
	if c.Mode == eval.ModeSettle {
		return report(ctx, a, name, settling(test, cmp.Or(c.Times, a.model.Eval.Settle, a.model.Eval.Loop)), c.Quiet, c.JSON)
	}
	if c.Times > 0 {
		test.Settings.Times, test.Runs = c.Times, c.Times
		return report(ctx, a, name, test, c.Quiet, c.JSON)
	}
	return reportAll(ctx, a, name, test, c.Quiet, c.JSON)
}

// check finds what is wrong with the flags.
func (c *evalCmd) check(spec *eval.Config) error {
	for _, n := range c.Digits {
		if n < 1 {
			return usagef("--digits %d: a number has at least one digit", n)
		}
	}
	if c.Samples < 0 {
		return usagef("--samples %d: want a positive number", c.Samples)
	}
	if c.Mode == eval.ModeSettle && spec.Loop == 0 {
		return usagef("--mode settle: this model has no loop, its layers are run once")
	}
	return checkTimes(c.Times, spec)
}

// settling is the test that takes as many runs of the loop as an answer needs.
func settling(t *eval.Test, most int) *eval.Test {
	other := *t
	other.Mode, other.Settings.Times = eval.ModeSettle, most
	return &other
}

// checkTimes is about a number of runs of the loop; 0 is none.
func checkTimes(times int, spec *eval.Config) error {
	switch {
	case times < 0:
		return usagef("--times %d: want a positive number", times)
	case times > 0 && spec.Loop == 0:
		return usagef("--times %d: this model has no loop, its layers are run once", times)
	}
	return nil
}

// load puts the newest checkpoint of a run on a machine, ready to be tested.
func (f *deviceFlags) load(a app, dir string) (*eval.Test, error) {
	machine, err := f.open(a)
	if err != nil {
		return nil, err
	}
	rec, err := openRun(dir, a.model.identity())
	if err != nil {
		return nil, err
	}
	path := newestCheckpoint(dir)
	if path == "" {
		return nil, fmt.Errorf("%s has no checkpoint yet: train it with train --resume --out %s", dir, dir)
	}
	state, err := train.Load(path, machine, &a.model.Plan, a.model.Params)
	if err != nil {
		return nil, badCheckpoint(dir, err)
	}
	if err := machine.Err(); err != nil {
		return nil, err
	}
	return newTest(a, machine, dir, rec, state)
}

// newTest is the spec's evaluation of a run.
func newTest(a app, machine device.Machine, dir string, rec record, state train.State) (*eval.Test, error) {
	m := &a.model
	problems, err := task.New(m.Task, rec.Seed)
	if err != nil {
		return nil, err
	}
	pad := m.Eval.Pad
	if pad == (task.Pad{}) {
		pad = m.Task.Pad
	}
	problems = problems.WithPad(pad)
	t := &eval.Test{
		Model: eval.Model{Machine: machine, Plan: &m.Plan, Task: problems, Seed: rec.Seed, Runs: m.Eval.Loop},
		Settings: eval.Settings{Name: m.Name, SpecHash: m.SpecHash, Seed: rec.Seed, Mode: eval.ModeVerify, Metric: eval.ExactMatch,
			ExamplesTrained: state.Examples, Samples: m.Eval.Samples, Pad: [2]int{pad.To, pad.Step}, Times: m.Eval.Loop},
		Cells: m.Eval.Cells(problems), Patience: time.Second, Dir: dir}
	t.Trained.I, t.Trained.J = problems.Extent()
	if m.Eval.Greedy {
		t.Mode = eval.ModeGreedy
	}
	if m.Eval.FirstToken {
		t.Metric = eval.FirstToken
	}
	last, err := track.Last(dir)
	if err != nil {
		return nil, err
	}
	if last != nil {
		t.SecondsTrain = last.Seconds
	}
	return t, nil
}

// reportAll tests as the spec says: with the loop's own number of runs, then with
// others.
func reportAll(ctx context.Context, a app, name program, t *eval.Test, quiet, asJSON bool) error {
	if err := report(ctx, a, name, t, quiet, asJSON); err != nil {
		return err
	}
	for _, times := range a.model.Eval.Times {
		other := *t
		other.Settings.Times, other.Runs = times, times
		if !asJSON {
			fmt.Fprintf(a.out, "\n%d runs of the loop:\n", times)
		}
		if err := report(ctx, a, name, &other, quiet, asJSON); err != nil {
			return err
		}
	}
	if most := a.model.Eval.Settle; most > 0 {
		if !asJSON {
			fmt.Fprintf(a.out, "\nruns of the loop until an answer stays the same, %d at most:\n", most)
		}
		return report(ctx, a, name, settling(t, most), quiet, asJSON)
	}
	return nil
}

// report tests and prints what comes of it.
func report(ctx context.Context, a app, name program, t *eval.Test, quiet, asJSON bool) error {
	run := t.Dir
	test := *t
	test.Dir = resultDir(&a.model.Eval, t)
	if !quiet {
		test.Progress = progress(a.err)
	}
	r, err := test.Run(ctx)
	if ctx.Err() != nil {
		return fmt.Errorf("%w while testing; go on with: %s eval %s", train.ErrInterrupted, name, run)
	}
	if err != nil {
		return err
	}
	if !asJSON {
		_, err = fmt.Fprint(a.out, r.Table(columns(a.out)))
		return err
	}
	return printJSON(a, r)
}

// resultDir is where a result goes: eval, or below it where the spec says another
// metric or number of runs.
func resultDir(spec *eval.Config, t *eval.Test) string {
	dir := filepath.Join(t.Dir, "eval")
	if (t.Metric == eval.FirstToken) != spec.FirstToken {
		dir = filepath.Join(dir, t.Metric)
	}
	switch {
	case t.Mode == eval.ModeSettle:
		dir = filepath.Join(dir, "settle-"+strconv.Itoa(t.Settings.Times))
	case t.Settings.Times != spec.Loop:
		dir = filepath.Join(dir, "times-"+strconv.Itoa(t.Settings.Times))
	}
	return dir
}

// progressEvery is how long a line of progress stands for what follows it, where
// there are many cells.
const progressEvery = 10 * time.Second

// progress tells of every cell where there are few, else now and then.
func progress(to *os.File) func(eval.Progress) {
	var last time.Time
	return func(p eval.Progress) {
		if p.Total > 20 && time.Since(last) < progressEvery {
			return
		}
		last = time.Now()
		fmt.Fprintln(to, p)
	}
}

// columns is the width of a terminal, or what people can read elsewhere.
func columns(out any) int {
	f, ok := out.(*os.File)
	if !ok {
		return 120
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 40 {
		return 120
	}
	return width
}

// printJSON prints a line of JSON.
func printJSON(a app, v any) error {
	return json.NewEncoder(a.out).Encode(v)
}

// thousands writes a number the way people read it: 1,592,081.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
