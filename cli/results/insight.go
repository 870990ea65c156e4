package results

import (
	"math"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/insight"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/serve"
)

// A probed run is its model, ready to be looked into, and its problems.
type probed struct {
	*insight.Model
	problems *task.Task
	length   int // of the longest problems of training, in tokens
}

// probeRun reads a run: its spec, and the weights of its newest checkpoint.
func probeRun(sh *shell.Shell, run string) (*probed, error) {
	t, err := learned(sh, run, choice{})
	if err != nil {
		return nil, err
	}
	p := &probed{}
	if p.Model, err = insight.New(t.spec, t.weights, t.rec.Seed); err != nil {
		return nil, err
	}
	if p.problems, err = task.New(task.Config(t.spec.Task.Task), t.rec.Seed); err != nil {
		return nil, err
	}
	p.problems = p.problems.WithPad(t.spec.Eval.Pad)
	source, target := t.spec.TrainedShape()
	p.length = max(source, target)
	return p, nil
}

// attentionOf is what the model of a run pays to a problem and its answer, with so many runs of
// a loop; 0: as in training.
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

// mostCells bounds a side of a drawn bias.
const mostCells = 64

// biasesOf are those that the model of a run has learned, at its longest problems of training.
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
				if !math.IsNaN(x) { // no open cell is so far apart
					one.X, one.Values[0] = append(one.X, float64(least+k)), append(one.Values[0], x)
				}
			}
		}
		out = append(out, one)
	}
	return out, nil
}
