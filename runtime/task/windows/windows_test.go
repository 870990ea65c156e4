package windows_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/task"
)

// text is 203 characters, some of several bytes, and no two windows of it are equal.
func text() string {
	var b strings.Builder
	for n := range 29 {
		fmt.Fprintf(&b, "%02dü→%03d\n", n, n*n)
	}
	return string([]rune(b.String())[:203])
}

const length = 8

func newTask(t *testing.T, holdout float64) *task.Task {
	t.Helper()
	made, err := tasks.New(task.Config{Kind: "text", Sequence: true, Padded: true, LossOnAll: true, Problems: text(), LengthLo: length, LengthHi: length, Holdout: holdout}, 7)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestTraining compares windows of training with slices of the text, and their places with equal
// chances: chi-square of 174 degrees of freedom is below 240 with probability 0.999.
func TestTraining(t *testing.T) {
	made := newTask(t, 0.1)
	all := []rune(text())
	trained := all[:203-20]
	at := map[string]int{}
	for i := range len(trained) - length {
		at[string(trained[i:i+length+1])] = i
	}
	if len(at) != 175 {
		t.Fatalf("%d different windows, want 175", len(at))
	}
	const draws = 17500
	counts := make([]float64, len(at))
	for k := range int64(draws) {
		p := made.Train(k)
		i, ok := at[p.Operands[0]]
		if !ok || p.Answer != "" {
			t.Fatalf("problem %d is %q, which is no window of the trained part", k, p.Operands[0])
		}
		counts[i]++
	}
	chi := 0.0
	for _, n := range counts {
		chi += (n - 100) * (n - 100) / 100
	}
	if chi > 240 {
		t.Errorf("chi-square of the places is %.0f", chi)
	}
	if made.Set(false) != 23 || made.Set(true) != 3 || !made.HoldsOut() || !made.Reads() {
		t.Errorf("%d windows of training, %d held out", made.Set(false), made.Set(true))
	}
}

// TestLabels lays out a batch and compares it with the text, character by character.
func TestLabels(t *testing.T) {
	made := newTask(t, 0.1)
	var symbols []rune
	for _, r := range text() {
		if !slices.Contains(symbols, r) {
			symbols = append(symbols, r)
		}
	}
	slices.Sort(symbols)
	if got := strings.Join(made.Vocabulary(), ""); got != string(symbols) {
		t.Errorf("the vocabulary is %q, want %q", got, string(symbols))
	}
	const n = 6
	b, err := made.NewDrawer(0, 2).Train(40, n)
	if err != nil || b.B != n || b.T != length || b.Rows != n*length || b.Kept() != n*length {
		t.Fatalf("%d windows of %d rows, %d in all, %d labels: %v", b.B, b.T, b.Rows, b.Kept(), err)
	}
	for k := range n {
		window := []rune(made.Train(int64(40 + k)).Operands[0])
		one := b.Slice(k, k+1)
		for i := range length {
			if symbols[one.Target[i]] != window[i] || symbols[one.Labels[i]] != window[i+1] {
				t.Fatalf("row %d of window %d reads %q and predicts %q, want %q and %q", i, k, symbols[one.Target[i]], symbols[one.Labels[i]], window[i], window[i+1])
			}
		}
	}
}

// TestHeldOut wants the windows that tests read to be the tail, and each character after its first
// to be predicted once. Without a hold-out they are the whole text.
func TestHeldOut(t *testing.T) {
	for _, c := range []struct {
		share  float64
		tested string
	}{{0.1, string([]rune(text())[183:])}, {0.3, string([]rune(text())[203-61:])}, {0, text()}} {
		made := newTask(t, c.share)
		tail := []rune(c.tested)
		var want []string
		for at := 0; at < len(tail)-1; at += length {
			want = append(want, string(tail[at:min(at+length+1, len(tail))]))
		}
		var got []string
		for p := range made.Each(length, 0, 1<<20) {
			got = append(got, p.Operands[0])
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("with %g held out, tests read %q, want %q", c.share, got, want)
		}
		if c.share == 0 {
			continue
		}
		got = nil
		for k := range made.Set(true) {
			got = append(got, made.HeldOut(k).Operands[0])
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("with %g held out, reports read %q, want %q", c.share, got, want)
		}
	}
}

// TestTooShort wants both parts to have room for a window.
func TestTooShort(t *testing.T) {
	cfg := task.Config{Kind: "text", Sequence: true, Padded: true, LossOnAll: true, Problems: "abcdefghij", LengthLo: 4, LengthHi: 4}
	for _, c := range []struct {
		length  int
		holdout float64
		want    string // a part of the error
	}{
		{9, 0, ""}, {10, 0, "training has 10 characters of the text, and a window of length 10 needs 11"},
		{4, 0.5, ""}, {5, 0.5, "training has 5 characters"}, {4, 0.4, "4 characters of the text are held out, and a window of length 4 needs 5"},
		{4, 0.6, "training has 4 characters"},
	} {
		cfg.LengthLo, cfg.LengthHi, cfg.Holdout = c.length, c.length, c.holdout
		_, err := tasks.New(cfg, 1)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("length %d, holdout %g: %v, want %q", c.length, c.holdout, err, c.want)
		}
	}
}

// TestPrompts wants prompts of known characters only.
func TestPrompts(t *testing.T) {
	made := newTask(t, 0.1)
	if p, err := made.Parse("07ü"); err != nil || p.Operands[0] != "07ü" {
		t.Errorf("%v: %v", p, err)
	}
	for _, c := range []struct{ text, want string }{{"0é", `no "é", its characters are "\n0123456789ü→"`}, {"", "a character at least"}, {"0\xff", "no UTF-8"}} {
		if _, err := made.Parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}
