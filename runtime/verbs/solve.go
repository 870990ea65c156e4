package verbs

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/interrupt"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/world"
)

// Solve is the verb solve.
type Solve struct {
	world.Flags
	WeightsFlags
	flags.Solving
	JSON bool `help:"Print as JSON the problem, the model's answer and, if known, the expected answer and whether the model is right." name:"json"`
}

// answer is one line of solve --json. Expected and Right are absent if the right answer is
// unknown.
type answer struct {
	Problem  string `json:"problem"`
	Answer   string `json:"answer"` // the model's answer
	Expected string `json:"expected,omitempty"`
	Right    *bool  `json:"right,omitempty"`
}

// Run prints the model's answer to each problem, right or wrong.
func (c *Solve) Run(a world.App) error {
	var dir string
	var err error
	switch {
	case c.Weights != "" && c.Dir != "":
		c.Problems = append([]string{c.Dir}, c.Problems...)
	case c.Weights != "":
	case c.Dir == "":
		return world.Usagef("which run? %s solve RUN [PROBLEM …]; or, for weights of no run, solve --weights FILE [PROBLEM …]", a.Model.Name)
	default:
		a, dir, err = a.At(c.Dir)
	}
	if err != nil {
		return err
	}
	if err := checkTimes(c.Times, &a.Model.Eval); err != nil {
		return err
	}
	if c.Thinking && a.Model.Eval.Loop == 0 {
		return world.Usagef("--thinking: this model has no loop, its layers are run once")
	}
	if a.Model.Reader == nil && c.Sampling != (config.Sampling{Temperature: 1}) {
		return world.Usagef("--tokens, --temperature, --top-k and --seed: this model answers problems, and continues no text")
	}
	test, err := Load(&c.Flags, a, dir, c.WeightsFlags)
	if err != nil {
		return err
	}
	if c.Times > 0 {
		test = test.WithTimes(c.Times)
	}
	err = c.all(a, test)
	if e, interrupted := interrupt.In(err); interrupted {
		return e // the problem at hand does not matter
	}
	return err
}

// all solves the problems of the command line, or else of standard input.
func (c *Solve) all(a world.App, test *eval.Test) error {
	for _, text := range c.Problems {
		if err := c.solve(a, test, text); err != nil {
			return err
		}
	}
	if len(c.Problems) > 0 {
		return nil
	}
	return c.lines(a, test)
}

// lines solves the problems on standard input, one a line. It reports a line that is not a
// problem and continues. It skips empty lines; a line of spaces may be a prompt.
func (c *Solve) lines(a world.App, test *eval.Test) error {
	lines := bufio.NewScanner(a.In)
	lines.Buffer(nil, world.LongestLine)
	wrong := 0
	for n := 1; ; n++ {
		more, err := world.NextLine(a, lines)
		if err == nil && more && lines.Text() != "" {
			err = c.solve(a, test, lines.Text())
			if mistake := (world.UsageError{}); errors.As(err, &mistake) {
				wrong++
				fmt.Fprintf(a.Err, "line %d: %v\n", n, err)
				continue
			}
		}
		switch {
		case err != nil:
			return fmt.Errorf("line %d: %w", n, err)
		case !more && wrong > 0:
			return world.Usagef("%d of %d lines are not problems for this model", wrong, n-1)
		case !more:
			return nil
		}
	}
}

func (c *Solve) solve(a world.App, t *eval.Test, text string) error {
	p, err := t.Task.Parse(text)
	if err != nil {
		return world.Usage(err)
	}
	if t.Reader != nil && !c.Thinking {
		_, err := world.Await(a, func() (bool, error) { return true, t.Reader.Continue(a.Ctx, &t.Model, text, c.Sampling, c.JSON, a.Out) })
		return err
	}
	if err := eval.ReachesProblem(a.Model.Eval.Reach, t.Task, p); err != nil {
		return world.Usage(fmt.Errorf("%q: %w", t.Task.Text(p), err))
	}
	if c.Thinking && p.Answer == "" {
		return world.Usagef("--thinking shows which tokens are right, and the file has no answer to %q: write it after the prompt, as in the file", text)
	}
	if c.Thinking {
		return c.think(a, t, p)
	}
	replies, err := world.Await(a, func() ([][]int32, error) { return t.Decode(a.Ctx, []task.Problem{p}) })
	if err != nil {
		return fmt.Errorf("%q: %w", t.Task.Text(p), err)
	}
	reply := t.Task.Decode(p, replies[0])
	if c.JSON {
		said := answer{Problem: t.Task.Text(p), Answer: reply, Expected: p.Answer}
		if right := reply == p.Answer; p.Answer != "" {
			said.Right = &right
		}
		return world.PrintJSON(a, said)
	}
	_, err = fmt.Fprintln(a.Out, reply)
	return err
}

// think prints the model's answer after each run of its loop.
func (c *Solve) think(a world.App, t *eval.Test, p task.Problem) error {
	thought, err := world.Await(a, func() (eval.Thought, error) { return a.Model.Think(a.Ctx, &t.Model, p, t.Runs) })
	if err != nil {
		return fmt.Errorf("%q: %w", t.Task.Text(p), err)
	}
	if c.JSON {
		return world.PrintJSON(a, thought)
	}
	_, err = fmt.Fprint(a.Out, thought.Table(world.OnTerminal(a.Out) && track.Color()))
	return err
}
