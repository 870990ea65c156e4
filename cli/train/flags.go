package train

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/train"
)

// Flags are the flags of a trainer's verb train.
type Flags struct {
	flags.Machine
	flags.Beginning
	flags.Training
	flags.Profiled
}

// alone returns the flags without the ones that choose or resume a run directory.
func (f Flags) alone() Flags {
	f.Out, f.Resume = "", flags.Begins
	return f
}

// budgets lists the flags for the budget, with the attributes that they override.
func (f Flags) budgets() []setting {
	return []setting{
		{f.Steps > 0, "--steps", fmt.Sprint(f.Steps), "train.budget", "steps"},
		{f.Examples > 0, "--examples", fmt.Sprint(f.Examples), "train.budget", "examples"},
		{f.FLOP > 0, "--flop", strconv.FormatFloat(f.FLOP, 'g', -1, 64), "train.budget", "FLOP"},
		{f.Time > 0, "--time", f.Time.String(), "train.budget", ""},
	}
}

// A setting is a flag that overrides an attribute of the spec.
type setting struct {
	given                        bool
	flag, value, attribute, unit string
}

// hasBudget reports whether a flag sets the budget.
func (f Flags) hasBudget() bool {
	return slices.ContainsFunc(f.budgets(), func(s setting) bool { return s.given })
}

// budget returns the budget of the flags, or else t.
func (f Flags) budget(t train.Budget) train.Budget {
	if f.hasBudget() {
		return train.Budget{Steps: f.Steps, Examples: f.Examples, FLOP: f.FLOP, Time: f.Time}
	}
	return t
}

// refuseAxes refuses a flag that sets the attribute of a sweep's axis: the names of the
// trainings would be wrong.
func (f Flags) refuseAxes(all []project.Training) error {
	settings := append(f.budgets(), setting{f.InitSeed.Set, "--init-seed", f.InitSeed.String(), "train.init_seed", ""})
	if f.Seed != nil {
		settings = append(settings, setting{true, "--seed", fmt.Sprint(*f.Seed), "train.seed", ""})
	}
	for _, x := range settings {
		if !x.given {
			continue
		}
		for _, t := range all {
			for path, axis := range t.Point.Axes {
				if path != x.attribute && !strings.HasSuffix(path, "."+x.attribute) {
					continue
				}
				wins := path // over cases
				if axis == path {
					wins = "sweep." + path
				}
				return shell.Usagef("%s %s: the axis %s of the sweep in %s sets %s, and names its trainings after it. Choose trainings with --point, edit the sweep, or set it for all trainings with --set %s",
					x.flag, x.value, axis, t.Shown(t.Name), path, flag.Word(wins+"="+x.value+x.unit))
			}
		}
	}
	return nil
}

// An asked describes the run that a training wants. Such a run is not trained again.
type asked struct {
	hash   string
	stages []askedStage // one for a training without stages
	until  string
}

type askedStage struct {
	name    string // "": the training has no stages
	seed    uint64
	initial uint64 // the seed of initial weights
	budget  train.Budget
}

// asks returns the run that a program with these flags wants.
func (f Flags) asks(p *compiler.Program) asked {
	a := asked{hash: p.Spec.Hash, until: f.Until}
	for _, s := range p.Trainings() {
		t := s.Spec.Train
		of := askedStage{name: s.Stage, seed: t.Seed, budget: f.budget(t.Budget)}
		if f.Seed != nil {
			of.seed = *f.Seed
		}
		of.initial = config.Initial(of.seed, f.InitSeed.Own(t.InitSeed))
		a.stages = append(a.stages, of)
	}
	return a
}

