// Package tasks has all kinds of tasks in one table, says whether a task makes problems, and how
// long these are. A generated program links the kind that it needs. Package check comes after it.
package tasks

import (
	"fmt"
	"strings"

	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/task/arrays"
	"github.com/arithlang/mlc/runtime/task/lines"
	"github.com/arithlang/mlc/runtime/task/sequence"
	"github.com/arithlang/mlc/runtime/task/sums"
	"github.com/arithlang/mlc/runtime/task/vectors"
)

// Kit is what all tasks are made with.
func Kit() task.Kit {
	return task.Kit{Kinds: []task.Kind{vectors.Kind(), sums.Kind(), arrays.Kind(), lines.Kind()}, Sequences: sequence.New}
}

// A Config is that of a task, which may be wrong.
type Config struct{ *task.Config }

// New returns the task of a Config, if it makes problems.
func New(cfg task.Config, seed uint64) (*task.Task, error) {
	for _, p := range append([]*task.Config{&cfg}, cfg.Parts()...) {
		if err := (Config{p}).Check(); err != nil {
			return nil, fmt.Errorf("task %s: %w", p.Kind, err)
		}
	}
	return task.New(cfg, seed, Kit())
}

// KindOf is the kind of a task; not ok if there is none, or it is a mix.
func KindOf(c *task.Config) (task.Kind, bool) { return Kit().KindOf(c) }

// Distinct is the number of different problems that training and its held-out problems are
// drawn from; infinite of a file.
func Distinct(c *task.Config) (all float64) {
	for _, p := range c.Parts() {
		k, _ := KindOf(p)
		all += k.Family.Distinct(p, k.Arity)
	}
	return all
}

func names() string {
	var all []string
	for _, k := range Kit().All() {
		all = append(all, k.Name)
	}
	return strings.Join(all, ", ") + ", mixed"
}
