package plot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

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
				failed = fmt.Errorf("%s is damaged: %w", path, failed)
			}
			return rec, failed
		}
		if !errors.Is(failed, fs.ErrNotExist) {
			return rec, failed
		}
	}
	return rec, noRun(dir)
}

// noRun says what is wrong with a path that is to be a run directory's.
func noRun(dir string) error {
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("%s is no run directory: there is no such folder; %s", dir, passRun)
	}
	for _, below := range []string{"*", "*/*"} {
		if found, _ := filepath.Glob(filepath.Join(dir, below, "run.json")); len(found) > 0 {
			return fmt.Errorf("%s is no run directory, but has some in it: pass %s", dir, filepath.Join(dir, below))
		}
	}
	return fmt.Errorf("%s is no run directory: it has no run.json; %s", dir, passRun)
}

// passRun says what a run directory is.
const passRun = "pass the folder that training has named, such as runs/NAME/<time>-<hash>"

// Evaluations lists the folders below eval that have a result, all but the one that
// the spec asks for.
func Evaluations(dir string) []string {
	var out []string
	root := filepath.Join(track.Trained(dir), "eval")
	filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if rel, bad := filepath.Rel(root, filepath.Dir(path)); err == nil && bad == nil && filepath.Base(path) == "result.json" && rel != "." {
			out = append(out, filepath.ToSlash(rel))
		}
		return nil
	})
	return out
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
func (r *Run) label() string { return fmt.Sprintf("%s, seed %d", r.system(), r.Seed) }

// system is what a run is one of, from its seed: its name, without the seed that those
// of a sweep have in it.
func (r *Run) system() string {
	seed := fmt.Sprintf("-seed-%d-", r.Seed)
	return strings.TrimSuffix(strings.Replace(r.Name+"-", seed, "-", 1), "-")
}

// titles are what the systems of some runs are called side by side: without the words
// that all of them begin with, such as the name of a sweep.
func titles(runs []*Run) map[string]string {
	var common []string
	for i, name := range names(runs) {
		words := strings.SplitAfter(name, "-")
		if i == 0 {
			common = words[:len(words)-1]
		}
		n := 0
		for n < len(common) && n < len(words)-1 && common[n] == words[n] {
			n++
		}
		common = common[:n]
	}
	out := map[string]string{}
	for _, name := range names(runs) {
		out[name] = strings.TrimPrefix(name, strings.Join(common, ""))
	}
	if len(out) == 1 {
		for name := range out {
			out[name] = name
		}
	}
	return out
}
