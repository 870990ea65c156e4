package board

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/arithlang/mlc/runtime/track"
)

// File is the name of an event file: TensorBoard reads what has tfevents in its name.
const File = "events.out.tfevents.mlc"

// Training writes the event file of a run that trains: the settings of its spec as
// hyper-parameters, and a scalar for each number of a report. A step's time is when the
// run began, plus the seconds that it has trained.
type Training struct {
	dir      string
	started  time.Time
	settings map[string]string
	file     *os.File
	failed   bool // a write has failed, and its error is returned: nothing is written after it
}

// NewTraining is for the run in dir, with its settings by their paths.
func NewTraining(dir string, settings map[string]string, started time.Time) *Training {
	return &Training{dir: dir, started: started, settings: settings}
}

// Begin starts the file with the reports that there are. A file that is there already
// begins with the same bytes, as a rule, so that one who reads it goes on.
func (t *Training) Begin(kept []track.Point) (err error) {
	if t.file, err = os.OpenFile(filepath.Join(t.dir, File), os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return cannotWrite(err)
	}
	text := append(first(t.at(0)), event{wall: t.at(0), values: []value{begins(t.settings, t.at(0))}}.record()...)
	for _, p := range kept {
		text = append(text, t.event(p).record()...)
	}
	if err = t.write(text); err != nil {
		return err
	}
	return cannotWrite(t.file.Truncate(int64(len(text))))
}

// Report adds a report or a test.
func (t *Training) Report(p track.Point) error {
	return t.write(t.event(p).record())
}

// write adds to the file. What follows a write that has failed could not be read.
func (t *Training) write(text []byte) error {
	if t.failed {
		return nil
	}
	_, err := t.file.Write(text)
	t.failed = err != nil
	return cannotWrite(err)
}

// End says how the run has ended after so many seconds of training: with an error, if
// there is one, or as it should. What is interrupted has not ended.
func (t *Training) End(seconds float64, done bool, failed error) error {
	if t.file == nil {
		return nil
	}
	var err error
	if done || failed != nil {
		err = t.write(event{wall: t.at(seconds), values: []value{ends(t.at(seconds), failed == nil)}}.record())
	}
	if e := t.file.Close(); e != nil && !t.failed {
		err = cannotWrite(e)
	}
	return err
}

// at is a time as events have it.
func (t *Training) at(seconds float64) float64 { return wall(t.started, seconds) }

func wall(started time.Time, seconds float64) float64 { return float64(started.Unix()) + seconds }

// event is a point's.
func (t *Training) event(p track.Point) event {
	e := event{wall: t.at(p.Seconds), step: p.Step}
	for _, n := range p.Numbers {
		e.values = append(e.values, scalar(n.Name, n.Value))
	}
	return e
}

func cannotWrite(err error) error {
	if err != nil {
		err = fmt.Errorf("cannot write TensorBoard's events: %w", err)
	}
	return err
}