// differs describes how a run of the spec differs from the wanted one. It returns "" if it
// does not.
func (a *asked) differs(r *record.Record) string {
	for _, want := range a.stages {
		seed, initial, trained := r.Seed, r.InitSeed, r.Training
		if want.name != "" {
			i := slices.IndexFunc(r.Stages, func(s *record.Stage) bool { return s.Name == want.name })
			if i < 0 {
				return "it has no stage " + want.name
			}
			seed, initial, trained = r.Stages[i].Seed, r.Stages[i].InitSeed, r.Stages[i].Training
		}
		in := ""
		if want.name != "" {
			in = "stage " + want.name + ": "
		}
		switch {
		case seed != want.seed:
			return fmt.Sprintf("%sits seed is %d, and %d is asked for", in, seed, want.seed)
		case config.Initial(seed, initial) != want.initial:
			return fmt.Sprintf("%sits seed of initial weights is %d, and %d is asked for", in, config.Initial(seed, initial), want.initial)
		case !trained.Is(want.budget):
			return fmt.Sprintf("%sits budget is %s, and %s are asked for", in, trained.String(), want.budget)
		}
		if want.name != "" && want.name == a.until {
			break
		}
	}
	return ""
}

// inside returns the flags for a single training of a sweep. Its run directory is below the
// folder of --out, as if all were trained.
func (f Flags) inside(t project.Training) (Flags, error) {
	if paths.Exists(record.Path(f.Out)) {
		return f, shell.Usagef("%s is a run itself, but the runs of a sweep are folders below --out: choose another folder, or resume that run: %s",
			f.Out, flag.Line([]string{"mlc", "train", "--resume", "--out", f.Out}))
	}
	f.Out = filepath.Join(f.Out, t.Point.Slug)
	return f, nil
}

// of returns the flags for one training. A training that has not begun is not resumed.
func (f Flags) of(j *job) Flags {
	dir, one := f.dir(j), f.alone()
	if !j.staged {
		one.Until, one.GoOn = "", false
	}
	switch {
	case f.Resume == flags.Either && f.Out != "":
		one.Resume, one.Out = flags.Either, dir
	case f.Resume != flags.Begins && dir != "" && paths.Exists(record.Path(dir)):
		one.Resume, one.Out = flags.Resumes, dir
	case f.Out != "":
		one.Out = dir
	}
	return one
}

// dir returns the run directory of a training, or "". Without --out it is the newest run
// with the training's spec, seeds and budget. The run may have another name, since two
// tables can share rows.
func (f Flags) dir(j *job) string {
	if f.Out != "" {
		return filepath.Join(f.Out, j.Point.Slug)
	}
	all, _ := j.runs(j.Options().Name)
	if len(all) == 0 && f.Resume != flags.Begins {
		all, _ = j.runs("*")
		slices.SortFunc(all, func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) }) // by time
	}
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// runs lists the run directories with a name that the training wants. others describes why
// further runs of the spec do not fit or cannot be read.
func (j *job) runs(name string) (all, others []string) {
	found, _ := filepath.Glob(record.Path(filepath.Join(record.Runs(name), record.Dated(time.Time{}, "*"))))
	for _, path := range found {
		dir := filepath.Dir(path)
		r, err := record.Read(dir)
		if err != nil {
			others = append(others, err.Error())
			continue
		}
		if r.SpecHash != j.asked.hash {
			continue
		}
		if what := j.asked.differs(&r); what != "" {
			others = append(others, dir+": "+what)
			continue
		}
		all = append(all, dir)
	}
	return all, others
}

// fits returns an error if the run in the folder of --out does not fit the training that
// resumes it. It reports runs of the spec that are not resumed.
func (f Flags) fits(j *job, say func(format string, args ...any)) error {
	if f.Resume == flags.Begins {
		return nil
	}
	if f.Out == "" {
		_, others := j.runs(j.Options().Name)
		for _, text := range others {
			say("%s: not resumed", text)
		}
		return nil
	}
	dir := f.dir(j)
	r, err := record.Read(dir)
	if err != nil || r.SpecHash != j.asked.hash {
		return nil // the trainer reports it
	}
	if what := j.asked.differs(&r); what != "" {
		return shell.Usagef("%s does not fit the training %s: %s. Choose another --out, or the flags of that run", dir, j.Point.Name, what)
	}
	return nil
}
