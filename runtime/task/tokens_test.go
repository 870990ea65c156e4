package task_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/runtime/tokens"

	"github.com/arithlang/mlc/compiler/tasks"
	. "github.com/arithlang/mlc/runtime/task"
)

// TestWordsVector is a worked example: a filler, the end, the digit 7, then words and the
// separator by their bytes. For Abacus a word of one digit is a digit.
func TestWordsVector(t *testing.T) {
	cfg := reading("one plus 7 -> x y\nplus 7 7 -> x\n", 0)
	cfg.Separator, cfg.Tokens = " -> ", tokens.Rule{Words: true}
	task := must(t, cfg, 1)
	var shown []string
	for id := range int32(task.Vocab()) {
		shown = append(shown, task.Symbol(id))
	}
	if want := []string{"_", "$", "7", " -> ", "one", "plus", "x", "y"}; !slices.Equal(shown, want) {
		t.Fatalf("the vocabulary is %q, want %q", shown, want)
	}
	p, err := task.Parse(" one  plus 7")
	if err != nil || p.Answer != "x y" || task.Text(p) != "one plus 7" || task.Written(p) != "one plus 7 -> x y" || task.Prompt(p) != 4 {
		t.Fatalf("%q, answer %q: %v", task.Written(p), p.Answer, err)
	}
	w, err := task.Width(p)
	if err != nil || w != 6 || task.Rows() != 6 {
		t.Fatalf("%d rows of at most %d: %v", w, task.Rows(), err)
	}
	b := task.NewBatch(1, w)
	task.Encode(p, w, b)
	want := Batch{B: 1, T: 6, Rows: 6, Target: []int32{4, 5, 2, 3, 6, 7}, Labels: []int32{-1, -1, -1, 6, 7, 1}}
	if diff := cmp.Diff(want, b); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got, want := task.Runs([]int32{5, 2, 2, 3}), []int32{0, 1, 2, 0}; !slices.Equal(got, want) {
		t.Errorf("Abacus rows are %v, want %v", got, want)
	}
	if got := task.Decode(p, b.Labels[3:]); got != "x y" || !task.Correct(p, b.Labels[3:]) {
		t.Errorf("its own answer decodes to %q", got)
	}
	if got := task.Lengths(); !slices.Equal(got, []int{3}) {
		t.Errorf("prompts have the lengths %v", got)
	}
}

