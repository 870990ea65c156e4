package plot

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/arithlang/mlc/plot/list"
	"github.com/arithlang/mlc/runtime/calibrate"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/track"
)

// A Run holds the known facts of a run directory.
type Run struct {
	Dir          string
	Name         string
	Seed         uint64
	InitSeed     *uint64 // seed of the initial weights; nil: Seed
	SpecHash     string
	Task         string         // the name of its task; "": not known
	Trained      string         // its budget, and which stages fell short of it
	Trainings    []Training     // one, or one a stage of a pipeline, in order
	Result       *eval.Result   // nil: not tested yet
	Calibrations []*Calibration // a pipeline's, in order
	Seedless     string         // its resolved spec without seeds
	variant      string         // ending of System that tells it from others with its name: ", 50 steps"
}

// A Training holds the reports of one training.
type Training struct {
	Stage   string // "": not a stage of a pipeline
	Reports []track.Report
	Tests   []track.Test // tests of lengths during training
}

// Load reads a run directory, or the directory of one stage. The result comes from a folder
// below eval; "" is the folder of the tests that the spec asks for.
func Load(dir, folder string) (*Run, error) {
	rec, err := readRecord(dir)
	if err != nil {
		return nil, err
	}
	r := &Run{Dir: dir, Name: rec.Name, Seed: rec.Seed, InitSeed: rec.InitSeed, SpecHash: rec.SpecHash, Trained: rec.How()}
	trained, _ := rec.Trained(dir)
	if len(rec.Stages) == 0 {
		if err := r.add("", dir); err != nil {
			return nil, err
		}
	}
	for _, s := range rec.Stages {
		if err := r.add(s.Name, filepath.Join(dir, s.Name)); err != nil {
			return nil, err
		}
	}
	if err := r.readSpec(dir); err != nil {
		return nil, err
	}
	folder = record.Results(trained, folder)
	if r.Result, err = eval.Load(damage.At(folder)); err == nil && r.Result != nil {
		err = checkCounts(r.Result, folder)
	}
	return r, err
}

// checkCounts returns an error for counts that no test produces.
func checkCounts(r *eval.Result, dir string) error {
	for _, c := range r.ByCell {
		if c.I < 1 || c.J < 0 || max(c.I, c.J) > 1<<20 || c.Correct < 0 || c.Correct > c.Samples {
			return fmt.Errorf("%s is damaged: %d of %d right at lengths %d and %d; remove it and test again with eval",
				filepath.Join(dir, eval.File), c.Correct, c.Samples, c.I, c.J)
		}
	}
	return nil
}

var taskLine = regexp.MustCompile(`(?m)^task (\w+)`)

// readSpec reads the task and the settings from the resolved spec of a run, if the run has one.
func (r *Run) readSpec(dir string) error {
	path := filepath.Join(dir, record.SpecFile)
	text, err := damage.At(path).Read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	r.Seedless, _ = list.Seedless(string(text))
	found := taskLine.FindSubmatch(text)
	if found == nil {
		return damage.In(path, damage.Errorf("it has no task"))
	}
	r.Task = string(found[1])
	return nil
}

// readRecord reads run.json; a calibration has calibration.json instead.
func readRecord(dir string) (record.Record, error) {
	rec, err := record.Read(dir)
	if record.Missing(err) {
		err = damage.At(dir).Join(calibrate.RecordFile).ReadJSON(&rec)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return rec, record.NoRun(dir)
	}
	return rec, err
}

// Evaluations lists the folders below eval that have a result, except the one that the spec
// asks for.
func Evaluations(dir string) []string {
	var out []string
	trained, _ := list.TrainedIn(dir) // Load has reported a damaged record
	root := record.Results(trained, "")
	filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if rel, bad := filepath.Rel(root, filepath.Dir(path)); err == nil && bad == nil && filepath.Base(path) == eval.File && rel != "." {
			out = append(out, filepath.ToSlash(rel))
		}
		return nil
	})
	return out
}

// add reads the files of one stage.
func (r *Run) add(stage, dir string) error {
	c, err := loadCalibration(dir)
	if err != nil {
		return err
	}
	if c != nil {
		r.Calibrations = append(r.Calibrations, c)
		return nil
	}
	reports, err := track.All(damage.At(dir))
	if err != nil {
		return err
	}
	tests, err := track.Tests(damage.At(dir), math.MaxInt)
	if err == nil && len(reports)+len(tests) > 0 {
		r.Trainings = append(r.Trainings, Training{stage, reports, tests})
	}
	return err
}

