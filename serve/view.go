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
	"strconv"
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

// A view holds the facts that pages show of a run. For a damaged run it holds whatever can
// be read.
type view struct {
	*list.Run
	Key      string // its path below the folder
	Dir      string // its directory
	Shown    string // its directory in commands
	Record   record.Record
	How      record.Training // the run's own training, or the one that gives its result
	Spec     string
	Runs     *plot.Run // its reports and result
	Problems []string  // about files that cannot be read
	Seeds    []*view   // runs that differ only in the seed
	Config   *Config
	Static   bool // for a file, which cannot ask the server
	Biases   []Bias
	Prefix   string // of the ids of its parts, in a page with several runs
}

func load(dir damage.Path, c *Config) *view {
	path := dir.String()
	v := &view{Dir: path, Shown: shownPath(path), Config: c, Runs: &plot.Run{Dir: path}}
	v.Run = &list.Run{State: list.Damaged}
	note := func(err error) {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			v.Problems = append(v.Problems, strings.ReplaceAll(err.Error(), path+string(filepath.Separator), ""))
		}
	}
	if found, err := list.Runs(dir); err == nil && len(found) == 1 {
		v.Run = found[0]
	}
	rec, err := record.Of(dir)
	note(err)
	v.Record = rec
	var trained string
	trained, v.How = rec.Trained("")
	text, err := dir.Join(record.SpecFile).Read()
	note(err)
	v.Spec = string(text)
	r := v.Runs
	r.Name, r.Seed, r.InitSeed, r.SpecHash, r.Trained = rec.Name, rec.Seed, rec.InitSeed, rec.SpecHash, rec.How()
	r.Seedless, _ = list.Seedless(v.Spec)
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
		reports, err := track.All(dir.Join(stage))
		note(err)
		tests, err := track.Tests(dir.Join(stage), math.MaxInt)
		note(err)
		if len(reports)+len(tests) > 0 {
			r.Trainings = append(r.Trainings, plot.Training{Stage: stage, Reports: reports, Tests: tests})
		}
	}
	r.Result, err = eval.Load(dir.Join(record.Results(trained, "")))
	note(err)
	if v.Run.Problem != "" && len(v.Problems) == 0 {
		note(errors.New(strings.ReplaceAll(v.Run.Problem, path+string(filepath.Separator), "")))
	}
	return v
}

// shownPath returns a path relative to the working directory if it is below it.
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

// Title names a run: by its path below the folder, or as the caller of Report wrote it.
func (v *view) Title() string { return cmp.Or(v.Key, filepath.Base(v.Dir)) }

// siblings returns the runs of a list that differ from of only in the seeds.
func siblings(of *list.Run, all []*row) (out []*row) {
	mine := seedless(of.Settings)
	if len(mine) == 0 {
		return nil
	}
	for _, r := range all {
		if record.Seeds(r.Seed, r.InitSeed) != record.Seeds(of.Seed, of.InitSeed) && r.Budget == of.Budget && maps.Equal(seedless(r.Settings), mine) {
			out = append(out, r)
		}
	}
	return out
}

func seedless(settings map[string]string) map[string]string {
	out := maps.Clone(settings)
	maps.DeleteFunc(out, func(path, _ string) bool { return isSeed(path) })
	return out
}

func isSeed(path string) bool {
	return path == "seed" || strings.HasSuffix(path, ".seed") || strings.HasSuffix(path, ".init_seed")
}

// last returns the last report, or nil.
func (v *view) last() *track.Report {
	if t := v.training(); t != nil {
		return &t.Reports[len(t.Reports)-1]
	}
	return nil
}

// training returns the last training that has reports, or nil. A training that has only
// tests has lost its reports.
func (v *view) training() *plot.Training {
	for i := len(v.Runs.Trainings) - 1; i >= 0; i-- {
		if t := &v.Runs.Trainings[i]; len(t.Reports) > 0 {
			return t
		}
	}
	return nil
}

// pace returns the speed of the last ten reports, in examples a second, and the time that
// the training still needs. left is negative if it is not known.
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

// fraction returns the used part of the budget. It is negative if it is not known.
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

// Progress is the used part of the budget, from 0 to 1, or "" if it is not known.
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

// StageNow names the stage of a pipeline that has reported last: "adapt, 2 of 3". It is ""
// for a run without stages.
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

// A fact is a named value of a run. Of is the whole that a value is a part of, and Note
// explains it.
type fact struct{ Name, Value, Of, Note string }

// Facts returns the progress of a run.
func (v *view) Facts() (out []fact) {
	add := func(name, value, note string) { out = append(out, fact{Name: name, Value: value, Note: note}) }
	if r := v.last(); r != nil {
		step := ""
		if f := v.fraction(); f >= 0 {
			step = "of " + v.budget().String()
		}
		add("step", track.Thousands(r.Step), step)
		add("loss", lossText(r.Loss), "nats a token")
		if r.ExactMatch != nil {
			out = append(out, fact{"exact match", percent(r.ExactMatch), ofProblems(v.Settings["train.report.problems"]), "held-out problems, while training"})
		}
		if x := r.HeldOutLoss; r.ExactMatch == nil && x != nil {
			add("held-out loss", lossText(*x), fmt.Sprintf("nats a token; %s bits", lossText(*x/math.Ln2)))
		}
		if rate, left := v.pace(); rate > 0 {
			add("examples/s", track.Thousands(int(rate+0.5)), "")
			if v.State == list.Running && left > 0 {
				add("time left", short(left), "")
			}
		}
		add("trained for", short(time.Duration(r.Seconds*float64(time.Second))), "")
	}
	return out
}

