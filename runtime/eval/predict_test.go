package eval

import (
	"context"
	"slices"
	"testing"

	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/task"
)

// sequences are the tasks of decoder-only models, and one task of encoder-decoder models.
var sequences = map[string]task.Config{
	"addition":    {Kind: "addition", Sequence: true, DigitsLo: 1, DigitsHi: 6, Base: 10, Reversed: true, ReversedOperands: true},
	"subtraction": {Kind: "subtraction", Sequence: true, DigitsLo: 1, DigitsHi: 6, Base: 10, Reversed: true, ReversedOperands: true},
	"hints":       {Kind: "addition", Sequence: true, DigitsLo: 1, DigitsHi: 6, Base: 10, Reversed: true, ReversedOperands: true, Hints: "cyclic"},
	"or":          {Kind: "or", Sequence: true, DigitsLo: 1, DigitsHi: 6, Base: 2},
	"sort":        {Kind: "sort", Sequence: true, DigitsLo: 1, DigitsHi: 3, LengthLo: 1, LengthHi: 5, Base: 10, Reversed: true, ReversedOperands: true},
	"file":        {Kind: "file", Sequence: true, Separator: ": ", Problems: "é: 1\nab c: 12\nx: yz\n12ab: 3\nxyzx: 312\n"},
	"successor":   {Kind: "successor", DigitsLo: 1, DigitsHi: 6, Base: 10, Reversed: true},
}

// cellsOf returns problems of several cells.
func cellsOf(t *task.Task) (all []task.Problem) {
	for i := 1; i <= 4; i++ {
		for j := 1; j <= 4; j++ {
			all = append(all, t.Cell(i, j, 30)...)
		}
	}
	return all
}

// TestVerificationIsDecoding compares verification with decoding on problems that a pupil
// answers with all kinds of mistakes: wrong digits, ends too early and too late, wrong hints.
func TestVerificationIsDecoding(t *testing.T) {
	ctx := context.Background()
	for name, cfg := range sequences {
		for _, metric := range []string{ExactMatch, FirstToken} {
			p, problems := newPupil(t, cfg, cellsOf)
			m := p.model()
			verified, err := m.Verify(ctx, problems, metric)
			if err != nil {
				t.Fatal(err)
			}
			greedy, err := m.Greedy(ctx, problems, metric)
			if err != nil {
				t.Fatal(err)
			}
			count := 0
			for i := range problems {
				if verified[i] != greedy[i] {
					t.Errorf("%s, %s: %s: verified %v, decoded %v", name, metric, p.task.Written(problems[i]), verified[i], greedy[i])
				}
				if verified[i] {
					count++
				}
			}
			if count < len(problems)/10 || count > len(problems)*99/100 {
				t.Errorf("%s, %s: %d of %d right: the test wants both kinds", name, metric, count, len(problems))
			}
		}
	}
}

// TestHintsAreNotJudged finds right answers with a wrong hint, which a single pass over the
// right answer would not find.
func TestHintsAreNotJudged(t *testing.T) {
	p, problems := newPupil(t, sequences["hints"], cellsOf)
	m := p.model()
	replies, err := m.Decode(context.Background(), problems)
	if err != nil {
		t.Fatal(err)
	}
	right, err := m.Verify(context.Background(), problems, ExactMatch)
	if err != nil {
		t.Fatal(err)
	}
	letters := 0
	for i, x := range problems {
		b, _ := p.task.Batch([]task.Problem{x})
		if right[i] && !slices.Equal(replies[i], b.Labels[p.task.Prompt(x)-1:]) {
			letters++
		}
	}
	if letters == 0 {
		t.Error("no answer has a wrong letter and counts")
	}
}

// TestSortingNeedsNoEnd accepts sorted arrays with and without an end.
func TestSortingNeedsNoEnd(t *testing.T) {
	p, problems := newPupil(t, sequences["sort"], cellsOf)
	m := p.model()
	for _, x := range problems {
		b, _ := p.task.Batch([]task.Problem{x})
		r := m.rule(form{b.T, p.task.Prompt(x), 1}, ExactMatch)
		answer := slices.Clone(b.Labels[r.first:])
		pred := slices.Clone(b.Labels)
		pred[b.T-1]++
		if r.verify(pred, b.Labels) != right {
			t.Fatalf("%s: without an end it does not count", p.task.Written(x))
		}
		if answer[len(answer)-1]++; !r.accepts(x, answer, b.Labels) {
			t.Fatalf("%s: a reply without an end does not count", p.task.Written(x))
		}
		pred[r.first]++
		if r.verify(pred, b.Labels) == right {
			t.Fatalf("%s: a wrong first token counts", p.task.Written(x))
		}
	}
}

