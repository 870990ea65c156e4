package program

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/runtime/eval"
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

// Last is the last stage that trains.
func (p *Pipeline) Last() *Stage {
	for i := len(p.Stages) - 1; i >= 0; i-- {
		if p.Stages[i].Model != nil {
			return &p.Stages[i]
		}
	}
	panic("BUG: no stage of " + p.Name + " trains")
}

// Stage is the stage of a name, nil if there is none.
func (p *Pipeline) Stage(name string) *Stage {
	i := slices.IndexFunc(p.Stages, func(s Stage) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Stages[i]
}

// Training is the stage of a name that trains.
func (p *Pipeline) Training(name string) (*Stage, error) {
	if s := p.Stage(name); s != nil && s.Model != nil {
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

// Reader is the stage that begins from one, "" if there is none.
func (p *Pipeline) Reader(name string) string {
	for _, s := range p.Stages {
		if s.From == name {
			return s.Name
		}
	}
	return ""
}

// Uses reports whether a training is given a site's result of a calibration.
func (p *Pipeline) Uses(calibration, site string) bool {
	for _, s := range p.Stages {
		for _, g := range s.Given {
			if at, _, _ := strings.Cut(g.Tensor, "."); g.Stage == calibration && at == site {
				return true
			}
		}
	}
	return false
}
