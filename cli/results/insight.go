package results

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/insight"
	"github.com/arithlang/mlc/plot"
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

// attend returns the attention of a run's model for a problem, and the problem. times is the
// number of runs of the loop; 0: as in training.
func attend(sh *shell.Shell, run, problem string, times int) (*insight.Attention, task.Problem, error) {
	p, err := probeRun(sh, run)
	if err != nil {
		return nil, task.Problem{}, err
	}
	if p.problems.Reads() {
		return nil, task.Problem{}, shell.Usagef("%s is of a text: attention is drawn for problems with answers", run)
	}
	asked, err := p.problems.Parse(problem)
	if err != nil {
		return nil, asked, err
	}
	found, err := p.Attend(sh.Context, p.problems, asked, times)
	return found, asked, err
}

// tokensOf returns the tokens of the rows and of the columns of a site.
func tokensOf(a *insight.Attention, s insight.Site) (rows, cols []string) {
	switch {
	case s.Source:
		return a.Source, a.Source
	case s.Self:
		return a.Target, a.Target
	}
	return a.Target, a.Source
}

// attentionOf returns the attention of a run's model for a problem, and its answer, as a page
// shows them. times is as in attend.
func attentionOf(sh *shell.Shell, run, problem string, times int) (*serve.Attention, error) {
	found, asked, err := attend(sh, run, problem, times)
	if err != nil {
		return nil, err
	}
	out := &serve.Attention{Answer: found.Answer, Expected: asked.Answer, Rows: found.Target, Cols: found.Target}
	for _, s := range found.Sites {
		rows, cols := tokensOf(found, s)
		for h, values := range s.Values {
			out.Maps = append(out.Maps, serve.Map{Name: s.Name, Run: s.Run, Head: h, Rows: rows, Cols: cols, Values: values})
		}
	}
	return out, nil
}

// mapsOf returns the attention of a run's model for a problem, in one layer of each stack, from
// 1 on. Layer 0 is the last one. Of a loop it returns the last run.
func mapsOf(sh *shell.Shell, run, problem string, layer int) (*plot.Asked, error) {
	found, asked, err := attend(sh, run, problem, 0)
	if err != nil {
		return nil, err
	}
	out := &plot.Asked{Problem: problem, Answer: found.Answer, Expected: asked.Answer}
	layers, runs := map[string]int{}, 0 // by stack
	for _, s := range found.Sites {
		stack, n, _ := placeOf(s)
		layers[stack], runs = max(layers[stack], n), max(runs, s.Run)
	}
	most := 0
	for _, s := range found.Sites {
		stack, n, site := placeOf(s)
		most = max(most, layers[stack])
		if n != cmp.Or(layer, layers[stack]) || stack == "loop" && s.Run < runs {
			continue
		}
		m := plot.Map{Layer: fmt.Sprintf("%s layer %d", stack, n), Site: site, Causal: s.Self && !s.Source, Heads: s.Values}
		m.Rows, m.Columns = tokensOf(found, s)
		out.Maps = append(out.Maps, m)
	}
	if out.Maps == nil {
		return nil, shell.Usagef("--layer %d: the model of %s has the layers 1 to %d", layer, run, most)
	}
	return out, nil
}

// placeOf splits the name of a site: its stack, its layer from 1 on, and self or cross.
func placeOf(s insight.Site) (stack string, layer int, site string) {
	words := strings.Split(s.Name, ".")
	layer, err := strconv.Atoi(words[1])
	if err != nil {
		panic("BUG: a site is named " + s.Name)
	}
	return words[0], layer + 1, words[2]
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