// TestAnswersDoNotDependOnOthers decodes problems one by one and together: problems of one
// form, and, in fewer launches, problems of any form.
func TestAnswersDoNotDependOnOthers(t *testing.T) {
	ctx := context.Background()
	for name, cfg := range sequences {
		p, problems := newPupil(t, cfg, cellsOf)
		problems = full.Some(problems, len(problems)/2)
		m := p.model()
		var alone [][]int32
		for _, x := range problems {
			reply, err := m.Decode(ctx, []task.Problem{x})
			if err != nil {
				t.Fatal(err)
			}
			alone = append(alone, reply[0])
		}
		verified, err := m.Verify(ctx, problems, ExactMatch)
		if err != nil {
			t.Fatal(err)
		}
		for _, machine := range []*fakeMachine{{}, {room: 16}, {room: len(problems)}} {
			var launches []int
			for _, m.Plan.AnyLength = range []bool{false, cfg.Sequence} {
				machine.worker, machine.launches = fakeWorker{pupil: p}, 0
				m.Machine = machine
				together, err := m.Decode(ctx, problems)
				if err != nil {
					t.Fatal(err)
				}
				for i, x := range problems {
					if !slices.Equal(alone[i], together[i]) {
						t.Fatalf("%s: %v alone, %v among others", p.task.Written(x), alone[i], together[i])
					}
				}
				if again, err := m.Verify(ctx, problems, ExactMatch); err != nil || !slices.Equal(again, verified) {
					t.Fatalf("%s, room for %d: other answers are right, %v", name, machine.room, err)
				}
				launches = append(launches, machine.launches)
			}
			if few := launches[1] < launches[0]; few != cfg.Sequence {
				t.Errorf("%s, room for %d: %d launches of problems of one form, %d of any", name, machine.room, launches[0], launches[1])
			}
		}
	}
}

func TestSettle(t *testing.T) {
	ctx := context.Background()
	p, problems := newPupil(t, sequences["addition"], cellsOf)
	m := p.model()
	replies, runs, err := m.Settle(ctx, problems, 8)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[int]int{}
	for i, x := range problems {
		counts[runs[i]]++
		for n := 1; n <= runs[i]; n++ {
			with := *m
			with.Runs = n
			now, _ := with.Decode(ctx, []task.Problem{x})
			if same := slices.Equal(now[0], replies[i]); n >= runs[i]-1 && !same {
				t.Fatalf("%s settled after %d runs, but after %d it is %v, not %v", p.task.Written(x), runs[i], n, now[0], replies[i])
			}
		}
	}
	if counts[2] == 0 || counts[3] == 0 || counts[1]+counts[5] > 0 {
		t.Errorf("answers by runs: %v; the pupil calms down after %d", counts, p.calm)
	}
}

// TestRoomForALetter checks how many tokens are decoded: the answer, and one token more if
// hints are not judged. This follows the authors' code, which allows two tokens for each digit
// and for the end.
func TestRoomForALetter(t *testing.T) {
	for name, more := range map[string]int{"addition": 0, "hints": 1, "sort": 0} {
		p, problems := newPupil(t, sequences[name], cellsOf)
		b, err := p.task.Batch(problems[:1])
		if err != nil {
			t.Fatal(err)
		}
		r := p.model().rule(form{b.T, p.task.Prompt(problems[0]), 1}, ExactMatch)
		if got, want := r.limit(b.Labels), b.T-p.task.Prompt(problems[0])+1+more; got != want {
			t.Errorf("%s: %d tokens are decoded, want %d", name, got, want)
		}
	}
}

// TestRunsByLength answers problems together, each with as many runs as its length determines.
// The answers are the same as alone with that number of runs.
func TestRunsByLength(t *testing.T) {
	ctx := context.Background()
	cfg := sequences["addition"]
	cfg.Recurrences = config.Recurrences{Plus: -1, Digits: 1}
	p, problems := newPupil(t, cfg, cellsOf)
	m := p.model()
	m.Plan.AnyLength = true
	m.Machine = &fakeMachine{worker: fakeWorker{pupil: p}, room: len(problems)}
	m.Runs = 0
	together, err := m.Decode(ctx, problems)
	if err != nil {
		t.Fatal(err)
	}
	verified, err := m.Verify(ctx, problems, ExactMatch)
	if err != nil {
		t.Fatal(err)
	}
	differ := 0
	for i, x := range problems {
		alone := *m
		alone.Runs = max(1, max(len(x.Operands[0]), len(x.Operands[1]))-1)
		want, err := alone.Decode(ctx, []task.Problem{x})
		if err != nil {
			t.Fatal(err)
		}
		right, err := alone.Verify(ctx, []task.Problem{x}, ExactMatch)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(together[i], want[0]) || verified[i] != right[0] {
			t.Fatalf("%s: %v with others, %v alone with %d runs", p.task.Written(x), together[i], want[0], alone.Runs)
		}
		said, err := m.Reread(ctx, x, together[i])
		if err != nil || len(said) != alone.Runs {
			t.Fatalf("%s: %d runs are shown, want %d, %v", p.task.Written(x), len(said), alone.Runs, err)
		}
		alone.Runs = 2
		if other, _ := alone.Decode(ctx, []task.Problem{x}); !slices.Equal(other[0], want[0]) {
			differ++
		}
	}
	if differ == 0 {
		t.Error("no answer depends on the number of runs")
	}
}
