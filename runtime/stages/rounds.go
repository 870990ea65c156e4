package stages

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/interrupt"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/rundir"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/task/rounds"
	"github.com/arithlang/mlc/runtime/train"
	"github.com/arithlang/mlc/runtime/world"
)

// A stage with rounds is one training. Before the first step of each round it saves and pauses.
// The weights at that point answer the problems of the round, and a file keeps the accepted
// answers. A process that was stopped can therefore continue from the checkpoint and the files
// of the rounds so far.

// roundsFile has a row for each round.
const roundsFile = "rounds.csv"

// leastKept is the least share of answers that a round is trained on: the model would memorize
// fewer ones.
const leastKept = 0.1

// answersFile is the file of a round's accepted answers. In its name rounds count from 1.
func answersFile(round int) string { return fmt.Sprintf("answers-%03d.json", round) }

// answers are the accepted answers of a round.
type answers struct {
	Name     string   `json:"name"`
	SpecHash string   `json:"spec_hash"`
	Seed     uint64   `json:"seed"`
	InitSeed *uint64  `json:"init_seed,omitempty"`
	Stage    string   `json:"stage"`
	Round    int      `json:"round"` // from 1
	From     int      `json:"from"`  // fewest digits of the operands
	To       int      `json:"to"`
	Step     int      `json:"step"` // the first step of the round
	Asked    int      `json:"asked"`
	Kept     int      `json:"kept"`
	Right    int      `json:"right"` // how many accepted answers are right; training does not see this
	Problems []string `json:"problems"`

	problems []task.Problem
}

// roundsRun is the training of a stage with rounds.
type roundsRun struct {
	*pipelineRun
	stage   *Stage
	trainer *train.Trainer
	own     *task.Task // without answers
	digits  int        // most digits of its true answers
	rounds  config.Rounds
	seed    uint64
	done    []answers // the rounds so far
}

// roundsOf returns the rounds of a stage, or nil.
func (j *pipelineRun) roundsOf(s *Stage, t *train.Trainer) *roundsRun {
	if !t.Task.Config().Rounds.Any() {
		return nil
	}
	return &roundsRun{pipelineRun: j, stage: s, trainer: t, own: t.Task, digits: t.Task.Trained(), rounds: t.Task.Config().Rounds, seed: t.Config.Seed}
}

// train trains the stage, round after round, from its present state.
func (r *roundsRun) train(ctx context.Context) error {
	t, n := r.trainer, r.rounds.Count(r.digits)
	for {
		round := r.rounds.At(r.digits, t.State.Step, t.Config.Budget.Steps)
		if err := r.prepare(ctx, round); err != nil {
			return err
		}
		if t.Pause = 0; round+1 < n {
			t.Pause = float64(round+1) / float64(n)
		}
		if err := r.cmd.ToEnd(ctx, r.of(r.stage), t, r.goOn()); !errors.Is(err, train.ErrPaused) {
			return err
		}
	}
}

// check returns an error if the rounds cannot be trained. Asked is the budget of the steps so
// far.
func (r *roundsRun) check(asked train.Budget) error {
	budget, n := r.trainer.Config.Budget, r.rounds.Count(r.digits)
	switch err := inSteps(r.stage, budget); {
	case err != nil:
		return err
	case budget.Steps < n:
		return world.Usagef("%s has %d rounds, and a budget of %s: give a step at least for each", r.stage.Name, n, budget)
	case r.trainer.State.Step > 0 && budget != asked:
		return world.Usagef("the rounds of %s have begun with a budget of %s, which determines when each round begins: leave %s out, or train in another --out", r.stage.Name, asked, budget)
	case r.app.Ranks.Several():
		return fmt.Errorf("%s has rounds, which only a single process can train: use --ranks none", r.stage.Name)
	}
	return nil
}

// inSteps requires a budget in steps for a stage with rounds.
func inSteps(s *Stage, budget train.Budget) error {
	if s.Model != nil && s.Model.Task.Rounds.Any() && budget.Steps == 0 {
		return world.Usagef("%s has rounds, which divide the steps, and a budget of %s: give the budget in steps", s.Name, budget)
	}
	return nil
}

