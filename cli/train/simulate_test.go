package train

import (
	"slices"
	"testing"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/runtime/calibrate"
	"github.com/arithlang/mlc/runtime/calibration"
)

// TestAxesOfASimulatedModel wants the axes of a sweep in its trainings.
func TestAxesOfASimulatedModel(t *testing.T) {
	sh := &shell.Shell{Context: t.Context(), Err: t.Output()}
	p, err := project.Compile(sh, project.Training{Source: project.Source{Base: "../..", Name: "specs/small/settle.arith"}, Set: []string{"sweep.train.seed=2"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := modelOf(p); err != nil || len(got.Axes) == 0 || !slices.Equal(got.Axes, p.Spec.Axes) {
		t.Errorf("%v, axes %v, want %v", err, got.Axes, p.Spec.Axes)
	}
}

// TestPipelineOf compares the stages that a simulated device trains with those of the spec.
func TestPipelineOf(t *testing.T) {
	sh := &shell.Shell{Context: t.Context(), Err: t.Output()}
	p, err := project.Compile(sh, project.Training{Source: project.Source{Base: "../..", Name: "specs/small/successor_abc.arith"}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := pipelineOf(p)
	if err != nil || len(got.Stages) != len(p.Spec.Stages) || got.Name != p.Spec.Name || got.SpecHash != p.Spec.Hash {
		t.Fatalf("%v, %+v", err, got)
	}
	calibrations, given := 0, 0
	for i, s := range p.Spec.Stages {
		stage := got.Stages[i]
		if stage.Name != s.Name || stage.From != s.From || (stage.Model == nil) != (s.Calibration != nil) || (stage.Calibration != nil) != (s.Calibration != nil) {
			t.Errorf("stage %d is %+v, want %+v", i, stage, s)
			continue
		}
		if k := s.Calibration; k != nil {
			calibrations++
			c := stage.Calibration.(calibration.Stage)
			if c.Samples != k.Samples || c.Heads != k.Heads || c.Layer != k.Layer || c.Logits != k.Logits || c.Mean != k.Mean {
				t.Errorf("%s is %+v, want %+v", s.Name, c, k)
			}
			for n, l := range []calibrate.Lines{c.Self, c.Cross} {
				if want := []int{k.Self.Queries, k.Cross.Queries}[n]; l.M != want || !l.Keep(3, 1, 0.25) || l.Keep(1, 1, 0.25) {
					t.Errorf("%s keeps %v and %v of %d queries, want %d", s.Name, l.Keep(3, 1, 0.25), l.Keep(1, 1, 0.25), l.M, want)
				}
			}
			continue
		}
		if stage.Model.Name == "" || stage.Model.Task.Kind != s.Spec.Task.Kind || len(stage.Model.Params) == 0 {
			t.Errorf("%s has the model %q of task %s with %d parameters", s.Name, stage.Model.Name, stage.Model.Task.Kind, len(stage.Model.Params))
		}
		for _, g := range stage.Given {
			if given++; g.Param == "" || g.Stage != p.Spec.Stages[i-1].Name || g.Tensor == "" {
				t.Errorf("%s is given %+v", s.Name, g)
			}
		}
	}
	if calibrations != 1 || given == 0 {
		t.Errorf("%d calibrations, %d given parameters", calibrations, given)
	}
}
