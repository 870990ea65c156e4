package board

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/arithlang/mlc/runtime/track"
)

// File is the name of an event file: TensorBoard reads files with tfevents in their name.
const File = "events.out.tfevents.mlc"

// Training writes the event file of a training run: the settings of its spec as
// hyper-parameters, and a scalar for each number of a report. The time of a step is the start
// of the run plus the seconds of training.
type Training struct {
	dir      string
	started  time.Time
	settings map[string]string
	file     *os.File
	failed   bool // a write has failed and returned its error; nothing is written after it
}

// NewTraining returns a Training for the run in dir, with its settings by their paths.
func NewTraining(dir string, settings map[string]string, started time.Time) *Training {
	return &Training{dir: dir, started: started, settings: settings}
}

// Begin starts the file with the existing reports. An existing file usually begins with the
// same bytes, so that its readers can continue.
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

// write adds to the file. Nothing after a failed write could be read.
func (t *Training) write(text []byte) error {
	if t.failed {
		return nil
	}
	_, err := t.file.Write(text)
	t.failed = err != nil
	return cannotWrite(err)
}

// End records the end of the run after the given seconds of training: with an error, or well if
// done. An interrupted run has not ended.
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

// at is a time in the form of events.
func (t *Training) at(seconds float64) float64 { return wall(t.started, seconds) }

func wall(started time.Time, seconds float64) float64 { return float64(started.Unix()) + seconds }

// event is the event of a point.
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
