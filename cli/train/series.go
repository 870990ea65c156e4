package train

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/results"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/plot/list"
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/lock"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/train"
)

// A series is the trainings of a sweep.
type series struct {
	*build.Builder
	where project.Folders
	flags Flags
	quiet bool
	said  []string // flags for the output of trainers
	jobs  []job
	ran   bool // some trainer has accepted the command line

	jobsAtOnce int // 0 and 1: one after another
}

// A job is one training of a series.
type job struct {
	project.Training
	asked  asked   // the run that it wants
	work   float64 // floating-point operations, or another measure proportional to its time; 0: not known
	tested []int   // lengths
	staged bool
	of     results.Kin
	begun  bool // before this series
	state  jobState
	took   time.Duration // including the build of its trainer
	budget train.Budget  // from the flags, or else from the spec
	trains config.Train  // of the last stage
	flops  float64       // of a step; 0: not known
	left   string        // why a search dropped it; "": it did not
}

type jobState uint8

const (
	waiting jobState = iota
	done
	failed
	left // dropped by a search
	away // another process runs it
)

// trainAll runs the trainings of a sweep and ends with a table of their results. A failed
// training does not stop the others. A mistake on the command line or an interrupt does.
func trainAll(b *build.Builder, where project.Folders, all []project.Training, line Line, quiet bool) error {
	s := &series{Builder: b, where: where, flags: line.Flags, quiet: quiet, said: saying(quiet, b.JSON), jobsAtOnce: line.Jobs}
	if err := s.plan(all); err != nil {
		return err
	}
	if err := s.all(all[0].Point.Search); err != nil {
		if s.ran || shell.Interrupted(err) {
			b.Say("%d of %d trainings are done; to continue: %s", s.count(done), len(all), line.again(quiet))
		}
		return err
	}
	return s.finish()
}

// all runs all trainings, as the search demands.
func (s *series) all(by check.Search) error {
	if by.Kind == "halving" && len(s.jobs) > 1 {
		return s.halve(by)
	}
	return s.each(s.waiting(), s.flags.of)
}

// each runs some trainings, one after another or side by side.
func (s *series) each(numbers []int, with func(*job) Flags) error {
	if s.jobsAtOnce > 1 && len(numbers) > 1 {
		return s.beside(numbers, with)
	}
	for _, i := range numbers {
		if s.elsewhere(i) {
			continue
		}
		if err := s.train(i, with(&s.jobs[i])); err != nil {
			return err
		}
	}
	return nil
}

// elsewhere reports whether another process runs a training that would be resumed.
func (s *series) elsewhere(i int) bool {
	j := &s.jobs[i]
	if dir := s.flags.dir(j); s.flags.Resume != flags.Begins && dir != "" && lock.Held(damage.At(dir)) {
		j.state = away
		s.Say("training %d of %d: %s: left to %s, which is training in %s", i+1, len(s.jobs), j.Point.Name, lock.Owner(dir), dir)
	}
	return j.state == away
}

// plan compiles all trainings. It reports the compiler's findings before hours of training,
// and computes the work of each training.
func (s *series) plan(all []project.Training) error {
	for _, t := range all {
		j := job{Training: t}
		p, err := project.Compile(s.Shell, t)
		switch {
		case errors.Is(err, shell.ErrShown):
			j.state = failed
		case err != nil:
			return err
		default:
			j.of = results.Kin{Name: project.Seedless(t.Point.Name)}
			j.of.Kind, j.of.Seed = list.Seedless(p.Spec.Resolved)
			j.asked, j.work, j.staged = s.flags.asks(p), s.flags.work(p), len(p.Stages) > 0
			j.budget = s.flags.budget(p.Spec.Train.Budget)
			for _, stage := range p.Trainings() { // the last one counts
				j.tested, j.trains = stage.Spec.Eval.Digits, stage.Spec.Train.Train
				j.flops, _ = stage.StepFLOPs()
			}
			if err := s.flags.fits(&j, s.Say); err != nil {
				return err
			}
			dir := s.flags.dir(&j)
			j.begun = s.flags.Resume != flags.Begins && dir != "" && paths.Exists(record.Path(dir))
		}
		s.jobs = append(s.jobs, j)
	}
	if s.count(failed) == len(s.jobs) {
		return shell.ErrShown
	}
	return nil
}

// train runs one training, with flags for its trainer. An error ends the series.
func (s *series) train(i int, with Flags) error {
	j, begun := &s.jobs[i], time.Now()
	p, err := s.Trainer(s.where, j.Training, build.Tells(build.Brief, s.quiet))
	if err != nil {
		return err
	}
	if !s.quiet {
		s.Say("training %d of %d: %s%s", i+1, len(s.jobs), j.Point.Name, s.progress())
		if so := s.soFar(); so != "" {
			s.Say("  %s", so)
		}
	}
	r, err := relayOf(s.Shell, s.quiet)
	if err != nil {
		return err
	}
	err = attend(p.Binary, p.Command("train", s.words(with)), r.environ(), s.results(j))
	r.end(err)
	return s.ended(i, time.Since(begun), err)
}

// ended records how a trainer ended. An error ends the series.
func (s *series) ended(i int, took time.Duration, err error) error {
	j := &s.jobs[i]
	var status shell.ExitStatus
	switch {
	case err == nil:
		j.state = done
	case !errors.As(err, &status) || shell.Interrupted(err) || status == shell.ExitUsage && !s.ran:
		return err
	default:
		j.state = failed
		if status.Killed() {
			s.Say("training %d of %d was %v: try it with fewer --threads, or on another machine", i+1, len(s.jobs), status)
		}
		s.Say("training %d of %d has failed: %s", i+1, len(s.jobs), s.command(j))
	}
	s.ran = true
	j.took = took
	return nil
}

