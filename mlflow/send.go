package mlflow

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/arithlang/mlc/plot/list"
	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/lock"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/track"
)

// File is where a run directory keeps the server's name of the run, and what it has been told
// of it, so that whoever goes on with either goes on there.
const File = "mlflow.json"

// The words of the server for how a run is.
const (
	running  = "RUNNING"
	finished = "FINISHED"
	killed   = "KILLED" // by an interrupt
	failed   = "FAILED"
)

// Send tells the server what it does not know of a run yet; of a run of stages, of each that
// trains. Broken says that its training has ended with an error. A directory in which no run
// has begun is left alone.
func (s Server) Send(dir string, broken bool) error {
	rec, err := record.Read(dir)
	if record.Missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	end := killed
	switch {
	case lock.Held(damage.At(dir)):
		end = running
	case broken:
		end = failed
	}
	if len(rec.Stages) == 0 {
		return s.send(dir, &rec, status(dir, end))
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
				how = finished
			}
			err = s.send(in, &of, how)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// status is how a run without stages is, which has come to this end if to no better one.
func status(dir, end string) string {
	if state := list.Of(dir).State; end != running && (state == list.Trained || state == list.Tested) {
		return finished
	}
	return end
}

// known is mlflow.json.
type known struct {
	URI    string `json:"uri"`
	ID     string `json:"run_id"`
	Step   int    `json:"step"`      // of the last report that the server has
	Test   int    `json:"test_step"` // of the last test
	Status string `json:"status"`
}

// send tells the server of a directory with metrics.
func (s Server) send(dir string, rec *record.Record, status string) error {
	c := newClient(s)
	k, err := c.open(dir, rec)
	if err != nil {
		return err
	}
	before := *k
	reports, err := track.All(damage.At(dir))
	if err != nil {
		return err
	}
	tests, err := track.Tests(damage.At(dir), math.MaxInt)
	if err != nil {
		return err
	}
	points := unsent(reports, tests, k)
	if len(points) > 0 {
		if err := c.metrics(k.ID, rec.Started, points); err != nil {
			return fmt.Errorf("%w; %d reports of %s were not sent", err, len(points), dir)
		}
	}
	if k.Status = status; k.Status != before.Status {
		var end time.Time
		if n := len(reports); n > 0 && status != running {
			end = rec.Started.Add(time.Duration(reports[n-1].Seconds * float64(time.Second)))
		}
		if err := c.update(k.ID, status, end); err != nil {
			return err
		}
	}
	if *k == before {
		return nil
	}
	return k.write(dir)
}

// unsent is what the server does not know yet, and notes it as known.
func unsent(reports []track.Report, tests []track.Test, k *known) []track.Point {
	i, _ := slices.BinarySearchFunc(reports, k.Step+1, func(r track.Report, step int) int { return cmp.Compare(r.Step, step) })
	j, _ := slices.BinarySearchFunc(tests, k.Test+1, func(t track.Test, step int) int { return cmp.Compare(t.Step, step) })
	if n := len(reports); n > 0 {
		k.Step = max(k.Step, reports[n-1].Step)
	}
	if n := len(tests); n > 0 {
		k.Test = max(k.Test, tests[n-1].Step)
	}
	if i == 0 {
		return track.Points(reports, tests[j:])
	}
	return track.Points(reports[i-1:], tests[j:])[1:] // the report before says when a test was
}

// open finds the run's name on the server, or gives it one.
func (c client) open(dir string, rec *record.Record) (*known, error) {
	path := filepath.Join(dir, File)
	text, err := damage.At(path).Read()
	k := new(known)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case json.Unmarshal(text, k) != nil || k.ID == "":
		return nil, fmt.Errorf("%s is damaged: remove it to begin a new run on the server", path)
	case k.URI == c.URI:
		return k, nil
	}
	spec, err := damage.At(dir).Join(record.SpecFile).Read()
	if err != nil {
		return nil, err
	}
	experiment, err := c.experiment(cmp.Or(c.Experiment, rec.Name))
	if err != nil {
		return nil, err
	}
	tags := map[string]string{"spec_hash": rec.SpecHash, "mlc_version": rec.Version, "device": rec.DeviceName}
	id, err := c.create(experiment, filepath.ToSlash(dir), rec.Started, tags)
	if err != nil {
		return nil, err
	}
	if err := c.params(id, rec.Settings(string(spec))); err != nil {
		return nil, err
	}
	k = &known{URI: c.URI, ID: id, Status: running}
	return k, k.write(dir)
}

func (k *known) write(dir string) error {
	text, err := json.Marshal(k)
	if err != nil {
		return fmt.Errorf("BUG: %w", err)
	}
	return ckpt.WriteFile(filepath.Join(dir, File), append(text, '\n'))
}