// prepare makes a round the current one. It reads the answers of earlier rounds, and reads or
// asks for the answers of this one.
func (r *roundsRun) prepare(ctx context.Context, round int) error {
	for k := len(r.done); k <= round; k++ {
		a, err := r.read(k)
		begins := r.rounds.Begin(r.digits, k, r.trainer.Config.Budget.Steps)
		if k == round && r.trainer.State.Step == begins && (record.Missing(err) || err == nil && a.Step != begins) {
			a, err = r.ask(ctx, k)
		}
		if err == nil && a.Step != begins {
			err = damage.In(r.path(k), damage.Errorf("it is of step %d, and its round begins at step %d", a.Step, begins))
		}
		if err != nil {
			return err
		}
		r.done = append(r.done, a)
	}
	var kept [][]task.Problem
	for _, a := range r.done {
		kept = append(kept, a.problems)
	}
	r.trainer.Learn(rounds.WithAnswers(r.own, kept))
	return r.table()
}

func (r *roundsRun) path(round int) string {
	return filepath.Join(r.place(r.stage), answersFile(round+1))
}

// ask lets the model answer the problems of a round, and saves the accepted answers.
func (r *roundsRun) ask(ctx context.Context, round int) (a answers, err error) {
	lengths := r.rounds.Lengths(r.digits, round)
	a = answers{Name: r.Record.Name, SpecHash: r.Record.SpecHash, Seed: r.seed, InitSeed: r.trainer.Config.InitSeed, Stage: r.stage.Name, Round: round + 1,
		From: lengths.Lo, To: lengths.Hi, Step: r.trainer.State.Step, Asked: r.rounds.Samples}
	replies, err := r.replies(ctx, round)
	if err != nil {
		return a, err
	}
	a.problems = keep(r.rounds, replies)
	a.Kept, a.Right = len(a.problems), rounds.Truly(r.own, a.problems)
	if least := max(1, int(leastKept*float64(a.Asked))); a.Kept < least {
		return a, fmt.Errorf("round %d: %[4]d of %[2]d answers to problems of %[3]s digits are accepted, and training needs at least %[5]d to learn more than these. Train the stage before it longer, or take a smaller step in rounds",
			round+1, a.Asked, digitsOf(a), a.Kept, least)
	}
	for _, p := range a.problems {
		a.Problems = append(a.Problems, rounds.Answered(r.own, p))
	}
	text, err := json.Marshal(&a)
	if err != nil {
		return a, err
	}
	if err := errors.Join(r.Check(), ckpt.WriteFile(r.path(round), damage.SealIndented(text))); err != nil {
		return a, fmt.Errorf("cannot save the answers of round %d: %w", round+1, err)
	}
	r.cmd.Say(r.app, "round %d of %d: %[5]d of %[3]d answers to problems of %[4]s digits are accepted, %[6]d of them right\n",
		round+1, r.rounds.Count(r.digits), a.Asked, digitsOf(a), a.Kept, a.Right)
	return a, nil
}

// replies returns the model's replies to the problems of a round.
func (r *roundsRun) replies(ctx context.Context, round int) ([]polled, error) {
	var problems []task.Problem
	for k := range r.rounds.Samples {
		problems = append(problems, rounds.Asked(r.own, round, k)...)
	}
	m := r.stage.Model
	asked := eval.Model{Machine: r.trainer.Machine, Plan: &m.Plan, Task: r.own, Seed: r.seed, Runs: m.Eval.Loop}
	said, err := asked.Decode(ctx, problems)
	cause := context.Cause(ctx)
	if _, interrupted := interrupt.In(cause); err != nil && interrupted {
		return nil, fmt.Errorf("%w; continue with: %s", cause, r.goOn())
	}
	if err != nil {
		return nil, fmt.Errorf("round %d cannot be asked: %w", round+1, err)
	}
	var replies []polled
	for i, reply := range said {
		if i%r.rounds.Votes == 0 {
			replies = append(replies, polled{Problem: problems[i]})
		}
		of := &replies[len(replies)-1]
		answer, _ := rounds.Reads(r.own, problems[i], reply)
		of.Votes = append(of.Votes, answer)
	}
	return replies, nil
}

// digitsOf formats the lengths of a round.
func digitsOf(a answers) string {
	if a.From == a.To {
		return strconv.Itoa(a.To)
	}
	return fmt.Sprintf("%d to %d", a.From, a.To)
}

