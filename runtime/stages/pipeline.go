package stages

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/rundir"
)

// A Pipeline is a compiled spec with stages, which run in order.
type Pipeline struct {
	Name     string   // of the spec
	Spec     string   // the resolved spec text
	SpecHash string   // hex SHA-256 of Spec and of the content it reads from files
	Version  string   // of the compiler
	Axes     []string // attributes that the axes of a sweep set, if this is one of its trainings
	Stages   []Stage
}

// A Stage trains a model, or calibrates biases from the attention of a trained one.
type Stage struct {
	Name        string
	From        string         // the stage that provides the initial weights, or the attention to read; "": new weights
	Model       *program.Model // nil for a calibration
	Calibration Calibration    // nil for a training
	Given       []Given        // fixed parameters of a training
}

// A Calibration computes biases from the attention of a trained model.
type Calibration interface {
	// Reads describes the input for people.
	Reads() string
	// Calibrate writes biases, and describes the selected lines for people.
	Calibrate(ctx context.Context, m eval.Model, at record.Calibrated) (kept string, err error)
	// File is the name of the file with the biases.
	File() string
}

// Given says which result of a calibration a fixed parameter is.
type Given struct {
	Param  string // of the model
	Stage  string // the calibration, an earlier stage
	Tensor string // in its File: calibrate.Tensor(site, direction)
}

// Identity, Swept, Names, Model, Last and At implement world.Whole.
func (p *Pipeline) Identity() rundir.Identity {
	id := rundir.Identity{Name: p.Name, Spec: p.Spec, Hash: p.SpecHash, Version: p.Version}
	for _, s := range p.Stages {
		if s.Model != nil {
			id.Models = append(id.Models, s.Model)
		}
	}
	return id
}

func (p *Pipeline) Swept() []string { return p.Axes }

func (p *Pipeline) Names() (all []string) {
	for _, s := range p.Stages {
		all = append(all, s.Name)
	}
	return all
}

func (p *Pipeline) Model(n int) *program.Model { return p.Stages[n].Model }

func (p *Pipeline) Last() int {
	for i := len(p.Stages) - 1; i >= 0; i-- {
		if p.Stages[i].Model != nil {
			return i
		}
	}
	panic("BUG: no stage of " + p.Name + " trains")
}

func (p *Pipeline) At(dir string) (*program.Model, string, error) {
	rec, err := rundir.Open(dir, p.Identity())
	if err != nil {
		return nil, dir, err
	}
	if rec.Stage != "" {
		s, err := p.training(rec.Stage)
		if err != nil {
			return nil, dir, fmt.Errorf("%s: %w", dir, err)
		}
		return s.Model, dir, nil
	}
	s := p.last()
	inside := filepath.Join(dir, s.Name)
	newest, err := rundir.NewestCheckpoint(inside)
	if newest != "" || err != nil {
		return s.Model, inside, err
	}
	for _, state := range rec.Stages {
		trained := filepath.Join(dir, state.Name)
		newest, err := rundir.NewestCheckpoint(trained)
		switch {
		case err != nil:
			return nil, dir, err
		case newest != "":
			return nil, dir, fmt.Errorf("the run in %s has no checkpoint of %s yet: continue with train --resume --out %s, or name a stage that has one, %s",
				dir, s.Name, flag.Word(dir), trained)
		}
	}
	return nil, dir, rundir.NoCheckpoint(dir)
}

func (p *Pipeline) last() *Stage { return &p.Stages[p.Last()] }

// stage returns the stage of a name, or nil.
func (p *Pipeline) stage(name string) *Stage {
	i := slices.IndexFunc(p.Stages, func(s Stage) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Stages[i]
}

// training returns the training stage of a name.
func (p *Pipeline) training(name string) (*Stage, error) {
	if s := p.stage(name); s != nil && s.Model != nil {
		return s, nil
	}
	var names []string
	for _, s := range p.Stages {
		if s.Model != nil {
			names = append(names, s.Name)
		}
	}
	return nil, fmt.Errorf("no stage %q trains a model: there are %s", name, strings.Join(names, ", "))
}

// reader returns the stage that begins from the named one, or "".
func (p *Pipeline) reader(name string) string {
	for _, s := range p.Stages {
		if s.From == name {
			return s.Name
		}
	}
	return ""
}

// uses reports whether a training is given a site's result of a calibration.
func (p *Pipeline) uses(calibration, site string) bool {
	for _, s := range p.Stages {
		for _, g := range s.Given {
			if at, _, _ := strings.Cut(g.Tensor, "."); g.Stage == calibration && at == site {
				return true
			}
		}
	}
	return false
}
