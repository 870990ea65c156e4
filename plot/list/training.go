package list

import (
	"path/filepath"

	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/lock"
	"github.com/arithlang/mlc/runtime/record"
)

// A Standing is how far a training has come.
type Standing string

// The standings.
const (
	UnderWay    Standing = "under way"
	Finished    Standing = "finished"
	Interrupted Standing = "interrupted" // it can be resumed
	Failed      Standing = "failed"
)

// TrainedIn is record.Record.Trained for the run in dir. Without a record it returns dir.
func TrainedIn(dir string) (string, error) {
	r, err := record.Read(dir)
	if record.Missing(err) {
		return dir, nil
	}
	if err != nil {
		return dir, err
	}
	in, _ := r.Trained(dir)
	return in, nil
}

// EachTraining calls f for a run, or for each training of a pipeline that has begun. Broken says
// that the trainer has ended with an error. A directory without a run has no trainings.
func EachTraining(dir string, broken bool, f func(dir string, rec *record.Record, how Standing) error) error {
	rec, err := record.Read(dir)
	if record.Missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	end := Interrupted
	switch {
	case lock.Held(damage.At(dir)):
		end = UnderWay
	case broken:
		end = Failed
	}
	if len(rec.Stages) == 0 {
		if state := Of(dir).State; end != UnderWay && (state == Trained || state == Tested) {
			end = Finished
		}
		return f(dir, &rec, end)
	}
	for _, stage := range rec.Stages {
		in := filepath.Join(dir, stage.Name)
		of, err := record.Read(in)
		if !stage.Trains() || record.Missing(err) {
			continue
		}
		if err == nil {
			how := end
			if stage.State == record.StageDone {
				how = Finished
			}
			err = f(in, &of, how)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
