package runtime

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/interrupt"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/track"
)

// solveCmd is the verb solve.
type solveCmd struct {
	deviceFlags
	weightsFlags
	flags.Solving
	JSON bool `help:"Print as JSON the problem, the model's answer and, if known, the expected answer and whether the model is right." name:"json"`
}

// answer is one line of solve --json. What is known of the right answer is absent where
// that is not known.
type answer struct {
	Problem  string `json:"problem"`
	Answer   string `json:"answer"` // the model's
	Expected string `json:"expected,omitempty"`
	Right    *bool  `json:"right,omitempty"`
}

// Run prints the model's answer to each problem, right or wrong.
func (c *solveCmd) Run(a app) error {
	var dir string
	var err error
	switch {
	case c.Weights != "" && c.Dir != "":
		c.Problems = append([]string{c.Dir}, c.Problems...)
	case c.Weights != "":
	case c.Dir == "":
		return usagef("which run? %s solve RUN [PROBLEM …]; or, for weights of no run, solve --weights FILE [PROBLEM …]", a.model.Name)
	default:
		a, dir, err = a.at(c.Dir)
	}
	if err != nil {
		return err
	}
	if err := checkTimes(c.Times, &a.model.Eval); err != nil {
		return err
	}
	if c.Thinking && a.model.Eval.Loop == 0 {
		return usagef("--thinking: this model has no loop, its layers are run once")
	}
	test, err := c.test(a, dir)
	if err != nil {
		return err
	}
	if c.Times > 0 {
		test = test.WithTimes(c.Times)
	}
	err = c.all(a, test)
	if e, interrupted := interrupt.In(err); interrupted {
		return e // where it was does not matter
	}
	return err
}

// test is the model that answers.
func (c *solveCmd) test(a app, dir string) (*eval.Test, error) {
	if c.Weights == "" {
		return c.load(a, dir, c.weightsFlags)
	}
	return c.loadFile(a, c.weightsFlags)
}

// all solves the problems of the command line, or else those of standard input.
func (c *solveCmd) all(a app, test *eval.Test) error {
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

// lines solves the problems of standard input, one a line. A line that is no problem is
// reported, and does not keep the others from being solved. Empty lines are none; one of
// spaces may be a prompt.
func (c *solveCmd) lines(a app, test *eval.Test) error {
	lines := bufio.NewScanner(a.in)
	lines.Buffer(nil, longestLine)
	wrong := 0
	for n := 1; ; n++ {
		more, err := nextLine(a, lines)
		if err == nil && more && lines.Text() != "" {
			err = c.solve(a, test, lines.Text())
			if mistake := (usageError{}); errors.As(err, &mistake) {
				wrong++
				fmt.Fprintf(a.err, "line %d: %v\n", n, err)
				continue
			}
		}
		switch {
		case err != nil:
			return fmt.Errorf("line %d: %w", n, err)
		case !more && wrong > 0:
			return usagef("%d of %d lines are no problems that this model can be given", wrong, n-1)
		case !more:
			return nil
		}
	}
}

// nextLine reads a line, and reports whether there is one.
func nextLine(a app, lines *bufio.Scanner) (bool, error) {
	more, err := await(a, func() (bool, error) { return lines.Scan(), lines.Err() })
	if errors.Is(err, bufio.ErrTooLong) {
		err = usagef("it is longer than %s bytes, which is no line of what is asked for here", track.Thousands(longestLine))
	}
	return more, err
}

// longestLine is the most bytes of a line of standard input.
const longestLine = 1 << 20

func (c *solveCmd) solve(a app, t *eval.Test, text string) error {
	p, err := t.Task.Parse(text)
	if err != nil {
		return usageError{err}
	}
	if err := eval.ReachesProblem(a.model.Eval.Reach, t.Task, p); err != nil {
		return usageError{fmt.Errorf("%q: %w", t.Task.Text(p), err)}
	}
	if c.Thinking && p.Answer == "" {
		return usagef("--thinking shows which tokens are right, and the file has no answer to %q: write it behind the prompt, as in the file", text)
	}
	if c.Thinking {
		return c.think(a, t, p)
	}
	replies, err := await(a, func() ([][]int32, error) { return t.Decode(a.ctx, []task.Problem{p}) })
	if err != nil {
		return fmt.Errorf("%q: %w", t.Task.Text(p), err)
	}
	reply := t.Task.Decode(p, replies[0])
	if c.JSON {
		said := answer{Problem: t.Task.Text(p), Answer: reply, Expected: p.Answer}
		if right := reply == p.Answer; p.Answer != "" {
			said.Right = &right
		}
		return printJSON(a, said)
	}
	_, err = fmt.Fprintln(a.out, reply)
	return err
}

// think prints what the model would have answered after each run of its loop.
func (c *solveCmd) think(a app, t *eval.Test, p task.Problem) error {
	thought, err := await(a, func() (*eval.Thinking, error) { return t.Think(a.ctx, p, t.Runs) })
	if err != nil {
		return fmt.Errorf("%q: %w", t.Task.Text(p), err)
	}
	if c.JSON {
		return printJSON(a, thought)
	}
	_, err = fmt.Fprint(a.out, thought.Table(onTerminal(a.out) && track.Color()))
	return err
}
