package project

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/runtime/record"
)

// RecordOf is the record of a run, or of a stage of one, with the name of its spec.
func RecordOf(dir string) (record.Record, error) {
	rec, err := record.Open(dir)
	if rec.Stage != "" {
		rec.Name = strings.TrimSuffix(rec.Name, "/"+rec.Stage)
	}
	if err == nil && CheckName(dir, rec.Name) != nil {
		err = fmt.Errorf("%s is damaged: its name %q is that of no spec", record.Path(dir), rec.Name)
	}
	if err == nil && rec.SpecHash == "" {
		err = fmt.Errorf("%s is damaged: it has no spec_hash", record.Path(dir))
	}
	return rec, err
}

// ProgramOfRun compiles the spec in a run.
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

// OfRun is the training that a run is of, from the spec in it.
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
		return Training{}, fmt.Errorf("%s asks for several trainings, and a run is of one: it has been changed", spec)
	}
	all[0].title = name
	return all[0], nil
}
