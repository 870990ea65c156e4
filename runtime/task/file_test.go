package task_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/tasks"
	. "github.com/arithlang/mlc/runtime/task"
)

// squares returns 40 problems with one or two digits.
func squares() string {
	var b strings.Builder
	for n := range 40 {
		fmt.Fprintf(&b, "%d²=%d\n", n, n*n)
	}
	return b.String()
}

func reading(text string, share float64) Config {
	return Config{Kind: "file", Sequence: true, Problems: text, Separator: "=", Holdout: share}
}

// TestFileVector is a worked example. The vocabulary is a filler, the end, the digits 0 1 4 7,
// then + - = c. The second = belongs to the answer.
func TestFileVector(t *testing.T) {
	task := must(t, reading("47+0=c=1\n-=7\n", 0), 1)
	if task.Vocab() != 10 {
		t.Errorf("%d tokens, want 10", task.Vocab())
	}
	p, err := task.Parse("47+0")
	if err != nil || p.Answer != "c=1" {
		t.Fatalf("the answer is %q: %v", p.Answer, err)
	}
	w, err := task.Width(p)
	if err != nil || w != 8 || task.Rows() != 8 {
		t.Fatalf("%d rows of at most %d: %v", w, task.Rows(), err)
	}
	b := task.NewBatch(1, w)
	task.Encode(p, w, b)
	want := Batch{B: 1, T: 8, Rows: 8, Target: []int32{4, 5, 6, 2, 8, 9, 8, 3}, Labels: []int32{-1, -1, -1, -1, 9, 8, 3, 1}}
	if diff := cmp.Diff(want, b); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got, want := task.Runs(b.Target), []int32{1, 2, 0, 1, 0, 0, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("Abacus rows are %v, want %v", got, want)
	}
	if got := task.Written(p); got != "47+0=c=1" || task.Prompt(p) != 5 || task.EOS() != 1 || task.Text(p) != "47+0" {
		t.Errorf("written %s, with a prompt of %d tokens and the end %d", got, task.Prompt(p), task.EOS())
	}
	answer := b.Labels[4:]
	if got := task.Decode(p, answer); got != "c=1" || !task.Correct(p, answer) || task.Correct(p, answer[:3]) {
		t.Errorf("its own answer decodes to %s", got)
	}
	var shown string
	for id := range int32(task.Vocab()) {
		shown += task.Symbol(id)
	}
	if shown != "_$0147+-=c" {
		t.Errorf("the vocabulary is %s", shown)
	}
}

// TestFileIsWalked checks that an epoch has every line once, that epochs have different orders,
// and that held-out lines never occur.
func TestFileIsWalked(t *testing.T) {
	for _, share := range []float64{0, 0.01, 0.1, 0.5} {
		task := must(t, reading(squares(), share), 3)
		held := map[string]bool{}
		for k := range int64(100) {
			held[task.Written(task.HeldOut(k))] = true
		}
		if task.HoldsOut() != (share > 0) {
			t.Errorf("hold-out of %g: %t", share, task.HoldsOut())
		}
		if want := max(1, int(40*share)); share > 0 && len(held) != want || share == 0 && len(held) != 40 {
			t.Errorf("hold-out of %g: %d problems, want %d", share, len(held), want)
		}
		epochs := [2][]string{}
		for k := range 2 * TrainedOf(task) {
			p := task.Train(k)
			text := task.Written(p)
			if share > 0 && held[text] {
				t.Fatalf("%s is held out and trained on", text)
			}
			epochs[k/TrainedOf(task)] = append(epochs[k/TrainedOf(task)], text)
		}
		if slices.Equal(epochs[0], epochs[1]) {
			t.Errorf("both epochs have the order %v", epochs[0])
		}
		for i := range epochs {
			slices.Sort(epochs[i])
		}
		if all := len(slices.Compact(slices.Clone(epochs[0]))); all != int(TrainedOf(task)) || !slices.Equal(epochs[0], epochs[1]) {
			t.Errorf("hold-out of %g: %d different lines of %d in an epoch", share, all, TrainedOf(task))
		}
	}
	a, b := must(t, reading(squares(), 0.5), 1), must(t, reading(squares(), 0.5), 2)
	if cmp.Equal(a.HeldOut(0), b.HeldOut(0)) && cmp.Equal(a.HeldOut(1), b.HeldOut(1)) {
		t.Error("two seeds hold out the same")
	}
}

// TestFileKeepsPromptsTogether checks that no prompt is both held out and trained on.
func TestFileKeepsPromptsTogether(t *testing.T) {
	for _, text := range []string{
		strings.Repeat(squares(), 3) + "7²=48\n",
		strings.Repeat("a=1\n", 50) + "b=1\n",
		"b=1\n" + strings.Repeat("a=1\n", 2) + "a=2\n",
	} {
		for seed := range uint64(20) {
			task := must(t, reading(text, 0.1), seed)
			held := map[string]bool{}
			rest := task.Config().Examples - TrainedOf(task)
			for k := range rest {
				held[task.HeldOut(k).Operands[0]] = true
			}
			for k := range TrainedOf(task) {
				if p := task.Train(k); held[p.Operands[0]] {
					t.Fatalf("seed %d: %s is held out and trained on", seed, p.Operands[0])
				}
			}
			if rest == 0 || TrainedOf(task) == 0 {
				t.Errorf("seed %d: %d lines are held out of %d", seed, rest, task.Config().Examples)
			}
		}
	}
}

