package check

import (
	"math"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/task"
)

// countEpochs turns amounts in epochs into examples: an epoch has the problems that are trained on,
// each once. It reports a task whose problems do not repeat.
func (c *checker) countEpochs(s *Spec) {
	during := c.get("eval.during").arg("every")
	for _, of := range []struct {
		path   string
		amount *value
		to     *config.Budget
	}{{"train.budget", c.get("train.budget"), &s.Train.Budget}, {"eval.during", during, &s.Eval.During.Every}} {
		if of.amount.of != "epochs" {
			continue
		}
		made, err := tasks.New(task.Config(s.Task.Task), s.Train.Seed)
		if err != nil {
			return // the rules report it
		}
		set := made.Set(false)
		if set == 0 {
			c.report("E0362", c.at(of.path), "%s has epochs, but problems of this task do not repeat", of.path).
				WithHelp("give it in steps or examples, or say task.examples, the number of problems that repeat")
			continue
		}
		of.to.Examples = max(1, int64(math.Round(of.amount.num*float64(set))))
	}
}