// Results returns the means of the test, beginning with problems longer than in training.
func (v *view) Results() []fact {
	if v.Runs.Result == nil {
		return nil
	}
	return means(v.Runs.Result)
}

// ofProblems writes "of n" if n is a number.
func ofProblems(n string) string {
	if _, err := strconv.Atoi(n); err != nil {
		return ""
	}
	return "of " + n
}

// lossText writes a loss with three digits, or "< 0.0001" for a smaller one.
func lossText(x float64) string {
	if x >= 0 && x < 1e-4 {
		return "< 0.0001"
	}
	return fmt.Sprintf("%.3g", x)
}

// tested lists the means of a test in the order of pages, and the cells of each mean. t is
// the longest problem of training.
var tested = []struct {
	name string // in files
	has  func(c *eval.Cell, t [2]int) bool
}{
	{eval.OOD, func(c *eval.Cell, t [2]int) bool { return !within(c, t) && max(c.I, c.J) <= 100 }},
	{eval.OOD100, func(c *eval.Cell, t [2]int) bool {
		return !within(c, t) && max(c.I, c.J) > 100 && (c.J == 0 || c.I == c.J)
	}},
	{eval.ID, within},
	{eval.Overall, func(*eval.Cell, [2]int) bool { return true }},
}

// within reports whether no length of a cell exceeds the training lengths t.
func within(c *eval.Cell, t [2]int) bool { return c.I <= t[0] && c.J <= t[1] }

// means returns the means of a test, with the number of problems where that is known.
func means(r *eval.Result) (out []fact) {
	if t := r.Text; t != (eval.Text{}) {
		note := fmt.Sprintf("a character, mean over %s characters of %s", track.Thousands(t.Tokens), t.Of)
		return []fact{{"nats", fmt.Sprintf("%.4f", t.Loss), "", note}, {"bits", fmt.Sprintf("%.4f", t.Bits), "", note}}
	}
	for _, m := range tested {
		value := r.Mean(m.name)
		if value == nil {
			continue
		}
		f := fact{Name: m.name, Value: percent(value), Note: metric(r) + ", " + r.What(m.name)}
		if n := problemsOf(r, *value, m.has); n > 0 {
			f.Of = "of " + track.Thousands(n)
		}
		out = append(out, f)
	}
	return out
}

// problemsOf counts the problems of the cells that has accepts. It returns 0 if mean is not
// the mean of these cells, as when not all cells were tested.
func problemsOf(r *eval.Result, mean float64, has func(c *eval.Cell, t [2]int) bool) (n int) {
	trained := [2]int{math.MaxInt, math.MaxInt}
	if r.Trained != nil {
		trained = *r.Trained
	}
	sum, cells, right := 0.0, 0, 0
	for i := range r.ByCell {
		if c := &r.ByCell[i]; has(c, trained) {
			sum, cells, n, right = sum+c.Fraction(), cells+1, n+c.Samples, right+c.Correct
		}
	}
	const near = 1e-9
	if n > 0 && (math.Abs(sum/float64(cells)-mean) < near || math.Abs(float64(right)/float64(n)-mean) < near) {
		return n
	}
	return 0
}

func metric(t *eval.Result) string { return strings.ReplaceAll(t.Metric, "_", " ") }

// Made returns how a run was made.
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
		{"name", r.Name, "", "of the spec"}, {"seed", fmt.Sprint(r.Seed), "", ""}, {"init seed", initial, "", "of the initial weights"}, {"budget", v.How.String(), "", ""}, {"parameters", parameters, "", ""},
		{"device", strings.TrimSpace(r.DeviceName + " (" + r.Device + ")"), "", ""}, {"processor", r.CPU, "", ""},
		{"precision", r.Precision, "", ""}, {"schedules", r.Schedules, "", ""}, {"products", r.Gemm, "", ""},
		{"started", started, "", ""}, {"mlc", r.Version, "", ""}, {"Go", r.Go, "", ""}, {"spec", r.SpecHash, "", "hash"},
	}
	return slices.DeleteFunc(all, func(f fact) bool { return f.Value == "" || f.Value == "()" })
}

// A command is a line for a shell, and its purpose.
type command struct{ For, Line string }

// Commands returns commands that repeat the run, resume it, test it and draw it.
func (v *view) Commands() []command {
	run := v.Shown
	spec := filepath.Join(run, record.SpecFile)
	train := []string{"mlc", "train", spec, "--seed", fmt.Sprint(v.Record.Seed)}
	if s := v.Record.InitSeed; s != nil && !slices.ContainsFunc(v.Record.Stages, func(of *record.Stage) bool {
		return of.Trains() && (of.InitSeed == nil || *of.InitSeed != *s) // the spec sets it
	}) {
		train = append(train, "--init-seed", fmt.Sprint(*s))
	}
	switch b := v.How.Budget; {
	case len(v.Record.Stages) > 0: // the spec sets the budgets
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
		all = append(all, command{"resume it", flag.Line([]string{"mlc", "train", "--resume", "--out", run})})
	}
	return append(all,
		command{"test it", flag.Line([]string{"mlc", "eval", run})},
		command{"draw it", flag.Line([]string{"mlc", "plot", run})},
		command{"this page as a file", flag.Line([]string{"mlc", "report", run})})
}

// percent writes a fraction in per cent, or "" for nil.
func percent(x *float64) string {
	if x == nil {
		return ""
	}
	return track.Percent(*x) + " %"
}

// short writes a duration for people.
func short(d time.Duration) string {
	switch {
	case d >= time.Hour:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	case d >= time.Minute:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d s", int(d.Seconds()+0.5))
}
