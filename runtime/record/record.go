// Package record is run.json: what a run directory is of, and how it came to be.
//
// A pipeline's directory has a folder for each stage. A training's is an ordinary run; a
// calibration's has the captured attention, the statistics of its lines, and the lines that
// are kept. The next training has these lines as fixed parameters, behind all others in the
// arenas, without gradients or moments, saved with the weights. A training in rounds pauses,
// saved, before each round: the model answers longer problems, the kept answers are a file, and
// the task draws from these files as well as true problems. run.json says how far each stage
// is, and is written last.
package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/train"
)

// A Record is run.json.
type Record struct {
	Name       string    `json:"name"`
	SpecHash   string    `json:"spec_hash"`
	Version    string    `json:"mlc_version"`
	Device     string    `json:"device"`
	DeviceName string    `json:"device_name"`
	Seed       uint64    `json:"seed"`
	InitSeed   *uint64   `json:"init_seed,omitempty"` // of the initial weights; none: Seed
	Params     int       `json:"params"`
	Precision  string    `json:"precision,omitempty"` // of the factors of products: f32, bf16 or tf32x3
	Schedules  string    `json:"schedules,omitempty"` // of kernels on a GPU: "generic, mma, product"; a processor's instruction set: "avx512bf16"
	Gemm       string    `json:"gemm,omitempty"`      // whose products they are, on a GPU: "cuBLASLt 12.9.3"; none for mlc's kernels
	Init       string    `json:"init,omitempty"`      // the file whose weights it began with, and its SHA-256; none for random ones
	Training             // of a run without stages, and of that of a stage
	Started    time.Time `json:"started"`
	Go         string    `json:"go"`
	CPU        string    `json:"cpu"`

	Stage  string   `json:"stage,omitempty"`  // of a pipeline, which this is the run of
	Stages []*Stage `json:"stages,omitempty"` // of a run of a pipeline, in order
}

// A Training is how long a model is trained. The schedule is over the budget, so that
// the weights of a run that was given another one halfway are of both.
type Training struct {
	Budget  train.Budget   `json:"budget,omitzero"`
	Earlier []train.Budget `json:"earlier_budgets,omitempty"` // those that its first steps were for
}

// Change gives a training another budget after so many steps.
func (t *Training) Change(b train.Budget, steps int) {
	if b == t.Budget {
		return
	}
	if steps > 0 {
		t.Earlier = append(t.Earlier[:len(t.Earlier):len(t.Earlier)], t.Budget)
	}
	t.Budget = b
}

// Is reports whether all steps were for one budget.
func (t *Training) Is(b train.Budget) bool { return t.Budget == b && len(t.Earlier) == 0 }

// Budgets are all that steps were for, the last one last.
func (t *Training) Budgets() []string {
	var all []string
	for _, b := range append(t.Earlier[:len(t.Earlier):len(t.Earlier)], t.Budget) {
		if b != (train.Budget{}) {
			all = append(all, b.String())
		}
	}
	return all
}

// String is the budgets in the order in which they were given.
func (t *Training) String() string {
	return strings.Join(t.Budgets(), ", then ")
}

// StageDone is the State of a stage that is done.
const StageDone = "done"

// A Stage is what a pipeline's record says of one stage.
type Stage struct {
	Name     string  `json:"name"`
	Kind     string  `json:"kind"` // training, calibration
	State    string  `json:"state"`
	Seed     uint64  `json:"seed"`
	InitSeed *uint64 `json:"init_seed,omitempty"` // of the initial weights; none: Seed
	Training
	Last  string `json:"last,omitempty"`  // of a training that is done: the name of its last checkpoint
	Short string `json:"short,omitempty"` // of one that others begin from though its exact match is below the one wanted: both
}

// Trains reports whether a stage trains a model.
func (s *Stage) Trains() bool { return s.Kind == "training" }

// Read is Of a directory anywhere.
func Read(dir string) (Record, error) { return Of(damage.At(dir)) }

// Of reads the record of a run directory. The error is Missing where there is none, and
// damage where it is not the record that was written.
func Of(dir damage.Path) (Record, error) {
	var r Record
	path := dir.Join(File)
	if err := path.ReadSealed(&r); err != nil {
		return r, err
	}
	return r, damage.In(path.String(), r.check())
}

// What values of a record may be that become parts of a path.
var (
	hashForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
	wordForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	fileForm = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9_.-]*$`)
)

// check is damage where a value that becomes a part of a path could lead elsewhere. A record
// of another program has no hash.
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
			return damage.Errorf("its stage %d is none", i+1)
		case !wordForm.MatchString(s.Name):
			return damage.Errorf("a stage cannot be called %.80q", s.Name)
		case s.Last != "" && !fileForm.MatchString(s.Last):
			return damage.Errorf("the last checkpoint of stage %s cannot be called %.80q", s.Name, s.Last)
		}
	}
	return nil
}

// Write writes the record of a run directory.
func (r *Record) Write(dir string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return ckpt.WriteFile(Path(dir), damage.SealIndented(text))
}

// How says how the model was trained that speaks for the run: for how long, and which
// stages before it fell short of their exact match.
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

// last is the last stage that trains, nil if there is none.
func (r *Record) last() *Stage {
	for i := len(r.Stages) - 1; i >= 0; i-- {
		if r.Stages[i].Trains() {
			return r.Stages[i]
		}
	}
	return nil
}

// Trained is the directory whose metrics and results speak for the run in dir, and how
// it was trained: dir itself, or that of the last stage that trains.
func (r *Record) Trained(dir string) (string, Training) {
	if s := r.last(); s != nil {
		return filepath.Join(dir, s.Name), s.Training
	}
	return dir, r.Training
}

// Trained is Record.Trained of the record in dir, which may have none.
func Trained(dir string) (string, error) {
	r, err := Read(dir)
	if Missing(err) {
		return dir, nil
	}
	if err != nil {
		return dir, err
	}
	in, _ := r.Trained(dir)
	return in, nil
}

// Open is Read where there has to be a record: the error says what else there is.
func Open(dir string) (Record, error) {
	r, err := Read(dir)
	if Missing(err) {
		err = NoRun(dir)
	}
	return r, err
}

// Missing reports whether an error of Read is that there is no record.
func Missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// NoRun says that a directory has no record.
func NoRun(dir string) error {
	switch info, err := os.Stat(dir); {
	case Missing(err):
		return fmt.Errorf("%s is no run directory: there is no such folder", dir)
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is no run directory: it is a file", dir)
	}
	return fmt.Errorf("%s is no run directory: it has no %s", dir, File)
}
