package runtime

import (
	"fmt"
	"strings"

	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/train"
)

// weightsFlags choose among the weights that a run keeps, or those of a file.
type weightsFlags struct {
	flags.Kept
}

// check wants the model to keep what is asked for.
func (w weightsFlags) check(m *Model) error {
	switch {
	case w.Weights == "" && len(w.Map) > 0:
		return usagef("--map says how a file names weights: it goes with --weights")
	case w.Weights != "" && (w.Best || w.Average):
		return usagef("--best and --average are weights that a run keeps: leave out --weights")
	case w.Best && m.Train.Best == nil:
		return usagef("--best: this spec keeps the last checkpoints only; train.keep = best(…) keeps the best, too")
	case w.Average && !m.Plan.Averages():
		return usagef("--average: this spec keeps no averaged weights; train.average = ema(…) does")
	}
	return nil
}

// checkpoint is the path of the checkpoint that is asked for.
func (w weightsFlags) checkpoint(dir string) (string, error) {
	if path := train.BestPath(dir); w.Best {
		if !exists(path) {
			return "", fmt.Errorf("%s has no best checkpoint yet: train it up to its first test, with train --resume --out %s", dir, dir)
		}
		return path, nil
	}
	path, err := newestCheckpoint(dir)
	if err == nil && path == "" {
		err = noCheckpoint(dir)
	}
	return path, err
}

// String names the weights in a result; "" for the last ones.
func (w weightsFlags) String() string {
	var parts []string
	if w.Best {
		parts = append(parts, "best")
	}
	if w.Average {
		parts = append(parts, "average")
	}
	return strings.Join(parts, "-")
}

// load puts a checkpoint of a run on a machine, ready to be tested.
func (f *deviceFlags) load(a app, dir string, w weightsFlags) (*eval.Test, error) {
	if err := w.check(&a.model); err != nil {
		return nil, err
	}
	machine, err := f.open(a)
	if err != nil {
		return nil, err
	}
	rec, err := openRun(dir, a.model.identity())
	if err != nil {
		return nil, err
	}
	path, err := w.checkpoint(dir)
	if err != nil {
		return nil, err
	}
	from, err := await(a, func() (*train.Checkpoint, error) { return readCheckpoint(path, dir, &rec) })
	if err == nil && !w.Best {
		if err := rec.Last(dir, path, from.State.Step, from.State.Examples); err != nil {
			return nil, err
		}
	}
	if err == nil {
		err = from.Put(machine, &a.model.Plan, a.model.Params)
	}
	if err == nil && w.Average {
		err = from.PutAverage(machine, a.model.Params)
	}
	if err != nil && w.Best {
		return nil, err
	}
	if err != nil {
		return nil, badCheckpoint(dir, err)
	}
	if err := machine.Err(); err != nil {
		return nil, err
	}
	test, err := newTest(a, machine, dir, &rec, from.State)
	if err == nil {
		test.Weights = w.String()
	}
	return test, err
}

// loadFile puts the weights of a file on a machine, ready to be tested.
func (f *deviceFlags) loadFile(a app, w weightsFlags) (*eval.Test, error) {
	if err := w.check(&a.model); err != nil {
		return nil, err
	}
	in, err := imported(a, w.Map, w.Weights)
	if err != nil {
		return nil, err
	}
	machine, err := f.open(a)
	if err != nil {
		return nil, err
	}
	if err := in.Use(machine, a.model.Params, a.model.Tables()); err != nil {
		return nil, err
	}
	m := &a.model
	return newTest(a, machine, "", &record.Record{Name: m.Name, SpecHash: m.SpecHash, Seed: m.Train.Seed}, train.State{})
}
