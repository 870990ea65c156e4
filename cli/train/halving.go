package train

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
)

// halve trains by successive halving (Jamieson and Talwalkar, "Non-stochastic Best Arm
// Identification and Hyperparameter Optimization", 2016): it trains all jobs for a part of
// their budget, and continues the best.
func (s *series) halve(by check.Search) error {
	if err := s.halvable(); err != nil {
		return err
	}
	for rung := range by.Rungs {
		share := by.Share(rung)
		alive := s.waiting()
		if len(alive) == 0 {
			return nil
		}
		many := "s"
		if len(alive) == 1 {
			many = ""
		}
		s.Say("rung %d of %d: %d training%s for %s %% of the budget", rung+1, by.Rungs, len(alive), many, track.Percent(share))
		if err := s.each(alive, func(j *job) Flags { return s.rungFlags(j, rung, share) }); err != nil {
			return err
		}
		if share < 1 {
			s.narrow(by, share)
		}
	}
	return nil
}

// halvable returns an error for a job that cannot be trained in parts.
func (s *series) halvable() error {
	for _, j := range s.jobs {
		switch {
		case j.state == failed:
		case j.staged:
			return shell.Usagef("search = halving: %s has stages, and halving needs trainings of one stage; use search = random", j.Point.Name)
		case j.budget.FLOP > 0:
			return shell.Usagef("search = halving: %s has a budget in FLOP; halving needs one in steps, examples or time", j.Point.Name)
		}
	}
	if s.flags.Pause > 0 {
		return shell.Usagef("search = halving pauses trainings itself: leave out --pause")
	}
	return nil
}

// waiting returns the numbers of the unfinished jobs.
func (s *series) waiting() (all []int) {
	for i := range s.jobs {
		if s.jobs[i].state == waiting {
			all = append(all, i)
		}
	}
	return all
}

// rungFlags returns the flags of a training for a share of its budget. From the second rung
// on it resumes the first rung's run.
func (s *series) rungFlags(j *job, rung int, share float64) Flags {
	f := s.flags.of(j)
	if rung > 0 {
		f.Resume, f.Out = flags.Resumes, s.flags.dir(j)
	}
	if share < 1 {
		f.Pause = share
	}
	return f
}

// A score ranks a training after a share of its budget.
type score struct {
	job    int
	match  float64 // on held-out problems, or 0
	loss   float64
	reads  bool // the loss is of held-out text, which has no exact match
	report bool // false: no report yet
}

// better compares scores for sorting, the best first.
func better(a, b score) int {
	told := func(s score) int {
		if s.report {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(told(a), told(b)), cmp.Compare(b.match, a.match), cmp.Compare(a.loss, b.loss), cmp.Compare(a.job, b.job))
}

// narrow keeps the best jobs of a rung and drops the others. The rung's jobs are done only
// with their share, so the kept ones wait again.
func (s *series) narrow(by check.Search, share float64) {
	var all []score
	for i := range s.jobs {
		if j := &s.jobs[i]; j.state == done {
			all = append(all, s.score(i, share))
			j.state = waiting
		}
	}
	slices.SortFunc(all, better)
	keep := (len(all) + by.Factor - 1) / by.Factor
	for n, one := range all {
		if n < keep {
			continue
		}
		j := &s.jobs[one.job]
		j.state = left
		match := fmt.Sprintf("exact match %s %%, ", track.Percent(one.match))
		if one.reads {
			match = "held-out "
		}
		j.left = fmt.Sprintf("left after %s %%: %sloss %.4f", track.Percent(share), match, one.loss)
		if !one.report {
			j.left = fmt.Sprintf("left after %s %%, without a report", track.Percent(share))
		}
	}
}

// score reads the last report within a share of the budget, since a resumed run may have
// gone further.
func (s *series) score(i int, share float64) score {
	j := &s.jobs[i]
	out := score{job: i}
	all, err := track.All(damage.At(s.flags.dir(j)))
	if err != nil {
		s.Say("%v", err)
	}
	for _, r := range all {
		if used(&r, j.budget) > share {
			break
		}
		out.report, out.loss = true, r.Loss
		if r.ExactMatch != nil {
			out.match = *r.ExactMatch
		} else if r.HeldOutLoss != nil {
			out.reads, out.loss = true, *r.HeldOutLoss
		}
	}
	return out
}

// used returns the share of a budget that was used at a report.
func used(r *track.Report, b train.Budget) float64 {
	switch {
	case b.Steps > 0:
		return float64(r.Step) / float64(b.Steps)
	case b.Examples > 0:
		return float64(r.Examples) / float64(b.Examples)
	}
	return r.Seconds / b.Time.Seconds()
}
