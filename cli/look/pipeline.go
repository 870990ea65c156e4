package look

import (
	"fmt"
	"io"
	"strings"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/dsl/diag"
)

// Only returns the program of one stage. An empty name returns p.
func Only(p *compiler.Program, name string) (*compiler.Program, error) {
	if name == "" {
		return p, nil
	}
	if len(p.Stages) == 0 {
		return nil, shell.Usagef("--only: %s has no stages, so there is nothing to choose", p.Source)
	}
	var names []string
	for _, t := range p.Stages {
		if t.Stage == name {
			return t, nil
		}
		names = append(names, t.Stage)
	}
	return nil, shell.Usagef("--only: no stage %q trains: %s", name, diag.DidYouMean(name, names, "training stages are"))
}

// One returns a shell.UsageError if a program has stages. what is the flag that needs a
// single training.
func One(p *compiler.Program, what string) error {
	if len(p.Stages) == 0 {
		return nil
	}
	return shell.Usagef("%s shows one training, and the spec has stages: choose one, for example with --only %s", what, p.Stages[0].Stage)
}

// A pipelineSummary is the summary of a spec with stages.
type pipelineSummary struct {
	Name   string         `json:"name"`
	Source string         `json:"source"`
	Hash   string         `json:"spec_hash"`
	Stages []stageSummary `json:"stages"`
}

// A stageSummary summarizes a training or a calibration.
type stageSummary struct {
	Name        string              `json:"name"`
	From        string              `json:"from,omitempty"`
	Training    *summary            `json:"training,omitempty"`
	Rounds      *roundsSummary      `json:"rounds,omitempty"`
	Calibration *calibrationSummary `json:"calibration,omitempty"`
}

// A roundsSummary describes training rounds on the model's own answers.
type roundsSummary struct {
	Rounds  int `json:"rounds"`
	From    int `json:"from"` // digits of the longest problems with true answers
	Until   int `json:"until"`
	Samples int `json:"samples"`
}

// A calibrationSummary describes what a calibration reads and keeps.
type calibrationSummary struct {
	Of      string       `json:"of"`
	Layer   int          `json:"layer"`
	Samples int          `json:"samples"`
	Self    linesSummary `json:"self"`
	Cross   linesSummary `json:"cross"`
}

type linesSummary struct {
	Directions [][2]int `json:"directions"`
	Rows       int      `json:"rows"`
	Extended   [2]int   `json:"extended"` // rows and columns
	Keep       string   `json:"keep"`
}

func newPipelineSummary(p *compiler.Program) (*pipelineSummary, error) {
	out := &pipelineSummary{Name: p.Spec.Name, Source: p.Source, Hash: p.Spec.Hash}
	trainings := p.Stages
	for _, s := range p.Spec.Stages {
		sum := stageSummary{Name: s.Name, From: s.From}
		if k := s.Calibration; k != nil {
			sum.Calibration = &calibrationSummary{Of: "weights", Layer: k.Layer, Samples: k.Samples, Self: newLinesSummary(k.Self), Cross: newLinesSummary(k.Cross)}
			if k.Logits {
				sum.Calibration.Of = "logits"
			}
		} else {
			var err error
			if sum.Training, err = newSummary(trainings[0]); err != nil {
				return nil, err
			}
			trainings = trainings[1:]
			if t := &s.Spec.Task; t.Rounds.Any() {
				sum.Rounds = &roundsSummary{t.Rounds.Count(t.DigitsHi), t.DigitsHi, t.Rounds.Until, t.Rounds.Samples}
			}
		}
		out.Stages = append(out.Stages, sum)
	}
	return out, nil
}

func newLinesSummary(l check.Lines) linesSummary {
	return linesSummary{Directions: l.Directions, Rows: l.Rows, Extended: [2]int{l.Queries, l.Keys}, Keep: l.Keep.String()}
}

// String returns the summary for people.
func (s *pipelineSummary) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "spec        %s, %.12s\n", s.Source, s.Hash)
	for _, st := range s.Stages {
		switch {
		case st.Calibration != nil:
			k := st.Calibration
			fmt.Fprintf(&b, "stage       %s of %s: %s of layer %d, over %d problems\n", st.Name, st.From, k.Of, k.Layer, k.Samples)
			fmt.Fprintf(&b, "  self      %s\n  cross     %s\n", k.Self, k.Cross)
		case st.From != "":
			fmt.Fprintf(&b, "stage       %s, with the weights of %s\n%s", st.Name, st.From, indented(st.Training.details()))
			if r := st.Rounds; r != nil {
				fmt.Fprintf(&b, "  rounds      %d, from %d digits to %d, by own answers to %d problems each\n", r.Rounds, r.From, r.Until, r.Samples)
			}
		default:
			fmt.Fprintf(&b, "stage       %s\n%s", st.Name, indented(st.Training.details()))
		}
	}
	return b.String()
}

func (l linesSummary) String() string {
	var along []string
	for _, d := range l.Directions {
		along = append(along, fmt.Sprintf("[%d, %d]", d[0], d[1]))
	}
	return fmt.Sprintf("lines along %s of %d rows, extended to %d x %d, where %s", strings.Join(along, " and "), l.Rows, l.Extended[0], l.Extended[1], l.Keep)
}

func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("  " + line)
	}
	return b.String()
}

// SummarizeStages prints a summary of a spec with stages, without running it.
func SummarizeStages(sh *shell.Shell, p *compiler.Program, t project.Training) error {
	sum, err := newPipelineSummary(p)
	if err != nil {
		return err
	}
	return printSummary(sh, sum, t)
}

// PrintStages prints each training of a spec at a stage of its compilation.
func PrintStages(sh *shell.Shell, p *compiler.Program, stage, function string, on OnCard) error {
	for n, t := range p.Trainings() {
		if len(p.Stages) > 0 && !sh.JSON {
			if n > 0 {
				io.WriteString(sh.Out, "\n")
			}
			fmt.Fprintf(sh.Out, "// stage %s\n\n", t.Stage)
		}
		if err := printStage(sh, t, stage, function, on); err != nil {
			return err
		}
	}
	return nil
}