// read reads the accepted answers of a round.
func (r *roundsRun) read(round int) (a answers, err error) {
	path := r.path(round)
	if err := damage.At(path).ReadSealed(&a); err != nil {
		if record.Missing(err) && r.trainer.State.Step > r.rounds.Begin(r.digits, round, r.trainer.Config.Budget.Steps) {
			err = fmt.Errorf("%w: %s was trained on it: %s", err, r.stage.Name, bringBack)
		}
		return a, err
	}
	says := map[string]string{"name": a.Name, "spec_hash": a.SpecHash, "seed": strconv.FormatUint(a.Seed, 10), "init_seed": rundir.SeedText(a.InitSeed),
		"stage": a.Stage, "round": strconv.Itoa(a.Round)}
	err = rundir.Same(path, says, record.Path(r.Path),
		rundir.Says("name", r.Record.Name),
		rundir.Says("spec_hash", r.Record.SpecHash),
		rundir.Says("seed", strconv.FormatUint(r.seed, 10)),
		rundir.Says("init_seed", rundir.SeedText(r.trainer.Config.InitSeed)),
		rundir.Says("stage", r.stage.Name),
		rundir.Says("round", strconv.Itoa(round+1)))
	if err != nil {
		return a, err
	}
	for _, line := range a.Problems {
		p, err := rounds.ParseAnswered(r.own, line)
		if err != nil {
			return a, damage.In(path, damage.Errorf("%v", err))
		}
		a.problems = append(a.problems, p)
	}
	if a.Kept != len(a.problems) || a.Kept == 0 {
		return a, damage.In(path, damage.Errorf("it has %d problems instead of %d", len(a.problems), a.Kept))
	}
	return a, nil
}

// table writes a row for each round so far.
func (r *roundsRun) table() error {
	var b strings.Builder
	b.WriteString("round,from,to,step,asked,kept,right\n")
	for _, a := range r.done {
		fmt.Fprintf(&b, "%d,%d,%d,%d,%d,%d,%d\n", a.Round, a.From, a.To, a.Step, a.Asked, a.Kept, a.Right)
	}
	if err := errors.Join(r.Check(), ckpt.WriteFile(filepath.Join(r.place(r.stage), roundsFile), []byte(b.String()))); err != nil {
		return fmt.Errorf("cannot save %s: %w", roundsFile, err)
	}
	return nil
}

// A polled problem has the model's answers, one for each vote; "" is no answer.
type polled struct {
	Problem task.Problem // its Answer is not used
	Votes   []string
}

// keep returns the problems with accepted answers. More than half of the votes must agree, and
// the answer must be about as long as most answers to operands of the same length. (Lee et al.
// compare with the longest answer, which a single wrong one can set.)
func keep(rounds config.Rounds, replies []polled) []task.Problem {
	var agreed []task.Problem
	lengths := map[string]map[int]int{} // how many answers have each length, by the operands' lengths
	for _, r := range replies {
		p := r.Problem
		if p.Answer = majority(r.Votes); p.Answer == "" {
			continue
		}
		agreed = append(agreed, p)
		of := shapeOf(p)
		if lengths[of] == nil {
			lengths[of] = map[int]int{}
		}
		lengths[of][len(p.Answer)]++
	}
	if rounds.Length < 0 {
		return agreed
	}
	return slices.DeleteFunc(agreed, func(p task.Problem) bool {
		off := len(p.Answer) - commonest(lengths[shapeOf(p)])
		return max(off, -off) > rounds.Length
	})
}

// shapeOf formats the lengths of a problem's operands.
func shapeOf(p task.Problem) string {
	var all []int
	for _, x := range p.Operands {
		all = append(all, len(x))
	}
	return fmt.Sprint(all)
}

// commonest returns the most frequent length, the longest of several.
func commonest(counts map[int]int) int {
	return slices.MaxFunc(slices.Collect(maps.Keys(counts)), func(a, b int) int {
		return cmp.Or(cmp.Compare(counts[a], counts[b]), cmp.Compare(a, b))
	})
}

// majority returns the answer of more than half of the votes, or "".
func majority(votes []string) string {
	for _, v := range votes {
		n := 0
		for _, w := range votes {
			if w == v {
				n++
			}
		}
		if 2*n > len(votes) {
			return v
		}
	}
	return ""
}