// words returns the arguments of a trainer.
func (s *series) words(of Flags) []string { return append(words(&of), s.said...) }

// saying returns the flags for the output of a trainer.
func saying(quiet, json bool) (all []string) {
	if quiet {
		all = append(all, "-q")
	}
	if json {
		all = append(all, "--json")
	}
	return all
}

// command returns a command line for one of the trainings.
func (s *series) command(j *job) string {
	f := s.flags
	if dir := f.dir(j); f.Out == "" && f.Resume != flags.Begins && dir != "" {
		one := f.alone()
		one.Until, one.GoOn = "", false
		one.Resume, one.Out = flags.Resumes, dir
		return shell.Hint(append([]string{"train"}, s.words(one)...)...)
	}
	if !j.staged {
		f.Until, f.GoOn = "", false
	}
	if f.Resume != flags.Begins {
		f.Resume = flags.Either
	}
	return strings.TrimSpace(shell.Hint("train") + " " + j.Command() + " " + flag.Line(s.words(f)))
}

func (s *series) count(state jobState) int {
	n := 0
	for _, j := range s.jobs {
		if j.state == state {
			n++
		}
	}
	return n
}

// progress describes the progress of the series and its remaining time. It assumes that
// time is proportional to work, and measures trainings that were run from their beginning.
func (s *series) progress() string {
	var all, behind, measured float64
	var took time.Duration
	for _, j := range s.jobs {
		if j.work == 0 && j.state == waiting || j.Point.Search.Kind == "halving" { // which leaves work out
			return ""
		}
		all += j.work
		if j.state == waiting {
			continue
		}
		behind += j.work
		if j.state == done && !j.begun {
			measured += j.work
			took += j.took
		}
	}
	if behind == 0 {
		return ""
	}
	text := fmt.Sprintf(" (%.0f %% of the work is done", 100*behind/all)
	if measured > 0 {
		left := float64(took) * (all - behind) / measured
		text += fmt.Sprintf(", about %s left", rounded(time.Duration(left/float64(max(1, min(s.jobsAtOnce, s.count(waiting)))))))
	}
	if n := s.count(failed); n > 0 {
		text += fmt.Sprintf(", %d failed", n)
	}
	return text + ")"
}

// soFar counts the trainings done and left, and names the best one. It returns "" before
// the first. Its numbers are those in the final table and in mlc runs.
func (s *series) soFar() string {
	var best *eval.Result
	name := ""
	for i := range s.jobs {
		if s.jobs[i].state != done {
			continue
		}
		row, err := results.ReadRow("", s.flags.dir(&s.jobs[i]))
		if err != nil || row.Result == nil { // the final table reports it
			continue
		}
		if best == nil || results.Compare(best, row.Result) < 0 {
			best, name = row.Result, s.jobs[i].Point.Name
		}
	}
	if best == nil {
		return ""
	}
	return fmt.Sprintf("%d done, %d left with this one; best so far %s, exact match: %s", s.count(done), s.count(waiting), name, best.Summary())
}

// rounded rounds a duration for people.
func rounded(d time.Duration) string {
	if d < time.Minute {
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}

// table prints the results, and the progress of trainings without one.
func (s *series) table() error {
	rows := make([]results.Row, len(s.jobs))
	for i := range s.jobs {
		j := &s.jobs[i]
		rows[i] = results.Row{Name: cmp.Or(j.Point.Name, project.NameOf(j.Training.Name)), Missing: cmp.Or(j.left, "failed")}
		switch j.state {
		case waiting, away:
			rows[i].Missing = cmp.Or(s.flags.reached(j), "no result")
		case done:
			var err error
			if rows[i], err = results.ReadRow(rows[i].Name, s.flags.dir(j)); err != nil {
				s.Say("%v", err)
			}
			rows[i].Lengths, rows[i].Of = j.tested, j.of
		}
	}
	return results.WriteTable(s.Out, rows)
}

// finish prints the results and the failed trainings.
func (s *series) finish() error {
	if !s.JSON {
		if err := s.table(); err != nil {
			return err
		}
	}
	if n := s.count(away); n > 0 {
		s.Say("%d of %d trainings are still running in other processes", n, len(s.jobs))
	}
	defer s.next()
	n := s.count(failed)
	switch {
	case n == 0 && s.count(away) > 0:
		return shell.ErrShown
	case n == 0:
		return nil
	}
	s.Say("%d of %d trainings have failed:", n, len(s.jobs))
	for _, j := range s.jobs {
		if j.state == failed {
			s.Say("  %s", s.command(&j))
		}
	}
	return shell.ErrShown
}

// work returns the floating-point operations of all trainings of a program. If a flag sets
// the budget, every program counts 1. It returns 0 if the work is not known.
func (f Flags) work(p *compiler.Program) float64 {
	if f.hasBudget() {
		return 1
	}
	total := 0.0
	for _, s := range p.Trainings() {
		t := s.Spec.Train
		budget := t.Budget
		step, err := s.StepFLOPs()
		switch {
		case err != nil || budget.Time > 0:
			return 0
		case budget.FLOP > 0:
			total += budget.FLOP
		case budget.Examples > 0:
			total += step * float64(budget.Examples) / float64(t.Batch)
		default:
			total += step * float64(budget.Steps)
		}
	}
	return total
}
