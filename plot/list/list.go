// Package list reads a folder of runs. Of each run it returns its settings, its state and
// its last values, and it finds the settings in which runs differ. It reads files of any
// version, and describes the fault of a damaged run. Packages runtime/record, runtime/track
// and runtime/eval, which define these files, come before it; the command mlc comes after.
package list

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/label"
	"github.com/arithlang/mlc/runtime/lock"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/track"
)

// State is the progress of a run.
type State string

// The states.
const (
	Running State = "running" // a process trains or tests it
	Stopped State = "stopped" // interrupted; training can be resumed
	Trained State = "trained" // trained, not tested
	Tested  State = "tested"
	Damaged State = "damaged"
)

// A Run holds the known facts of a run directory. Unknown ones are zero or nil.
type Run struct {
	Dir        string            `json:"dir"` // below the folder
	Name       string            `json:"name,omitempty"`
	State      State             `json:"state"`
	Problem    string            `json:"problem,omitempty"` // the fault of a damaged run
	Seed       uint64            `json:"seed"`
	InitSeed   *uint64           `json:"init_seed,omitempty"` // seed of the initial weights; nil: Seed
	Started    time.Time         `json:"started,omitzero"`
	Device     string            `json:"device,omitempty"`
	Version    string            `json:"mlc_version,omitempty"`
	Budget     string            `json:"budget,omitempty"`
	Stage      string            `json:"stage,omitempty"`         // of a pipeline: the stage that Step to Seconds are from
	Step       int               `json:"step"`                    // of the last report
	Loss       *float64          `json:"loss,omitempty"`          // nats a token
	ExactMatch *float64          `json:"exact_match,omitempty"`   // measured while training, 0 to 1
	HeldOut    *float64          `json:"held_out_loss,omitempty"` // the same of a text, nats a token
	Seconds    float64           `json:"seconds,omitempty"`       // spent on training
	ID         *float64          `json:"id,omitempty"`            // means of the result, see eval.Mean
	OOD        *float64          `json:"ood,omitempty"`
	OOD100     *float64          `json:"ood100,omitempty"`
	Overall    *float64          `json:"overall,omitempty"`
	Text       eval.Text         `json:"text,omitzero"` // loss of a model of text
	Label      label.Label       `json:"label,omitzero"`
	Settings   map[string]string `json:"settings,omitempty"` // of the spec, by path

	order []string // of the settings
}

// Runs returns the runs below a folder, sorted by name. The folder may be a run itself. A
// damaged run is in the list; only an unreadable folder is an error.
func Runs(folder damage.Path) (all []*Run, err error) {
	err = fs.WalkDir(folder.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && name == ".":
			return err
		case err != nil || !d.IsDir():
			return nil // a folder that cannot be read is skipped
		case name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		}
		dir := folder.Join(filepath.FromSlash(name))
		if _, err := dir.Join(record.File).Lstat(); err != nil {
			return nil
		}
		all = append(all, read(dir, name))
		return fs.SkipDir
	})
	return all, err
}

// Of reads one run directory. If the run is damaged, its State and Problem say so.
func Of(dir string) *Run { return read(damage.At(dir), dir) }

// OfSpec returns a run that has only the settings of a resolved spec.
func OfSpec(spec string) *Run {
	r := new(Run)
	r.Settings, r.order = spread(settings(spec))
	return r
}

// read reads a run directory; name becomes the run's Dir.
func read(dir damage.Path, name string) *Run {
	r := &Run{Dir: name}
	if err := r.fill(dir); err != nil {
		r.State, r.Problem = Damaged, strings.Join(strings.Fields(err.Error()), " ")
	}
	return r
}

func (r *Run) fill(dir damage.Path) error {
	rec, err := record.Of(dir)
	if err != nil {
		return err
	}
	trained, how := rec.Trained("")
	r.Name, r.Seed, r.InitSeed, r.Started, r.Device, r.Version, r.Budget = rec.Name, rec.Seed, rec.InitSeed, rec.Started, rec.DeviceName, rec.Version, how.String()
	if r.Label, err = label.Of(dir); err != nil {
		return err
	}
	reporting := reports(dir, &rec, trained)
	r.Stage = reporting
	spec, err := dir.Join(record.SpecFile).Read()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.Settings, r.order = spread(settings(string(spec)))
	if rec.InitSeed != nil && len(rec.Stages) == 0 {
		r.set("train.init_seed", strconv.FormatUint(*rec.InitSeed, 10))
	}
	if err := r.report(dir.Join(reporting, track.File)); err != nil {
		return err
	}
	var means struct { // leaves the cells unread
		ID, OOD, OOD100, Overall *float64
		Text                     eval.Text
	}
	err = dir.Join(record.Results(trained, ""), eval.File).ReadSealed(&means)
	tested := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.ID, r.OOD, r.OOD100, r.Overall, r.Text = means.ID, means.OOD, means.OOD100, means.Overall, means.Text
	switch {
	case lock.Held(dir):
		r.State = Running
	case tested:
		r.State = Tested
	case reporting == trained && how.Budget.Steps > 0 && r.Step >= how.Budget.Steps:
		r.State = Trained
	default:
		r.State = Stopped
	}
	return nil
}

// Mean returns a mean of the result by its name, or nil if there is none.
func (r *Run) Mean(name string) *float64 {
	return (&eval.Result{ID: r.ID, OOD: r.OOD, OOD100: r.OOD100, Overall: r.Overall}).Mean(name)
}

// Called returns a label's name and tags.
func (r *Run) Called() string {
	text := r.Label.Name
	for _, t := range r.Label.Tags {
		text += " #" + t
	}
	return strings.TrimSpace(text)
}

// Bits returns the tested loss of a model of text in bits a character, or nil.
func (r *Run) Bits() *float64 {
	if r.Text == (eval.Text{}) {
		return nil
	}
	return &r.Text.Bits
}

// reports returns the stage whose last report tells the run's progress: the last stage that
// has reported. Before any report it returns trained.
func reports(dir damage.Path, rec *record.Record, trained string) string {
	for _, s := range slices.Backward(rec.Stages) {
		if _, err := dir.Join(s.Name, track.File).Lstat(); s.Trains() && err == nil {
			return s.Name
		}
	}
	return trained
}

// set adds a setting that is the run's, not its spec's. A run without a spec has no settings.
func (r *Run) set(path, value string) {
	if r.Settings == nil {
		return
	}
	if _, there := r.Settings[path]; !there {
		r.order = append(r.order, path)
	}
	r.Settings[path] = value
}

// report reads the last whole line of the reports. The file may end in a half-written line.
func (r *Run) report(path damage.Path) error {
	text, err := tail(path, 1<<14)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	end := strings.LastIndexByte(text, '\n')
	if end < 0 {
		return nil
	}
	line := text[strings.LastIndexByte(text[:end], '\n')+1 : end]
	var last track.Report
	if err := json.Unmarshal([]byte(line), &last); err != nil {
		return fmt.Errorf("%s is damaged: its last line: %w", path, err)
	}
	r.Step, r.Loss, r.ExactMatch, r.Seconds = last.Step, &last.Loss, last.ExactMatch, last.Seconds
	if r.ExactMatch == nil {
		r.HeldOut = last.HeldOutLoss
	}
	return nil
}

// tail returns the last bytes of a file, at most most of them.
func tail(path damage.Path, most int64) (string, error) {
	f, err := path.Open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-most), most))
	return string(text), err
}