// TestFileCells checks that cells are the held-out problems by prompt length.
func TestFileCells(t *testing.T) {
	task := must(t, reading(squares(), 0.5), 4)
	held := map[string]bool{}
	for k := range int64(20) {
		held[task.Written(task.HeldOut(k))] = true
	}
	if got := task.Lengths(); !slices.Equal(got, []int{2, 3}) {
		t.Fatalf("prompts have the lengths %v", got)
	}
	for _, n := range task.Lengths() {
		for _, p := range task.Cell(n, 0, 1000) {
			text := task.Written(p)
			if !held[text] || len([]rune(p.Operands[0])) != n {
				t.Errorf("%s is tested, of length %d", text, n)
			}
			delete(held, text)
		}
	}
	if len(held) > 0 {
		t.Errorf("not tested: %v", held)
	}
	if few, none := task.Cell(3, 0, 4), task.Cell(7, 0, 4); len(few) != 4 || len(none) != 0 {
		t.Errorf("%d problems of length 3 and %d of length 7", len(few), len(none))
	}
	if i, j := task.Extent(); i != 3 || j != 0 {
		t.Errorf("trained up to %d, %d", i, j)
	}
}

// TestFileParse parses prompts with known answers, with given ones and without any.
func TestFileParse(t *testing.T) {
	task := must(t, reading(squares()+"7²=50\n", 0.1), 1)
	for _, c := range []struct{ text, want string }{
		{"7²", "7²=49"}, {"7²=50", "7²=50"}, {"77", "77= "}, {"77=1", "77=1"}, {"123456789", "123456789= "},
		{"x", `the file has no "x"`}, {"=9", "the prompt is missing"}, {"7=x", `the file has no "x"`},
	} {
		p, err := task.Parse(c.text)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = task.Written(p)
		}
		if !strings.HasPrefix(got, c.want) && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%s gives %q, want %q", c.text, got, c.want)
		}
	}
	// Two characters and the separator leave 5 of the 8 of 39²=1521, for answers of at most 4.
	p, _ := task.Parse("77")
	if w, err := task.Width(p); err != nil || w != 7 {
		t.Errorf("%d rows, want the prompt's 3 and room for 4: %v", w, err)
	}
	if task.Correct(p, []int32{1}) {
		t.Error("an answer that is not known is right")
	}
}

// TestFileDrawer checks that batches equal the single examples, also with fillers, and that they
// use the Drawer's memory.
func TestFileDrawer(t *testing.T) {
	task := must(t, with(reading(squares(), 0.1), func(c *Config) { c.RandomPad, c.LossOnAll = 0.2, true }), 5)
	d := task.NewDrawer(0, 8)
	b, err := d.Train(0, 16)
	if err != nil {
		t.Fatal(err)
	}
	var problems []Problem
	for k := range int64(16) {
		p := task.Train(k)
		problems = append(problems, p)
		if w, err := task.Width(p); err != nil || w > task.Rows() {
			t.Errorf("%s has %d rows, more than %d: %v", task.Written(p), w, task.Rows(), err)
		}
		if plain := strings.ReplaceAll(task.Written(p), " ", ""); !strings.Contains(squares(), plain+"\n") {
			t.Errorf("%s is no line", plain)
		}
	}
	slices.SortStableFunc(problems, func(p, q Problem) int {
		a, _ := task.Width(p)
		b, _ := task.Width(q)
		return b - a
	})
	for lo := 0; lo < 16; lo += 8 {
		want, err := task.Batch(problems[lo : lo+8])
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Slice(lo, lo+8); !slices.Equal(got.Target, want.Target) || !slices.Equal(got.Labels, want.Labels) {
			t.Errorf("part at %d has the tokens\n%v, want\n%v", lo, got.Target, want.Target)
		}
	}
	k := int64(0)
	for ; k < 6400; k += 16 {
		d.Train(k, 16)
	}
	if n := testing.AllocsPerRun(50, func() { d.Train(k, 16); k += 16 }); n > 0 {
		t.Errorf("%g allocations a batch", n)
	}
}

func TestNewRefusesFiles(t *testing.T) {
	for want, cfg := range map[string]Config{
		"use a decoder-only model":    {Kind: "file", Problems: "a=b\n", Separator: "="},
		"no separator":                {Kind: "file", Sequence: true, Problems: "a=b\n"},
		"a file without problems":     reading("", 0),
		"line 2 is no problem":        reading("a=b\nc\n", 0),
		"line 1 is no problem":        reading("=b\n", 0),
		"line 3 is no problem":        reading("a=b\nc=d\ne=\n", 0),
		"one prompt has none to hold": reading("a=b\na=c\n", 0.1),
		"want fractions":              reading("a=b\n", 1),
	} {
		if _, err := tasks.New(cfg, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}
