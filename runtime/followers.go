package runtime

import (
	"maps"
	"path/filepath"
	"strconv"

	"github.com/arithlang/mlc/runtime/board"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/mlflow"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
)

// followers are told of a training: TensorBoard's file in its directory and, if the
// environment names one, a server of MLflow.
func (c *trainCmd) followers(a app, dir string, rec *record.Record) ([]train.Follower, error) {
	settings := map[string]string{}
	values, _ := record.Settings(a.model.Spec)
	maps.Copy(settings, values)
	settings["train.seed"] = strconv.FormatUint(rec.Seed, 10) // the run's, whatever the spec says
	if rec.InitSeed != nil {
		settings["train.init_seed"] = strconv.FormatUint(*rec.InitSeed, 10)
	}
	all := []train.Follower{board.NewTraining(dir, settings, rec.Started)}
	server, err := mlflow.FromEnvironment(rec.Name)
	if err != nil {
		return nil, usageError{err}
	}
	if server == nil {
		return all, nil
	}
	return append(all, &mlflow.Run{Server: *server, Dir: dir, Name: filepath.ToSlash(dir), Params: settings, Started: rec.Started,
		Tags: map[string]string{"spec_hash": rec.SpecHash, "mlc_version": rec.Version, "device": rec.DeviceName},
		Say:  func(format string, args ...any) { c.say(a, format, args...) }}), nil
}

// writeBoard writes a result of the run in dir where TensorBoard finds it.
func writeBoard(dir, folder string, result *eval.Result) error {
	rec, err := record.Read(dir)
	if err != nil {
		return err
	}
	last, err := track.Last(dir)
	if err != nil {
		return err
	}
	steps := 0
	if last != nil {
		steps = last.Step
	}
	return board.WriteResult(record.Results(dir, folder), result, steps, rec.Started)
}