// label names a run by its system and seeds.
func (r *Run) label() string { return r.System() + ", " + r.Seeds() }

// Seeds names a run by its seeds.
func (r *Run) Seeds() string { return record.Seeds(r.Seed, r.InitSeed) }

// System names the runs that differ only in their seeds. It is the run's name without the
// seeds that sweeps put there, and with its budget or settings if Distinguish needs them.
func (r *Run) System() string {
	name := strings.Replace(r.Name+"-", fmt.Sprintf("-seed-%d-", r.Seed), "-", 1)
	if r.InitSeed != nil {
		name = strings.Replace(name, fmt.Sprintf("-init_seed-%d-", *r.InitSeed), "-", 1)
	}
	return strings.TrimSuffix(name, "-") + r.variant
}

// Distinguish makes separate systems of runs that share a name but differ in more than the seed: a
// mean or a colour for both would mislead. Budgets tell them apart, then settings. Where the
// differing settings are many, the spec's hash tells them apart, taken from the first of its runs.
func Distinguish(runs []*Run) {
	for _, r := range runs {
		r.variant = ""
	}
	hashes := map[string]string{}
	for _, r := range runs {
		if _, known := hashes[r.Seedless]; !known {
			hashes[r.Seedless] = r.SpecHash[:min(8, len(r.SpecHash))]
		}
	}
	settings := toldAmong(runs)
	texts := map[*Run]string{} // from before any system has a variant
	for _, r := range runs {
		texts[r] = cmp.Or(settings(r), hashes[r.Seedless])
	}
	for _, about := range []func(*Run) string{
		func(r *Run) string { return r.Trained },
		func(r *Run) string { return texts[r] },
	} {
		said := map[string][]string{} // by system
		for _, r := range runs {
			if what := about(r); !slices.Contains(said[r.System()], what) {
				said[r.System()] = append(said[r.System()], what)
			}
		}
		var variants []string
		for _, r := range runs {
			variant := r.variant
			if what := about(r); what != "" && len(said[r.System()]) > 1 {
				variant += ", " + what
			}
			variants = append(variants, variant)
		}
		for i, r := range runs {
			r.variant = variants[i]
		}
	}
}

// Labels returns a label for each run that is different from the others. It begins with the
// run's name. Runs that share a label get, as needed, their seeds, budget, examples seen,
// settings, spec and directory.
func Labels(runs []*Run) []string {
	settings := toldAmong(runs)
	labels := make([]string, len(runs))
	for i, r := range runs {
		labels[i] = r.Name
	}
	for _, about := range []func(*Run) string{
		(*Run).Seeds,
		func(r *Run) string { return r.Trained },
		func(r *Run) string {
			if r.Result == nil || r.Result.ExamplesTrained == 0 {
				return ""
			}
			return fmt.Sprintf("after %d examples", r.Result.ExamplesTrained)
		},
		settings,
		func(r *Run) string { return r.SpecHash[:min(8, len(r.SpecHash))] },
		func(r *Run) string { return r.Dir },
	} {
		said := map[string]string{} // by label, about the first run that has it
		apart := map[string]bool{}
		for i, r := range runs {
			what := about(r)
			if first, ok := said[labels[i]]; ok && first != what {
				apart[labels[i]] = true
			}
			said[labels[i]] = what
		}
		for i, r := range runs {
			if what := about(r); what != "" && apart[labels[i]] {
				labels[i] += ", " + what
			}
		}
	}
	return labels
}

// titles splits the names of the runs' systems into the words that all begin with, such as
// the name of a sweep, and the rest of each. A single system has an empty rest.
func titles(runs []*Run) (common string, own map[string]string) {
	var first []string
	systems := names(runs)
	for i, name := range systems {
		words := strings.SplitAfter(name, "-")
		if i == 0 {
			first = words[:len(words)-1]
		}
		n := 0
		for n < len(first) && n < len(words)-1 && first[n] == words[n] {
			n++
		}
		first = first[:n]
	}
	if len(systems) == 1 {
		return systems[0], map[string]string{systems[0]: ""}
	}
	common, own = strings.Join(first, ""), map[string]string{}
	for _, name := range systems {
		own[name] = strings.TrimPrefix(name, common)
	}
	return strings.TrimSuffix(common, "-"), own
}
