// Package board writes files for TensorBoard: an event file next to the reports of a run, and
// one next to each result. It derives them only from the files of the run, so they can be
// written during training, after it, or years later. Package plot/list, which reads runs, comes
// before it; the command mlc calls it.
package board

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/arithlang/mlc/plot/list"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/track"
)

// File is the name of an event file: TensorBoard reads files with tfevents in their name.
const File = "events.out.tfevents.mlc"

// Write brings the event files of a run up to date, or those of each training of a pipeline.
// broken marks a training that ended with an error. Write does nothing for a directory without a
// run. It returns an error if the run is damaged or cannot be written to; the next call writes
// what is missing.
func Write(dir string, broken bool) error {
	if err := list.EachTraining(dir, broken, write); err != nil {
		return fmt.Errorf("cannot write TensorBoard's events: %w", err)
	}
	return nil
}

// write writes the event files of one training and its results.
func write(dir string, rec *record.Record, how list.Standing) error {
	spec, err := damage.At(dir).Join(record.SpecFile).Read()
	if err != nil {
		return err
	}
	tests, err := track.Tests(damage.At(dir), math.MaxInt)
	if err != nil {
		return err
	}
	reports, err := track.All(damage.At(dir))
	if err != nil {
		return err
	}
	t := training{list.SettingsOf(rec, string(spec)), rec.Started, list.Points(reports, tests), how}
	if err := update(filepath.Join(dir, File), t.events()); err != nil {
		return err
	}
	return filepath.WalkDir(record.Results(dir, ""), func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || d.Name() != eval.File:
			return err
		}
		folder := filepath.Dir(path)
		r, err := eval.Load(damage.At(folder))
		if err != nil || r == nil {
			return err
		}
		text, err := resultEvents(r, stepOf(reports, r.ExamplesTrained), rec.Started)
		if err != nil {
			return err
		}
		return update(filepath.Join(folder, File), text)
	})
}

// stepOf returns the step of the last report after at most so many examples.
func stepOf(reports []track.Report, examples int64) (step int) {
	for _, r := range reports {
		if r.Examples <= examples {
			step = r.Step
		}
	}
	return step
}

// update gives a file its content. It writes only from the first byte that differs, so that
// readers of a growing file can continue.
func update(path string, text []byte) error {
	there, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	same := 0
	for same < min(len(there), len(text)) && there[same] == text[same] {
		same++
	}
	if err == nil && same == len(there) && same == len(text) {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(text[same:], int64(same)); err == nil {
		err = f.Truncate(int64(len(text)))
	}
	return errors.Join(err, f.Close())
}

// A training is the content of a training's event file: the settings of its spec as
// hyper-parameters, and a scalar for each number of a report or test. The time of a step is the
// start of the run plus the seconds of training.
type training struct {
	settings map[string]string // by their paths
	started  time.Time
	points   []list.Point
	how      list.Standing
}

// events returns the event file. The events of a training that continues are added at the end.
// An interrupted training has no end.
func (t *training) events() []byte {
	at := wall(t.started, 0)
	text := append(first(at), event{wall: at, values: []value{begins(t.settings, at)}}.record()...)
	for _, p := range t.points {
		at = wall(t.started, p.Seconds)
		e := event{wall: at, step: p.Step}
		for _, n := range p.Numbers {
			e.values = append(e.values, scalar(n.Name, n.Value))
		}
		text = append(text, e.record()...)
	}
	if t.how == list.Finished || t.how == list.Failed {
		text = append(text, event{wall: at, values: []value{ends(at, t.how == list.Finished)}}.record()...)
	}
	return text
}

// wall is a time of a run in the form of events.
func wall(started time.Time, seconds float64) float64 { return float64(started.Unix()) + seconds }
