package verbs

import (
	"fmt"
	"strings"

	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/rundir"
	"github.com/arithlang/mlc/runtime/train"
	"github.com/arithlang/mlc/runtime/world"
)

// WeightsFlags choose among the weights that a run saves, or a file's.
type WeightsFlags struct {
	flags.Kept
}

// check returns an error if the model does not save the chosen weights.
func (w WeightsFlags) check(m *program.Model) error {
	switch {
	case w.Weights == "" && len(w.Map) > 0:
		return world.Usagef("--map says how a file names weights: it goes with --weights")
	case w.Weights != "" && (w.Best || w.Average):
		return world.Usagef("--best and --average are weights that a run keeps: leave out --weights")
	case w.Best && m.Train.Best == nil:
		return world.Usagef("--best: this spec keeps only the last checkpoints; train.keep = best(…) keeps the best, too")
	case w.Average && !m.Plan.Averages():
		return world.Usagef("--average: this spec keeps no averaged weights; train.average = ema(…) does")
	}
	return nil
}

// checkpoint returns the path of the chosen checkpoint.
func (w WeightsFlags) checkpoint(dir string) (string, error) {
	if path := train.BestPath(dir); w.Best {
		if !rundir.Exists(path) {
			return "", fmt.Errorf("%s has no best checkpoint yet: train it up to its first test, with train --resume --out %s", dir, dir)
		}
		return path, nil
	}
	path, err := rundir.NewestCheckpoint(dir)
	if err == nil && path == "" {
		err = rundir.NoCheckpoint(dir)
	}
	return path, err
}

// String names the weights in a result; "" for the last ones.
func (w WeightsFlags) String() string {
	var parts []string
	if w.Best {
		parts = append(parts, "best")
	}
	if w.Average {
		parts = append(parts, "average")
	}
	return strings.Join(parts, "-")
}

// Load loads a checkpoint of a run, or a file's weights, onto a machine and returns their test.
func Load(f *world.Flags, a world.App, dir string, w WeightsFlags) (*eval.Test, error) {
	if err := w.check(&a.Model); err != nil {
		return nil, err
	}
	if w.Weights != "" {
		return loadFile(f, a, w)
	}
	machine, err := f.Open(a)
	if err != nil {
		return nil, err
	}
	rec, err := rundir.Open(dir, rundir.IdentityOf(&a.Model))
	if err != nil {
		return nil, err
	}
	path, err := w.checkpoint(dir)
	if err != nil {
		return nil, err
	}
	from, err := world.Await(a, func() (*train.Checkpoint, error) { return rundir.ReadCheckpoint(path, dir, &rec) })
	if err == nil && !w.Best {
		if err := rec.Last(dir, path, from.State.Step, from.State.Examples); err != nil {
			return nil, err
		}
	}
	if err == nil {
		err = from.Put(machine, &a.Model.Plan, a.Model.Params)
	}
	if err == nil && w.Average {
		err = from.PutAverage(machine, a.Model.Params)
	}
	if err != nil && w.Best {
		return nil, err
	}
	if err != nil {
		return nil, rundir.BadCheckpoint(dir, err)
	}
	if err := machine.Err(); err != nil {
		return nil, err
	}
	test, err := NewTest(a, machine, dir, &rec, from.State)
	if err == nil {
		test.Weights = w.String()
	}
	return test, err
}

// loadFile loads the weights of a file onto a machine and returns their test.
func loadFile(f *world.Flags, a world.App, w WeightsFlags) (*eval.Test, error) {
	in, err := imported(a, w.Map, w.Weights)
	if err != nil {
		return nil, err
	}
	machine, err := f.Open(a)
	if err != nil {
		return nil, err
	}
	if err := in.Use(machine, a.Model.Params, a.Model.Tables()); err != nil {
		return nil, err
	}
	m := &a.Model
	return NewTest(a, machine, "", &record.Record{Name: m.Name, SpecHash: m.SpecHash, Seed: m.Train.Seed}, train.State{})
}
