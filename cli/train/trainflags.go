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
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/train"
)

// trainFlags are the flags of the trainer, those taken out that differ from one
// training of a sweep to the next.
type trainFlags struct {
	rest   []string
	out    string   // the folder of all run directories; "" is the usual one of each
	resume bool     // what has begun
	auto   bool     // which --resume=auto asks for
	until  string   // the stage to end after; "": the last one
	stages []string // what only the trainers of specs with stages take
}

// resumes are the ways to write the flag --resume, which needs no value.
var resumes = map[string]struct{ resume, auto bool }{
	"--resume": {true, false}, "--resume=true": {true, false}, "--resume=auto": {true, true}, "--resume=false": {},
}

func takeFlags(flags []string) trainFlags {
	var f trainFlags
	for i := 0; i < len(flags); i++ {
		value, isOut := strings.CutPrefix(flags[i], "--out=")
		until, isUntil := strings.CutPrefix(flags[i], "--until=")
		if next := i + 1; next < len(flags) && (flags[i] == "--out" || flags[i] == "--until") {
			isOut, isUntil = flags[i] == "--out", flags[i] == "--until"
			value, until = flags[next], flags[next]
			i = next
		}
		resume, isResume := resumes[flags[i]]
		switch {
		case isOut:
			f.out = value
		case isUntil:
			f.until = until
			f.stages = append(f.stages, "--until="+until)
		case isResume:
			f.resume, f.auto = resume.resume, resume.auto
		case flags[i] == "--go-on":
			f.stages = append(f.stages, flags[i])
		default:
			f.rest = append(f.rest, flags[i])
		}
	}
	return f
}

// value is what the trainer gets for a flag.
func (f trainFlags) value(name string) (value string, given bool) {
	for i, flag := range f.rest {
		if after, ok := strings.CutPrefix(flag, name+"="); ok {
			value, given = after, true
		}
		if flag == name {
			value, given = strings.Join(f.rest[i+1:min(i+2, len(f.rest))], ""), true
		}
	}
	return value, given
}

// budgets are the flags that say how long to train, and how a spec says it.
var budgets = []struct{ flag, unit string }{{"--steps", "steps"}, {"--examples", "examples"}, {"--flop", "FLOP"}, {"--time", ""}}

// hasBudget reports whether a flag says how long to train.
func (f trainFlags) hasBudget() bool {
	return slices.ContainsFunc(budgets, func(b struct{ flag, unit string }) bool { _, given := f.value(b.flag); return given })
}

// budget is what the flags say instead of the one of the spec. What they say wrongly the
// trainer refuses.
func (f trainFlags) budget(t train.Budget) train.Budget {
	for _, b := range budgets {
		text, given := f.value(b.flag)
		if !given {
			continue
		}
		t = train.Budget{}
		switch b.flag {
		case "--steps":
			t.Steps, _ = strconv.Atoi(text)
		case "--examples":
			t.Examples, _ = strconv.ParseInt(text, 10, 64)
		case "--flop":
			t.FLOP, _ = strconv.ParseFloat(text, 64)
		case "--time":
			t.Time, _ = time.ParseDuration(text)
		}
	}
	return t
}

// refuseAxes refuses a flag that sets what an axis of the sweep sets: every training
// would be under a name that says something else.
func (f trainFlags) refuseAxes(all []project.Training) error {
	type pair struct{ flag, attribute, unit string }
	pairs := []pair{{"--seed", "train.seed", ""}, {"--init-seed", "train.init_seed", ""}}
	for _, b := range budgets {
		pairs = append(pairs, pair{b.flag, "train.budget", b.unit})
	}
	for _, x := range pairs {
		value, given := f.value(x.flag)
		if !given {
			continue
		}
		for _, t := range all {
			for path, axis := range t.Point.Axes {
				if path != x.attribute && !strings.HasSuffix(path, "."+x.attribute) {
					continue
				}
				setting := path // which wins over cases
				if axis == path {
					setting = "sweep." + path
				}
				return shell.Usagef("%s %s: the axis %s of the sweep in %s sets %s, and names its trainings after it. Choose some of them by --point, edit the sweep, or set it for all of them by --set %s",
					x.flag, value, axis, t.Shown(t.Name), path, flag.Word(setting+"="+value+x.unit))
			}
		}
	}
	return nil
}

