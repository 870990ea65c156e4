package results

import (
	"math"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/insight"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/serve"
)

// A probed run is its model, prepared for insight, and its problems.
type probed struct {
	*insight.Model
	problems *task.Task
	length   int // tokens of the longest training problems
}

// probeRun reads the spec and the newest checkpoint of a run.
func probeRun(sh *shell.Shell, run string) (*probed, error) {
	t, err := learned(sh, run, choice{})
	if err != nil {
		return nil, err
	}
	p := &probed{}
	if p.Model, err = insight.New(t.spec, t.weights, t.rec.Seed); err != nil {
		return nil, err
	}
	if p.problems, err = tasks.New(task.Config(t.spec.Task.Task), t.rec.Seed); err != nil {
		return nil, err
	}
	p.problems = p.problems.WithPad(t.spec.Eval.Pad)
	source, target := t.spec.TrainedShape()
	p.length = max(source, target)
	return p, nil
}

// attentionOf returns the attention of a run's model for a problem, and its answer. times
// is the number of runs of the loop; 0: as in training.
func attentionOf(sh *shell.Shell, run, problem string, times int) (*serve.Attention, error) {
	p, err := probeRun(sh, run)
	if err != nil {
		return nil, err
	}
	asked, err := p.problems.Parse(problem)
	if err != nil {
		return nil, err
	}
	found, err := p.Attend(sh.Context, p.problems, asked, times)
	if err != nil {
		return nil, err
	}
	out := &serve.Attention{Answer: found.Answer, Expected: asked.Answer, Rows: found.Target, Cols: found.Target}
	for _, s := range found.Sites {
		rows, cols := found.Target, found.Source
		switch {
		case s.Source:
			rows = found.Source
		case s.Self:
			cols = found.Target
		}
		for h, values := range s.Values {
			out.Maps = append(out.Maps, serve.Map{Name: s.Name, Run: s.Run, Head: h, Rows: rows, Cols: cols, Values: values})
		}
	}
	return out, nil
}

// mostCells is the largest side of a drawn bias.
const mostCells = 64

// biasesOf returns the learned biases of a run's model, at the size of its longest training
// problems.
func biasesOf(sh *shell.Shell, run string) (out []serve.Bias, err error) {
	p, err := probeRun(sh, run)
	if err != nil {
		return nil, err
	}
	found, err := p.Biases(min(p.length, mostCells))
	if err != nil {
		return nil, err
	}
	for _, b := range found {
		one := serve.Bias{Name: b.Name, Head: b.Head, Kind: "map", Values: b.Values}
		if least, values, ok := b.Distances(); ok {
			one.Kind, one.Values = "curve", [][]float64{nil}
			for k, x := range values {
				if !math.IsNaN(x) { // no open cell has this distance
					one.X, one.Values[0] = append(one.X, float64(least+k)), append(one.Values[0], x)
				}
			}
		}
		out = append(out, one)
	}
	return out, nil
}
