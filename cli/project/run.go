package project

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/runtime/record"
)

// RecordOf returns the record of a run, or of one of its stages, with the name of its spec.
// It returns an error if the record is damaged.
func RecordOf(dir string) (record.Record, error) {
	rec, err := record.Open(dir)
	if rec.Stage != "" {
		rec.Name = strings.TrimSuffix(rec.Name, "/"+rec.Stage)
	}
	if err == nil && CheckName(dir, rec.Name) != nil {
		err = fmt.Errorf("%s is damaged: no spec can have its name %q", record.Path(dir), rec.Name)
	}
	if err == nil && rec.SpecHash == "" {
		err = fmt.Errorf("%s is damaged: it has no spec_hash", record.Path(dir))
	}
	return rec, err
}

// ProgramOfRun compiles the spec of a run.
func ProgramOfRun(sh *shell.Shell, dir string) (*compiler.Program, error) {
	rec, err := RecordOf(dir)
	if err != nil {
		return nil, err
	}
	t, err := OfRun(sh, dir, rec.Name)
	if err != nil {
		return nil, err
	}
	return Compile(sh, t)
}

// OfRun returns the training of a run, from the run's spec.
func OfRun(sh *shell.Shell, dir, name string) (Training, error) {
	spec := filepath.Join(dir, record.SpecFile)
	s, err := FindSource(spec, dir)
	if err != nil {
		return Training{}, err
	}
	s.run = dir
	all, err := trainingsOf(sh, s, nil, nil)
	if err != nil {
		return Training{}, err
	}
	if len(all) != 1 {
		return Training{}, fmt.Errorf("%s describes several trainings, but a run has one: it has been changed", spec)
	}
	all[0].title = name
	return all[0], nil
}
