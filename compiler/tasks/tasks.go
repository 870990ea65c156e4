// Package tasks lists all kinds of tasks, validates tasks and computes the sizes of their
// problems. A generated program links only the kind that it needs.
package tasks

import (
	"fmt"
	"strings"

	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/task/arrays"
	"github.com/arithlang/mlc/runtime/task/carries"
	"github.com/arithlang/mlc/runtime/task/lines"
	"github.com/arithlang/mlc/runtime/task/sequence"
	"github.com/arithlang/mlc/runtime/task/sums"
	"github.com/arithlang/mlc/runtime/task/vectors"
	"github.com/arithlang/mlc/runtime/task/windows"
)

// Kit returns all kinds of tasks.
func Kit() task.Kit {
	return task.Kit{Kinds: []task.Kind{vectors.Kind(), sums.Kind(), arrays.Kind(), lines.Kind(), windows.Kind()}, Sequences: sequence.New, Carrying: carries.Draw}
}

// A Config is the configuration of a task, which may be invalid.
type Config struct{ *task.Config }

// New returns the task of a valid Config.
func New(cfg task.Config, seed uint64) (*task.Task, error) {
	for _, p := range append([]*task.Config{&cfg}, cfg.Parts()...) {
		if err := (Config{p}).Check(); err != nil {
			return nil, fmt.Errorf("task %s: %w", p.Kind, err)
		}
	}
	return task.New(cfg, seed, Kit())
}

// KindOf returns the kind of a task; ok is false if it is unknown or a mix.
func KindOf(c *task.Config) (task.Kind, bool) { return Kit().KindOf(c) }

// Distinct returns the number of distinct problems from which training and held-out problems
// are drawn, infinite for a file.
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
