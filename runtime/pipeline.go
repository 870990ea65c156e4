package runtime

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/record"
)

// A Pipeline is a compiled spec with stages, which are done in order.
type Pipeline struct {
	Name     string   // of the spec
	Spec     string   // the resolved spec text
	SpecHash string   // hex SHA-256 of Spec and of what it reads of files
	Version  string   // of the compiler
	Axes     []string // attributes that axes of a sweep set, of which this is one training
	Stages   []Stage
}

// A Stage trains a model, or makes biases of the attention of a trained one.
type Stage struct {
	Name        string
	From        string      // the stage whose weights it starts with, or whose attention it reads; "": new weights
	Model       *Model      // nil in a calibration
	Calibration Calibration // nil in a training
	Given       []Given     // of a training
}

// A Calibration makes biases of the attention of a trained model.
type Calibration interface {
	// Reads says what is read, for people.
	Reads() string
	// Calibrate leaves biases, and returns what was kept, for people.
	Calibrate(ctx context.Context, m eval.Model, at record.Calibrated) (kept string, err error)
	// File is the one that has the biases.
	File() string
}

// Given says which result of a calibration a fixed parameter is.
type Given struct {
	Param  string // of the model
	Stage  string // the calibration, which comes before
	Tensor string // of its File: calibrate.Tensor(site, direction)
}

// MainStages is Main of a spec with stages.
func MainStages(p Pipeline) { os.Exit(RunStages(p, nil, os.Args)) }

// RunStages is Run of a spec with stages.
func RunStages(p Pipeline, devices []Device, args []string) int {
	return run(p.app(app{brought: devices, in: os.Stdin, out: os.Stdout, err: os.Stderr}), args)
}

// app is what speaks of the last stage that trains.
func (p *Pipeline) app(world app) app {
	world.whole = p
	return world.of(p.last())
}

func (a app) of(s *Stage) app {
	a.model = *s.Model
	return a
}

// identity is what the program is of.
func (a app) identity() identity {
	if p := a.whole; p != nil {
		id := identity{p.Name, p.Spec, p.SpecHash, p.Version, nil}
		for _, s := range p.Stages {
			if s.Model != nil {
				id.models = append(id.models, s.Model)
			}
		}
		return id
	}
	return a.model.identity()
}

// axes are the attributes that the program's name says.
func (a app) axes() []string {
	if p := a.whole; p != nil {
		return p.Axes
	}
	return a.model.Axes
}

// last is the last stage that trains.
func (p *Pipeline) last() *Stage {
	for i := len(p.Stages) - 1; i >= 0; i-- {
		if p.Stages[i].Model != nil {
			return &p.Stages[i]
		}
	}
	panic("BUG: no stage of " + p.Name + " trains")
}

// stage is the stage of a name, nil if there is none.
func (p *Pipeline) stage(name string) *Stage {
	i := slices.IndexFunc(p.Stages, func(s Stage) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Stages[i]
}

// training is the stage of a name that trains.
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

// reader is the stage that begins from one, "" if there is none.
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

// at is what speaks of a run, and where it is: of the last stage that trains where
// the run is of a pipeline, else of the stage whose run it is.
func (a app) at(dir string) (app, string, error) {
	if a.whole == nil {
		return a, dir, nil
	}
	rec, err := openRun(dir, a.identity())
	if err != nil {
		return a, dir, err
	}
	if rec.Stage != "" {
		s, err := a.whole.training(rec.Stage)
		if err != nil {
			return a, dir, fmt.Errorf("%s: %w", dir, err)
		}
		return a.of(s), dir, nil
	}
	s := a.whole.last()
	inside := filepath.Join(dir, s.Name)
	newest, err := newestCheckpoint(inside)
	if newest != "" || err != nil {
		return a.of(s), inside, err
	}
	for _, state := range rec.Stages {
		trained := filepath.Join(dir, state.Name)
		newest, err := newestCheckpoint(trained)
		switch {
		case err != nil:
			return a, dir, err
		case newest != "":
			return a, dir, fmt.Errorf("the run in %s has no checkpoint of %s yet: go on with train --resume --out %s, or name the stage that has, %s",
				dir, s.Name, flag.Word(dir), trained)
		}
	}
	return a, dir, noCheckpoint(dir)
}
