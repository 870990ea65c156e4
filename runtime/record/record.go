// Package record reads and writes run.json, the record of a run directory. It has the spec,
// seeds, device and budget of the run, and the state of its stages. A pipeline's directory has
// a folder for each stage. The folder of a training stage is an ordinary run directory. The
// folder of a calibration has the captured attention, the statistics of its lines, and the
// selected lines. The next training has these lines as fixed parameters. They come after all
// others in the arenas, have no gradients or moments, and are saved with the weights. Training
// in rounds saves and pauses before each round. The model answers longer problems, and a file
// keeps the accepted answers. The task draws from these files as well as from true problems.
// run.json is written last, with the state of each stage.
package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/train"
)

// A Record is the content of run.json.
type Record struct {
	Name       string    `json:"name"`
	SpecHash   string    `json:"spec_hash"`
	Version    string    `json:"mlc_version"`
	Device     string    `json:"device"`
	DeviceName string    `json:"device_name"`
	Seed       uint64    `json:"seed"`
	InitSeed   *uint64   `json:"init_seed,omitempty"` // seeds the initial weights; nil: Seed does
	Params     int       `json:"params"`
	Precision  string    `json:"precision,omitempty"` // precision of the factors of products: f32, bf16 or tf32x3
	Schedules  string    `json:"schedules,omitempty"` // kernel schedules on a GPU: "generic, mma, product"; on a processor its instruction set: "avx512bf16"
	Gemm       string    `json:"gemm,omitempty"`      // library of matrix products on a GPU: "cuBLASLt 12.9.3"; empty for mlc's kernels
	Init       string    `json:"init,omitempty"`      // file of the initial weights and its SHA-256; empty for random weights
	Training             // for a run without stages, or for the run of one stage
	Started    time.Time `json:"started"`
	Go         string    `json:"go"`
	CPU        string    `json:"cpu"`

	Stage  string   `json:"stage,omitempty"`  // name of the pipeline stage that this run is
	Stages []*Stage `json:"stages,omitempty"` // stages of a pipeline, in order
}

// A Training is the budget of a training. The schedule spans the budget: a run whose budget
// changed halfway has weights from both schedules.
type Training struct {
	Budget  train.Budget   `json:"budget,omitzero"`
	Earlier []train.Budget `json:"earlier_budgets,omitempty"` // budgets that the first steps were trained under
}

// Change sets the budget of a training that has done so many steps.
func (t *Training) Change(b train.Budget, steps int) {
	if b == t.Budget {
		return
	}
	if steps > 0 {
		t.Earlier = append(t.Earlier[:len(t.Earlier):len(t.Earlier)], t.Budget)
	}
	t.Budget = b
}

// Is reports whether all steps were trained under budget b.
func (t *Training) Is(b train.Budget) bool { return t.Budget == b && len(t.Earlier) == 0 }

// Budgets returns all budgets that steps were trained under, the latest last.
func (t *Training) Budgets() []string {
	var all []string
	for _, b := range append(t.Earlier[:len(t.Earlier):len(t.Earlier)], t.Budget) {
		if b != (train.Budget{}) {
			all = append(all, b.String())
		}
	}
	return all
}

// String lists the budgets in the order of setting.
func (t *Training) String() string {
	return strings.Join(t.Budgets(), ", then ")
}

// StageDone is the State of a finished stage.
const StageDone = "done"

// A Stage is the state of one stage in a pipeline's record.
type Stage struct {
	Name     string  `json:"name"`
	Kind     string  `json:"kind"` // training, calibration
	State    string  `json:"state"`
	Seed     uint64  `json:"seed"`
	InitSeed *uint64 `json:"init_seed,omitempty"` // seeds the initial weights; nil: Seed does
	Training
	Last  string `json:"last,omitempty"`  // name of the last checkpoint of a finished training
	Short string `json:"short,omitempty"` // exact match reached and wanted, if the first is lower and a later stage began nevertheless
}

// Trains reports whether a stage trains a model.
func (s *Stage) Trains() bool { return s.Kind == "training" }

// Read is Of for any directory.
func Read(dir string) (Record, error) { return Of(damage.At(dir)) }

// Of reads a run directory's record. Missing holds for the error if there is no record,
// damage.Is if the file is not as it was written.
func Of(dir damage.Path) (Record, error) {
	var r Record
	path := dir.Join(File)
	if err := path.ReadSealed(&r); err != nil {
		return r, err
	}
	return r, damage.In(path.String(), r.check())
}

// The forms of record values that become parts of a path.
var (
	hashForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
	wordForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	fileForm = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9_.-]*$`)
)

// check returns damage if a value that becomes part of a path could lead elsewhere. Records
// written by other programs have no hash.
func (r *Record) check() error {
	if r.SpecHash != "" && !hashForm.MatchString(r.SpecHash) {
		return damage.Errorf("spec_hash cannot be %.80q: it is the 64 hex digits of a SHA-256", r.SpecHash)
	}
	if r.Stage != "" && !wordForm.MatchString(r.Stage) {
		return damage.Errorf("a stage cannot be called %.80q", r.Stage)
	}
	for i, s := range r.Stages {
		switch {
		case s == nil:
			return damage.Errorf("its stage %d is null", i+1)
		case !wordForm.MatchString(s.Name):
			return damage.Errorf("a stage cannot be called %.80q", s.Name)
		case s.Last != "" && !fileForm.MatchString(s.Last):
			return damage.Errorf("the last checkpoint of stage %s cannot be called %.80q", s.Name, s.Last)
		}
	}
	return nil
}

// Write writes the record into a run directory.
func (r *Record) Write(dir string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return ckpt.WriteFile(Path(dir), damage.SealIndented(text))
}

// How describes the training of the model that represents the run: its budgets, and the earlier
// stages that missed their exact match.
func (r *Record) How() string {
	_, t := r.Trained("")
	all := t.String()
	for _, s := range r.Stages {
		if s.Short != "" {
			all = strings.TrimPrefix(all+", "+s.Name+" with "+s.Short, ", ")
		}
	}
	return all
}

// Trained returns the directory with the metrics and results that represent the run in dir, and
// its training. It is the directory of the last stage that trains, or dir itself.
func (r *Record) Trained(dir string) (string, Training) {
	for _, s := range slices.Backward(r.Stages) {
		if s.Trains() {
			return filepath.Join(dir, s.Name), s.Training
		}
	}
	return dir, r.Training
}

// Open is Read for a directory that must have a record. Without a record the error describes
// the path.
func Open(dir string) (Record, error) {
	r, err := Read(dir)
	if Missing(err) {
		err = NoRun(dir)
	}
	return r, err
}

// Missing reports whether an error of Read means that no record exists.
func Missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// NoRun returns the error for a directory without a record.
func NoRun(dir string) error {
	what := "it has no " + File
	switch info, err := os.Stat(dir); {
	case Missing(err):
		what = "there is no such folder"
	case err == nil && !info.IsDir():
		what = "it is a file"
	}
	for _, below := range []string{"*/*", "*"} {
		if found, _ := filepath.Glob(Path(filepath.Join(dir, below))); len(found) > 0 {
			what = "it has no " + File + ", but there is " + found[len(found)-1]
		}
	}
	return fmt.Errorf("%s is no run directory: %s", dir, what)
}
