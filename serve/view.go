package serve

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/arithlang/mlc/plot"
	"github.com/arithlang/mlc/plot/list"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
)

// A view is what pages show of a run. Of a damaged one it is what can be read.
type view struct {
	*list.Run
	Key      string // its path below the folder
	Dir      string // its directory
	Shown    string // as commands have it
	Record   record.Record
	How      record.Training // of what speaks for the run
	Spec     string
	Runs     *plot.Run // its reports and result
	Problems []string  // of files that cannot be read
	Seeds    []*view   // runs of other seeds alone
	Config   *Config
	Static   bool // it is for a file, where nothing can be asked
	Biases   []Bias
	Prefix   string // of the ids of its parts, where a page has several runs
}

// load reads a run, which is below the folder.
func load(dir string, c *Config) *view {
	v := &view{Dir: dir, Shown: shownPath(dir), Config: c, Runs: &plot.Run{Dir: dir}}
	v.Run = &list.Run{State: list.Damaged}
	note := func(err error) {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			v.Problems = append(v.Problems, strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""))
		}
	}
	if found, err := list.Runs(dir); err == nil && len(found) == 1 {
		v.Run = found[0]
	}
	rec, err := record.Read(dir)
	note(err)
	v.Record = rec
	var trained string
	trained, v.How = rec.Trained(dir)
	text, err := damage.ReadFile(filepath.Join(dir, record.SpecFile))
	note(err)
	v.Spec = string(text)
	r := v.Runs
	r.Name, r.Seed, r.InitSeed, r.SpecHash, r.Trained = rec.Name, rec.Seed, rec.InitSeed, rec.SpecHash, rec.How()
	r.Seedless, _ = record.Seedless(v.Spec)
	r.Task = v.Run.Settings["task"]
	folders := []string{""}
	if len(rec.Stages) > 0 {
		folders = nil
		for _, s := range rec.Stages {
			if s.Trains() {
				folders = append(folders, s.Name)
			}
		}
	}
	for _, stage := range folders {
		reports, err := track.All(filepath.Join(dir, stage))
		note(err)
		tests, err := track.Tests(filepath.Join(dir, stage), math.MaxInt)
		note(err)
		if len(reports)+len(tests) > 0 {
			r.Trainings = append(r.Trainings, plot.Training{Stage: stage, Reports: reports, Tests: tests})
		}
	}
	r.Result, err = eval.Load(record.Results(trained, ""))
	note(err)
	if v.Run.Problem != "" && len(v.Problems) == 0 {
		note(errors.New(strings.ReplaceAll(v.Run.Problem, dir+string(filepath.Separator), "")))
	}
	return v
}

// shownPath is a path from where mlc was called, where that is shorter.
func shownPath(dir string) string {
	here, err := filepath.Abs(".")
	if err != nil {
		return dir
	}
	if rel, err := filepath.Rel(here, dir); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return dir
}

// Title is the name of a run, or of its directory where it has none.
func (v *view) Title() string { return cmp.Or(v.Record.Name, filepath.Base(v.Dir)) }

// siblings are the runs of a list that differ from one in the seeds alone.
func siblings(of *list.Run, all []*row) (out []*row) {
	mine := seedless(of.Settings)
	if len(mine) == 0 {
		return nil
	}
	for _, r := range all {
		if r.Dir != of.Dir && record.Seeds(r.Seed, r.InitSeed) != record.Seeds(of.Seed, of.InitSeed) && r.Budget == of.Budget && maps.Equal(seedless(r.Settings), mine) {
			out = append(out, r)
		}
	}
	return out
}

// seedless are settings without seeds.
func seedless(settings map[string]string) map[string]string {
	out := maps.Clone(settings)
	maps.DeleteFunc(out, func(path, _ string) bool {
		return path == "seed" || strings.HasSuffix(path, ".seed") || strings.HasSuffix(path, ".init_seed")
	})
	return out
}

