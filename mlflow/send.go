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
	"github.com/arithlang/mlc/runtime/label"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/track"
)

// File is the name of a file in a run directory. It records the run's id on the server and
// how much has been sent, so that a later process continues there.
const File = "mlflow.json"

// statuses are the server's names for the standings of a run.
var statuses = map[list.Standing]string{
	list.UnderWay: "RUNNING", list.Finished: "FINISHED", list.Interrupted: "KILLED", list.Failed: "FAILED",
}

// Send sends the server everything new about a run, or about each training stage of a
// pipeline. broken marks a training that ended with an error. Send does nothing for a
// directory without a run. It returns an error if the run is damaged or the server refuses
// or does not answer; the next call sends what is missing.
func (s Server) Send(dir string, broken bool) error { return list.EachTraining(dir, broken, s.send) }

// known is the content of mlflow.json.
type known struct {
	URI    string `json:"uri"`
	ID     string `json:"run_id"`
	Step   int    `json:"step"`      // last report that the server has
	Test   int    `json:"test_step"` // last test that the server has
	Status string `json:"status"`
}

// send sends the metrics of one directory.
func (s Server) send(dir string, rec *record.Record, how list.Standing) error {
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
	if k.Status = statuses[how]; k.Status != before.Status {
		var end time.Time
		if n := len(reports); n > 0 && how != list.UnderWay {
			end = rec.Started.Add(time.Duration(reports[n-1].Seconds * float64(time.Second)))
		}
		if err := c.update(k.ID, k.Status, end); err != nil {
			return err
		}
	}
	if *k == before {
		return nil
	}
	return k.write(dir)
}

// unsent returns the points that the server does not have yet, and marks them in k as sent.
func unsent(reports []track.Report, tests []track.Test, k *known) []list.Point {
	i, _ := slices.BinarySearchFunc(reports, k.Step+1, func(r track.Report, step int) int { return cmp.Compare(r.Step, step) })
	j, _ := slices.BinarySearchFunc(tests, k.Test+1, func(t track.Test, step int) int { return cmp.Compare(t.Step, step) })
	if n := len(reports); n > 0 {
		k.Step = max(k.Step, reports[n-1].Step)
	}
	if n := len(tests); n > 0 {
		k.Test = max(k.Test, tests[n-1].Step)
	}
	if i == 0 {
		return list.Points(reports, tests[j:])
	}
	return list.Points(reports[i-1:], tests[j:])[1:] // tests take their time from the report before
}

// open returns what the server knows of a run. It creates the run there if the server does
// not have it.
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
	called, err := label.Of(damage.At(dir))
	if err != nil {
		return nil, err
	}
	tags := map[string]string{"spec_hash": rec.SpecHash, "mlc_version": rec.Version, "device": rec.DeviceName}
	for _, t := range called.Tags {
		tags[t] = "true"
	}
	if called.Note != "" {
		tags["mlflow.note.content"] = called.Note // which MLflow shows as the run's description
	}
	id, err := c.create(experiment, cmp.Or(called.Name, filepath.ToSlash(dir)), rec.Started, tags)
	if err != nil {
		return nil, err
	}
	if err := c.params(id, list.SettingsOf(rec, string(spec))); err != nil {
		return nil, err
	}
	k = &known{URI: c.URI, ID: id, Status: statuses[list.UnderWay]}
	return k, k.write(dir)
}

func (k *known) write(dir string) error {
	text, err := json.Marshal(k)
	if err != nil {
		return fmt.Errorf("BUG: %w", err)
	}
	return ckpt.WriteFile(filepath.Join(dir, File), append(text, '\n'))
}