// TestNumbersVector has all numbers as tokens, even unused ones.
func TestNumbersVector(t *testing.T) {
	cfg := reading("4 + 3=2\n0 + 1=1\n", 0)
	cfg.Tokens = tokens.Rule{Numbers: 5}
	task := must(t, cfg, 1)
	if task.Vocab() != 2+5+2 {
		t.Errorf("%d tokens", task.Vocab())
	}
	p, err := task.Parse("4+3")
	if err != nil || p.Answer != "2" || task.Written(p) != "4 + 3=2" {
		t.Fatalf("%q: %v", task.Written(p), err)
	}
	b, err := task.One(p)
	if want := (Batch{B: 1, T: 5, Rows: 5, Target: []int32{6, 7, 5, 8, 4}, Labels: []int32{-1, -1, -1, 4, 1}}); err != nil || !cmp.Equal(want, b) {
		t.Errorf("%v, want %v: %v", b, want, err)
	}
	for text, want := range map[string]string{
		"4+5":  `"4+5": 5 is no whole number below 5; expected a prompt as the file has them`,
		"4-1":  `"4-1": the file has no "-", its tokens are 0 1 2 3 4 + =; expected a prompt as the file has them`,
		" = 1": `" = 1": the prompt is missing; expected a prompt as the file has them`,
	} {
		if _, err := task.Parse(text); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestWordsAreDrawn checks that batches of words need no allocations, like those with characters.
func TestWordsAreDrawn(t *testing.T) {
	var text strings.Builder
	for n := range 40 {
		fmt.Fprintf(&text, "square of %d=%d\n", n, n*n)
	}
	cfg := with(reading(text.String(), 0.1), func(c *Config) { c.RandomPad, c.Tokens = 0.2, tokens.Rule{Numbers: 2000} })
	task := must(t, cfg, 5)
	d := task.NewDrawer(0, 8)
	k := int64(0)
	for ; k < 6400; k += 16 {
		if _, err := d.Train(k, 16); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(50, func() { d.Train(k, 16); k += 16 }); n > 0 {
		t.Errorf("%g allocations a batch", n)
	}
}

// TestTestFile checks that the lines of the other file are tested, and never trained on or held
// out.
func TestTestFile(t *testing.T) {
	const tests = "100²=10000\n7²=49\n"
	for _, c := range []struct {
		share float64
		held  int
	}{{0, 0}, {0.25, 10}} {
		cfg := reading(squares(), c.share)
		cfg.Tests = tests
		task := must(t, cfg, 3)
		for k := range int64(80) {
			for _, p := range []Problem{task.Train(k), task.HeldOut(k)} {
				if p.Operands[0] == "100²" {
					t.Fatal("a line of the test file is drawn")
				}
			}
		}
		if rest := task.Config().Examples - TrainedOf(task); rest != int64(c.held) {
			t.Errorf("%d of 40 lines are held out, want %d", rest, c.held)
		}
		var got []string
		for _, n := range task.Lengths() {
			for _, p := range task.Cell(n, 0, 10) {
				got = append(got, task.Written(p))
			}
		}
		if want := []string{"7²=49", "100²=10000"}; !slices.Equal(got, want) || task.Tested() != OfTestFile {
			t.Errorf("tested are %q: %v, want %v", task.Tested(), got, want)
		}
		if p, err := task.Parse("100²"); err != nil || p.Answer != "10000" || task.Rows() != 10 {
			t.Errorf("the answer to 100² is %q, in %d rows: %v", p.Answer, task.Rows(), err)
		}
		if i, _ := task.Extent(); i != 3 {
			t.Errorf("trained up to %d", i)
		}
	}
	if held, all := must(t, reading(squares(), 0.25), 3), must(t, reading(squares(), 0), 3); held.Tested() != OfHeldOut || all.Tested() != OfTraining {
		t.Errorf("tested are %q and %q", held.Tested(), all.Tested())
	}
	cfg := reading(squares(), 0)
	cfg.Tests = "1=1\n2\n"
	if _, err := tasks.New(cfg, 0); err == nil || !strings.Contains(err.Error(), "the tests: line 2 is no problem") {
		t.Errorf("got %v", err)
	}
}

// TestRetest tests the problems of a file that the task does not name, as if it named it.
func TestRetest(t *testing.T) {
	const tests = "100²=10000\n7²=49\n7²=48\n"
	cfg := reading(squares(), 0.25)
	cfg.Tests = tests
	named, later := must(t, cfg, 3), must(t, reading(squares(), 0.25), 3)
	if err := later.Retest("\ufeff" + strings.ReplaceAll(strings.TrimSuffix(tests, "\n"), "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	if got, want := later.Lengths(), named.Lengths(); !slices.Equal(got, want) || later.Tested() != OfTestFile {
		t.Fatalf("%s of %d tokens, want %d", later.Tested(), got, want)
	}
	for _, n := range named.Lengths() {
		if got, want := later.Cell(n, 0, 10), named.Cell(n, 0, 10); !cmp.Equal(got, want) {
			t.Errorf("%d tokens: %v, want %v", n, got, want)
		}
		got, err := later.One(later.Cell(n, 0, 10)[0])
		want, err2 := named.One(named.Cell(n, 0, 10)[0])
		if err != nil || err2 != nil || !cmp.Equal(got, want) {
			t.Errorf("%d tokens are written %v, want %v: %v, %v", n, got, want, err, err2)
		}
	}
	for k := range int64(80) {
		if got, want := later.Train(k), named.Train(k); !cmp.Equal(got, want) {
			t.Fatalf("example %d is %v, want %v", k, got, want)
		}
	}
	for text, want := range map[string]string{"": "a problem a line", "7²=49\n8²\n": "line 2: ", "7²=49\nx=1\n": "line 2: ", "=1\n": "line 1: ", "7²=\n": "line 1: "} {
		if err := later.Retest(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if err := must(t, Config{Kind: "successor", Base: 10, DigitsLo: 1, DigitsHi: 2}, 0).Retest(tests); err == nil {
		t.Error("a task without a file has taken one")
	}
}