// last is the last report, nil before there is one.
func (v *view) last() *track.Report {
	if t := v.training(); t != nil {
		return &t.Reports[len(t.Reports)-1]
	}
	return nil
}

// training is the last training that has reported, nil before there is one. A training with
// tests alone has lost its reports.
func (v *view) training() *plot.Training {
	for i := len(v.Runs.Trainings) - 1; i >= 0; i-- {
		if t := &v.Runs.Trainings[i]; len(t.Reports) > 0 {
			return t
		}
	}
	return nil
}

// pace is how fast a run has trained of late, in examples a second, and how long it has to
// go: negative where that cannot be told.
func (v *view) pace() (rate float64, left time.Duration) {
	left = -1
	t := v.training()
	if t == nil {
		return 0, left
	}
	reports := t.Reports
	end := reports[len(reports)-1]
	var start track.Report
	if len(reports) > 1 {
		start = reports[max(0, len(reports)-11)]
	}
	seconds := end.Seconds - start.Seconds
	if !(seconds > 0) {
		return 0, left
	}
	rate = float64(end.Examples-start.Examples) / seconds
	togo := -1.0
	switch b := v.budget(); {
	case b.Steps > 0 && end.Step > start.Step:
		togo = float64(b.Steps-end.Step) * seconds / float64(end.Step-start.Step)
	case b.Examples > 0 && rate > 0:
		togo = float64(b.Examples-end.Examples) / rate
	case b.Time > 0:
		togo = b.Time.Seconds() - end.Seconds
	}
	if togo >= 0 {
		left = time.Duration(togo * float64(time.Second))
	}
	return rate, left
}

// fraction is how much of the budget is used, negative where that cannot be told.
func (v *view) fraction() float64 {
	r := v.last()
	switch b := v.budget(); {
	case r == nil:
	case b.Steps > 0:
		return float64(r.Step) / float64(b.Steps)
	case b.Examples > 0:
		return float64(r.Examples) / float64(b.Examples)
	case b.Time > 0:
		return r.Seconds / b.Time.Seconds()
	}
	return -1
}

// Progress is the part of the budget that is used, from 0 to 1; "" where that is not known.
func (v *view) Progress() string {
	if f := v.fraction(); f >= 0 {
		return fmt.Sprintf("%.3f", math.Min(f, 1))
	}
	return ""
}

// budget is the budget of the training that has reported last.
func (v *view) budget() train.Budget {
	if t := v.training(); t != nil {
		for _, s := range v.Record.Stages {
			if s.Name == t.Stage {
				return s.Budget
			}
		}
	}
	return v.How.Budget
}

// StageNow says which stage of a pipeline has reported last: "adapt, 2 of 3"; "" of a run
// without stages.
func (v *view) StageNow() string {
	name := v.Stage
	if t := v.training(); t != nil {
		name = t.Stage
	}
	for i, s := range v.Record.Stages {
		if s.Name == name {
			return fmt.Sprintf("%s, %d of %d", name, i+1, len(v.Record.Stages))
		}
	}
	return ""
}

// A fact is something about a run under its name. Note says more.
type fact struct{ Name, Value, Note string }

// Facts are how a run is doing.
func (v *view) Facts() (out []fact) {
	add := func(name, value, note string) { out = append(out, fact{name, value, note}) }
	if r := v.last(); r != nil {
		step := ""
		if f := v.fraction(); f >= 0 {
			step = "of " + v.budget().String()
		}
		add("step", track.Thousands(r.Step), step)
		add("loss", significant(r.Loss), "nats a token")
		if r.ExactMatch != nil {
			add("exact match", percent(r.ExactMatch), "held-out problems, while training")
		}
		add("learning rate", significant(r.LR), "")
		if rate, left := v.pace(); rate > 0 {
			add("examples/s", track.Thousands(int(rate+0.5)), "")
			if v.State == list.Running && left > 0 {
				add("time left", short(left), "")
			}
		}
		add("trained for", short(time.Duration(r.Seconds*float64(time.Second))), "")
	}
	if t := v.Runs.Result; t != nil {
		for _, m := range means(t) {
			add(m.Name, m.Value, m.Note)
		}
	}
	return out
}

