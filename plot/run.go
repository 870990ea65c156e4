package plot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/arithlang/mlc/runtime/calibrate"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/track"
)

// A Run is what is known of a run directory.
type Run struct {
	Dir          string
	Name         string
	Seed         uint64
	Trainings    []Training     // one, or those of a pipeline in order
	Result       *eval.Result   // nil: not tested yet
	Calibrations []*Calibration // of a pipeline, in order
}

// A Training is what one has reported.
type Training struct {
	Stage   string // "": it is no stage of a pipeline
	Reports []track.Report
}

// record is what run.json says, and calibration.json says alike.
type record struct {
	Name   string
	Seed   uint64
	Stages []struct{ Name, Kind string }
}

// Load reads a run directory, with the result in a folder below eval; "" is what
// the spec asks for. The directory of a stage is one, too.
func Load(dir, folder string) (*Run, error) {
	rec, err := readRecord(dir)
	if err != nil {
		return nil, err
	}
	r := &Run{Dir: dir, Name: rec.Name, Seed: rec.Seed}
	if len(rec.Stages) == 0 {
		if err := r.add("", dir); err != nil {
			return nil, err
		}
	}
	for _, s := range rec.Stages {
		if !filepath.IsLocal(s.Name) {
			return nil, fmt.Errorf("%s: a stage cannot be called %q", filepath.Join(dir, "run.json"), s.Name)
		}
		if err := r.add(s.Name, filepath.Join(dir, s.Name)); err != nil {
			return nil, err
		}
	}
	r.Result, err = eval.Load(filepath.Join(track.Trained(dir), "eval", folder))
	return r, err
}

// readRecord reads run.json; a calibration has calibration.json instead.
func readRecord(dir string) (rec record, err error) {
	for _, file := range []string{"run.json", calibrate.RecordFile} {
		path := filepath.Join(dir, file)
		text, failed := os.ReadFile(path)
		if failed == nil {
			if failed = json.Unmarshal(text, &rec); failed != nil {
				failed = fmt.Errorf("%s: %w", path, failed)
			}
			return rec, failed
		}
		if err == nil {
			err = fmt.Errorf("%s is no run directory: %w", dir, failed)
		}
		if !errors.Is(failed, fs.ErrNotExist) {
			return rec, failed
		}
	}
	return rec, err
}

// add reads what a stage has left so far.
func (r *Run) add(stage, dir string) error {
	c, err := loadCalibration(dir)
	if err != nil {
		return err
	}
	if c != nil {
		r.Calibrations = append(r.Calibrations, c)
		return nil
	}
	reports, err := track.All(dir)
	if err == nil && len(reports) > 0 {
		r.Trainings = append(r.Trainings, Training{stage, reports})
	}
	return err
}

// label tells a run from the others.
func (r *Run) label() string { return fmt.Sprintf("%s, seed %d", r.Name, r.Seed) }
