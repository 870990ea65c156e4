package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
)

// evalCmd is the verb eval.
type evalCmd struct {
	deviceFlags
	Dir     string `arg:"" name:"RUN" help:"Run directory."`
	Digits  []int  `help:"Lengths to test, instead of the spec's." placeholder:"6,10,20"`
	Samples int    `help:"Problems a length." placeholder:"N"`
	Mode    string `help:"verify: one pass a problem; greedy: a token at a time." enum:"verify,greedy," default:""`
	Quiet   bool   `help:"Show no progress." short:"q"`
	JSON    bool   `help:"Print the result as JSON." name:"json"`
}

// Run tests a trained model.
func (c *evalCmd) Run(a app, name program) error {
	for _, n := range c.Digits {
		if n < 1 {
			return usagef("--digits %d: a number has at least one digit", n)
		}
	}
	if c.Samples < 0 {
		return usagef("--samples %d: want a positive number", c.Samples)
	}
	test, err := c.load(a, c.Dir)
	if err != nil {
		return err
	}
	if len(c.Digits) > 0 {
		test.Digits = c.Digits
	}
	if c.Samples > 0 {
		test.Samples = c.Samples
	}
	if c.Mode != "" {
		test.Mode = c.Mode
	}
	ctx, cancel := a.untilInterrupt()
	defer cancel()
	return report(ctx, a, name, test, c.Quiet, c.JSON)
}

// load puts the newest checkpoint of a run on a machine, ready to be tested.
func (f *deviceFlags) load(a app, dir string) (*eval.Test, error) {
	machine, err := f.open(a)
	if err != nil {
		return nil, err
	}
	rec, err := openRun(dir, &a.model)
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
	t := &eval.Test{Model: eval.Model{Machine: machine, Plan: &m.Plan, Task: problems, Seed: rec.Seed},
		Settings: eval.Settings{Name: m.Name, SpecHash: m.SpecHash, Seed: rec.Seed, Mode: eval.ModeVerify, ExamplesTrained: state.Examples,
			Samples: m.Eval.Samples, Pad: [2]int{pad.To, pad.Step}},
		Digits: m.Eval.Digits, Trained: problems.Trained(), Dir: dir}
	if m.Eval.Greedy {
		t.Mode = eval.ModeGreedy
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

// report tests and prints what comes of it.
func report(ctx context.Context, a app, name program, t *eval.Test, quiet, asJSON bool) error {
	t.Progress = func(text string) {
		if !quiet {
			fmt.Fprintln(a.err, text)
		}
	}
	r, err := t.Run(ctx)
	if ctx.Err() != nil {
		return fmt.Errorf("%w while testing; go on with: %s eval %s", train.ErrInterrupted, name, t.Dir)
	}
	if err != nil {
		return err
	}
	if !asJSON {
		_, err = fmt.Fprint(a.out, r.Table())
		return err
	}
	return printJSON(a, r)
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