// means are those of a test.
func means(t *eval.Result) (out []fact) {
	name := metric(t)
	for _, m := range []struct {
		value *float64
		what  string
	}{{t.ID, "test, trained lengths"}, {t.OOD, "test, longer"}, {t.OOD100, "test, above 100 digits"}, {t.Overall, "test, all problems"}} {
		if m.value != nil {
			out = append(out, fact{m.what, percent(m.value), name})
		}
	}
	return out
}

func metric(t *eval.Result) string { return strings.ReplaceAll(t.Metric, "_", " ") }

// Made is what a run was made with.
func (v *view) Made() []fact {
	r := &v.Record
	started := ""
	if !r.Started.IsZero() {
		started = r.Started.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	parameters := ""
	if r.Params > 0 {
		parameters = track.Thousands(r.Params)
	}
	initial := ""
	if r.InitSeed != nil {
		initial = fmt.Sprint(*r.InitSeed)
	}
	all := []fact{
		{"seed", fmt.Sprint(r.Seed), ""}, {"init seed", initial, "of the initial weights"}, {"budget", v.How.String(), ""}, {"parameters", parameters, ""},
		{"device", strings.TrimSpace(r.DeviceName + " (" + r.Device + ")"), ""}, {"processor", r.CPU, ""},
		{"precision", r.Precision, ""}, {"schedules", r.Schedules, ""}, {"products", r.Gemm, ""},
		{"started", started, ""}, {"mlc", r.Version, ""}, {"Go", r.Go, ""}, {"spec", r.SpecHash, "hash"},
	}
	return slices.DeleteFunc(all, func(f fact) bool { return f.Value == "" || f.Value == "()" })
}

// A command is a line for a shell, and what it is for.
type command struct{ For, Line string }

// Commands do again what made a run, and go on from it.
func (v *view) Commands() []command {
	run := v.Shown
	spec := filepath.Join(run, record.SpecFile)
	train := []string{"mlc", "train", spec, "--seed", fmt.Sprint(v.Record.Seed)}
	if s := v.Record.InitSeed; s != nil && !slices.ContainsFunc(v.Record.Stages, func(of *record.Stage) bool {
		return of.Trains() && (of.InitSeed == nil || *of.InitSeed != *s) // the spec says it
	}) {
		train = append(train, "--init-seed", fmt.Sprint(*s))
	}
	switch b := v.How.Budget; {
	case len(v.Record.Stages) > 0: // budgets are those of the spec
	case b.Steps > 0:
		train = append(train, "--steps", fmt.Sprint(b.Steps))
	case b.Examples > 0:
		train = append(train, "--examples", fmt.Sprint(b.Examples))
	case b.Time > 0:
		train = append(train, "--time", b.Time.String())
	case b.FLOP > 0:
		train = append(train, "--flop", fmt.Sprint(b.FLOP))
	}
	all := []command{{"train it again", flag.Line(train)}}
	if v.State == list.Stopped {
		all = append(all, command{"go on with it", flag.Line([]string{"mlc", "train", "--resume", "--out", run})})
	}
	return append(all,
		command{"test it", flag.Line([]string{"mlc", "eval", run})},
		command{"draw it", flag.Line([]string{"mlc", "plot", run})},
		command{"this page as a file", flag.Line([]string{"mlc", "report", run})})
}

// significant is a number with four digits.
func significant(x float64) string { return fmt.Sprintf("%.4g", x) }

// percent is a fraction in per cent, "" if there is none.
func percent(x *float64) string {
	if x == nil {
		return ""
	}
	return track.Percent(*x) + " %"
}

// short is a duration for people.
func short(d time.Duration) string {
	switch {
	case d >= time.Hour:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	case d >= time.Minute:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d s", int(d.Seconds()+0.5))
}