// An asked is what a run has to be of for a training not to be made again.
type asked struct {
	hash   string
	stages []askedStage // or the one training
	until  string
}

type askedStage struct {
	name    string // "": there are no stages
	seed    uint64
	initial uint64 // the seed of initial weights
	budget  train.Budget
}

// asks is what is asked of a program with these flags.
func (f trainFlags) asks(p *compiler.Program) asked {
	a := asked{hash: p.Spec.Hash, until: f.until}
	for _, s := range p.Trainings() {
		t := s.Spec.Train
		of := askedStage{name: s.Stage, seed: t.Seed, budget: f.budget(t.Budget)}
		if text, given := f.value("--seed"); given {
			of.seed, _ = strconv.ParseUint(text, 10, 64)
		}
		of.initial = config.Initial(of.seed, t.InitSeed)
		if text, given := f.value("--init-seed"); given {
			of.initial, _ = strconv.ParseUint(text, 10, 64)
		}
		a.stages = append(a.stages, of)
	}
	return a
}

// differs says what of a run of the spec is not as asked; "": nothing.
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

// inside are the flags for one training of a sweep, made alone. It has a run directory of
// its own below the folder of --out, as beside others.
func (f trainFlags) inside(t project.Training) ([]string, error) {
	if paths.Exists(record.Path(f.out)) {
		return nil, shell.Usagef("%s is a run itself, and trainings of a sweep are below --out, in folders of their names: choose another folder, or go on with that run by %s",
			f.out, flag.Line([]string{"mlc", "train", "--resume", "--out", f.out}))
	}
	flags := slices.Concat(f.rest, f.stages)
	switch {
	case f.auto:
		flags = append(flags, "--resume=auto")
	case f.resume:
		flags = append(flags, "--resume")
	}
	return append(flags, "--out", filepath.Join(f.out, t.Point.Slug)), nil
}

// of are the flags for one training. What has not begun is not resumed.
func (f trainFlags) of(j *job) []string {
	flags, dir := slices.Clone(f.rest), f.dir(j)
	if j.staged {
		flags = append(flags, f.stages...)
	}
	switch {
	case f.auto && f.out != "":
		return append(flags, "--resume=auto", "--out", dir)
	case f.resume && dir != "" && paths.Exists(record.Path(dir)):
		return append(flags, "--resume", "--out", dir)
	case f.out != "":
		return append(flags, "--out", dir)
	}
	return flags
}

// dir is the run directory of a training: of those of its very spec that are named
// after their time, with the seeds and the budget that are asked for, the newest one; ""
// if there is none. One under another name will do to be resumed: rows of one table are
// rows of others, too.
func (f trainFlags) dir(j *job) string {
	if f.out != "" {
		return filepath.Join(f.out, j.Point.Slug)
	}
	all, _ := j.runs(j.Options().Name)
	if len(all) == 0 && f.resume {
		all, _ = j.runs("*")
		slices.SortFunc(all, func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) }) // by time
	}
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// runs lists the run directories of a name that are of what is asked, and says why
// others of the spec are not, or cannot be told.
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

// fits refuses the run in the folder of --out that is to be resumed and is not of what
// is asked, and says which others are left out.
func (f trainFlags) fits(j *job, say func(format string, args ...any)) error {
	if !f.resume {
		return nil
	}
	if f.out == "" {
		_, others := j.runs(j.Options().Name)
		for _, text := range others {
			say("%s: not gone on with", text)
		}
		return nil
	}
	dir := f.dir(j)
	r, err := record.Read(dir)
	if err != nil || r.SpecHash != j.asked.hash {
		return nil // which the trainer says
	}
	if what := j.asked.differs(&r); what != "" {
		return shell.Usagef("%s is not the training %s that is asked for: %s. Choose another --out, or ask for what it is", dir, j.Point.Name, what)
	}
	return nil
}
