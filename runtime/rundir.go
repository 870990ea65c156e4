package runtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/train"
)

// An identity is what a run is of.
type identity struct{ name, spec, hash, version string }

func (m *Model) identity() identity { return identity{m.Name, m.Spec, m.SpecHash, m.Version} }

// A record is run.json: what a run directory is of.
type record struct {
	Name       string       `json:"name"`
	SpecHash   string       `json:"spec_hash"`
	Version    string       `json:"mlc_version"`
	Device     string       `json:"device"`
	DeviceName string       `json:"device_name"`
	Seed       uint64       `json:"seed"`
	Params     int          `json:"params"`
	Budget     train.Budget `json:"budget,omitzero"`
	Started    time.Time    `json:"started"`
	Go         string       `json:"go"`
	CPU        string       `json:"cpu"`

	Stage  string         `json:"stage,omitempty"`  // of a pipeline, which this is the run of
	Stages []*stageRecord `json:"stages,omitempty"` // of a run of a pipeline, in order
}

const (
	recordFile = "run.json"
	specFile   = "spec.arith"
)

// createRun makes a run directory: dir, or one named after spec and time if dir is
// empty. It refuses one that has something in it.
func createRun(dir string, id identity, r record) (string, error) {
	if dir == "" {
		dir = filepath.Join("runs", id.name, r.Started.Format("20060102-150405")+"-"+id.hash[:min(8, len(id.hash))])
	}
	if found, err := os.ReadDir(dir); err == nil && len(found) > 0 {
		if _, err := os.Stat(filepath.Join(dir, recordFile)); err == nil {
			return "", fmt.Errorf("%s has a run in it already: go on with it by --resume --out %s, or choose another --out", dir, dir)
		}
		return "", fmt.Errorf("%s is not empty: choose another --out", dir)
	}
	return dir, fillRun(dir, id, r)
}

// fillRun writes what a run directory begins with. Doing it again changes nothing
// but the record.
func fillRun(dir string, id identity, r record) error {
	if err := makeDir(dir); err != nil {
		return err
	}
	if err := ckpt.WriteFile(filepath.Join(dir, specFile), []byte(id.spec)); err != nil {
		return fmt.Errorf("cannot write to the run directory: %w: choose another place with --out", err)
	}
	return writeRecord(dir, r)
}

func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot make the run directory: %w: choose a place that can be written with --out", err)
	}
	return nil
}

func writeRecord(dir string, r record) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := ckpt.WriteFile(filepath.Join(dir, recordFile), append(text, '\n')); err != nil {
		return fmt.Errorf("cannot write to the run directory: %w: choose another place with --out", err)
	}
	return nil
}

// newestRun is the run directory of this spec's name that was made last.
func newestRun(name string) (string, error) {
	dirs, err := os.ReadDir(filepath.Join("runs", name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for i := len(dirs) - 1; i >= 0; i-- {
		dir := filepath.Join("runs", name, dirs[i].Name())
		if _, err := os.Stat(filepath.Join(dir, recordFile)); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("there is no run in %s: train without --resume, or say where it is with --out", filepath.Join("runs", name))
}

// readRecord reads run.json.
func readRecord(dir string) (record, error) {
	var r record
	text, err := os.ReadFile(filepath.Join(dir, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("%s is no run directory: it has no %s", dir, recordFile)
	}
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%s is damaged: %w", filepath.Join(dir, recordFile), err)
	}
	return r, nil
}

// openRun reads run.json and makes sure that the run is of this very spec.
func openRun(dir string, id identity) (record, error) {
	r, err := readRecord(dir)
	if err != nil || r.SpecHash == id.hash {
		return r, err
	}
	spec, err := os.ReadFile(filepath.Join(dir, specFile))
	if err != nil {
		return r, fmt.Errorf("%s is a run of another spec: %w", dir, err)
	}
	return r, fmt.Errorf("%s is a run of another spec (%s, %.8s; this program is %s, %.8s). Lines of the run (-) and of this program (+):\n%s"+
		"build the program from %s to go on with that run, or train this one in a directory of its own",
		dir, r.Name, r.SpecHash, id.name, id.hash, lineDiff(string(spec), id.spec), filepath.Join(dir, specFile))
}

// newestCheckpoint returns the path of a run's last checkpoint, "" if it has none.
func newestCheckpoint(dir string) string {
	all := train.Checkpoints(dir)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// badCheckpoint says what to do about a checkpoint that cannot be read.
func badCheckpoint(dir string, err error) error {
	if all := train.Checkpoints(dir); len(all) > 1 {
		return fmt.Errorf("%w\nremove it to go on from %s", err, all[len(all)-2])
	}
	return fmt.Errorf("%w\nthere is no older checkpoint: remove it to start again from the first step", err)
}
