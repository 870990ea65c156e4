package runtime

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/track"
)

// fewToy is a toy with so few training problems that none are held out, although some were to
// be: the successors of digits.
func fewToy() program.Model {
	m := testedToy()
	m.Task.Below, m.Task.DigitsLo, m.Task.DigitsHi, m.Task.Holdout = 0, 1, 1, 0.01
	m.Eval.Digits, m.Eval.During.Digits = []int{1, 6}, []int{1, 6}
	return m
}

// TestNoneIsHeldOut trains when a share of few problems leaves none. This is reported once.
// Reports have no exact match of held-out problems, tests during training use only other
// lengths, and without other lengths nothing is saved or stopped by them.
func TestNoneIsHeldOut(t *testing.T) {
	m := fewToy()
	dir := filepath.Join(t.TempDir(), "run")
	s := call(t, m, "", "train", "--out", dir)
	if s.code != 0 || strings.Count(s.err, "no held-out problems: task.holdout = 1 % of 10 leaves none") != 1 {
		t.Fatalf("exit %d\n%s", s.code, s.err)
	}
	reports, err := track.All(damage.At(dir))
	if err != nil || len(reports) == 0 {
		t.Fatal(len(reports), err)
	}
	for _, r := range reports {
		if r.ExactMatch != nil || r.HeldOutLoss != nil {
			t.Errorf("step %d reports held-out problems: %+v", r.Step, r)
		}
	}
	tests, err := track.Tests(damage.At(dir), math.MaxInt)
	if err != nil || len(tests) == 0 {
		t.Fatal(len(tests), err)
	}
	for _, x := range tests {
		if slices.ContainsFunc(x.Lengths, func(l track.Length) bool { return l.Length == 1 }) || len(x.Lengths) != 1 {
			t.Errorf("step %d tests %+v", x.Step, x.Lengths)
		}
	}
	r, err := eval.Load(damage.At(filepath.Join(dir, "eval")))
	if err != nil || r.TrainedOn != 10 || !strings.Contains(s.out+s.err, "10 problems have trained lengths, and about 10 of them were trained on") {
		t.Errorf("%+v, %v\n%s%s", r, err, s.out, s.err)
	}
	for name, change := range map[string]func(m *program.Model){
		"E0333: train.keep counts the length 1": func(m *program.Model) { m.Train.Best = &config.Criterion{At: 1} },
		"E0333: train.keep goes by tests":       func(m *program.Model) { m.Eval.During.Digits = []int{1} },
		"E0333: train.stop goes by tests": func(m *program.Model) {
			m.Eval.During.Digits, m.Train.Best, m.Train.Plateau = []int{1}, nil, &config.Plateau{Patience: 2}
		},
		"no problem is held out": func(m *program.Model) { m.Train.Stop = &config.Stop{AtLeast: 0.9, HeldOut: true} },
	} {
		m := fewToy()
		change(&m)
		if s := call(t, m, "", "train", "--out", filepath.Join(t.TempDir(), "run")); s.code == 0 || !strings.Contains(s.err, name) {
			t.Errorf("%s: exit %d\n%s", name, s.code, s.err)
		}
	}
}
