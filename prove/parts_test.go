package prove

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/runtime/cuda"
)

// crowd is the number of parts in the phases of lanes.
const crowd = 5

// lanes is a table of phases whose parts look for each other.
func lanes() []phase {
	parts := func(*Env) (names []string, why string) {
		for i := range crowd {
			names = append(names, fmt.Sprint("part ", i))
		}
		return names, ""
	}
	mark := func(e *Env, what string, place int) string {
		return filepath.Join(e.dir, fmt.Sprint(what, "-", place))
	}
	awaitFile := func(ctx context.Context, path string) error {
		for ctx.Err() == nil {
			if _, err := os.Stat(path); err == nil {
				return nil
			}
			time.Sleep(time.Millisecond)
		}
		return fmt.Errorf("no %s", filepath.Base(path))
	}
	return []phase{
		// Each part ends after the next one: all must have begun.
		{name: "abreast", doc: "abreast", share: 1, parts: parts, abreast: true, run: func(ctx context.Context, e *Env, p *Part) error {
			if next := e.place + 1; next < crowd {
				if err := awaitFile(ctx, mark(e, "end", next)); err != nil {
					return err
				}
			}
			return os.WriteFile(mark(e, "end", e.place), nil, 0o600)
		}},
		// No part meets another.
		{name: "alone", doc: "alone", share: 1, parts: parts, run: func(_ context.Context, e *Env, p *Part) error {
			path := mark(e, "alone", 0)
			f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return err
			}
			time.Sleep(20 * time.Millisecond)
			return errors.Join(f.Close(), os.Remove(path))
		}},
		// The second dies: later parts may not rely on it if they begin afterwards.
		{name: "dying", doc: "dying", share: 1, parts: parts, abreast: true, run: func(ctx context.Context, e *Env, p *Part) error {
			if e.place == 1 {
				os.Exit(3)
			}
			p.Reason = fmt.Sprint("before: ", e.before)
			return nil
		}},
		// There is time for the first.
		{name: "half", doc: "half", share: 0.3, parts: parts, run: func(ctx context.Context, e *Env, p *Part) error {
			if e.place == 0 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}},
		{name: "device", doc: "device", share: 1, parts: parts, abreast: true, run: func(_ context.Context, e *Env, p *Part) error {
			if _, err := os.Stat(mark(e, "begun", 0)); e.place > 0 || !errors.Is(err, fs.ErrNotExist) {
				return errors.New("the first part is not alone")
			}
			return errors.Join(os.WriteFile(mark(e, "begun", 0), nil, 0o600), cuda.ErrUnavailable)
		}},
	}
}

// proveLanes runs phases of lanes on a machine with so many cores, and returns the parts in the
// order of their ends.
func proveLanes(t *testing.T, cores int, only ...string) (*Result, []string) {
	t.Helper()
	var said []string
	o := Options{Device: "sim", Budget: time.Minute, Only: only, Command: itself(), cores: cores, memory: math.Inf(1)}
	o.Say = func(_ string, p *Part) { said = append(said, p.Name) }
	r, err := run(t.Context(), o, append(faults(), lanes()...))
	if err != nil {
		t.Fatal(err)
	}
	return r, said
}

// TestAbreast checks that parts run at once after one has found the device, and are reported in
// order, and that parts that measure time run alone.
func TestAbreast(t *testing.T) {
	t.Parallel()
	r, said := proveLanes(t, 2*crowd, "right", "abreast", "alone")
	if r.Verdict != Pass {
		t.Errorf("%s", r.Page())
	}
	want, _ := lanes()[0].parts(nil)
	for _, p := range r.Phases[1:] {
		var got []string
		for _, part := range p.Parts {
			got = append(got, part.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the parts are %v", p.Name, got)
		}
	}
	if said = said[1 : 1+crowd]; !slices.Equal(slices.Sorted(slices.Values(said)), want) {
		t.Errorf("they have ended as %v", said)
	}
	r, said = proveLanes(t, 2*crowd, "device")
	if r.Verdict != Unavailable || len(said) != 1 || len(r.Phases[0].Parts) != 1 {
		t.Errorf("without a device: %v\n%s", said, r.Page())
	}
}

// TestTrusted checks which earlier parts a part may rely on.
func TestTrusted(t *testing.T) {
	t.Parallel()
	r, _ := proveLanes(t, 2, "dying") // one after the other
	for i, p := range r.Phases[0].Parts {
		want := []string{"before: []", "", "before: [0]", "before: [0 2]", "before: [0 2 3]"}[i]
		if p.Reason != want && i != 1 || i == 1 && p.Verdict != Fail {
			t.Errorf("%s: %s, %q, want %q", p.Name, p.Verdict, p.Reason, want)
		}
	}
}

// TestHowMany counts the parts that run at once.
func TestHowMany(t *testing.T) {
	for _, c := range []struct {
		cores           int
		gib             float64
		abreast, opened bool
		want            int
	}{
		{16, 64, true, true, 8}, {64, math.Inf(1), true, true, mostAbreast}, {6, 64, true, true, 3}, {1, 64, true, true, 1},
		{16, 11, true, true, 3}, {16, 0, true, true, 1}, {16, 64, true, false, 1}, {16, 64, false, true, 1},
	} {
		j := job{opened: c.opened}
		j.cores, j.memory = c.cores, c.gib*(1<<30)
		p := phase{abreast: c.abreast, env: []string{"A=1"}}
		if got := j.abreast(p); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
		if got := strings.Join(j.env(p), " "); !strings.HasPrefix(got, "A=1") || strings.Contains(got, "GOMAXPROCS=") != (c.want > 1) {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestLimits checks that a part for which others wait gets half the time of its phase, but at
// least twice what it needs. If its phase has no time left, it gets some of a long remaining
// budget.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		device   string
		abreast  bool
		place, n int
		phase    time.Duration // that it has left
		all      time.Duration
		want     time.Duration
	}{
		{"sim", false, 0, 9, 80, 200, 40},
		{"sim", false, 8, 1, 80, 200, 80},
		{"sim", true, 3, 6, 80, 200, 80},
		{"sim", true, 3, 6, 0, 200, 1},
		{"sim", true, 3, 6, 0, 3, 0},
		{"cuda", false, 1, 9, 80, 200, 40},
		{"cuda", false, 1, 9, 14, 200, 14},
		{"cuda", false, 1, 9, 30, 200, 20},
		{"cuda", true, 1, 9, 0, 200, 0},
		{"cuda", true, 0, 9, 0, 200, 10},
		{"cuda", true, 0, 9, 0, 39, 0},
	} {
		j := job{Options: Options{Device: c.device, cores: 16, memory: math.Inf(1)}, opened: true, end: time.Now().Add(c.all * time.Second)}
		j.end = j.end.Add(time.Second / 2)
		got := j.limit(phase{abreast: c.abreast, needs: seconds(10)}, request{Place: c.place}, time.Now().Add(c.phase*time.Second), c.n)
		if got.Round(time.Second) != c.want*time.Second {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestNeeds checks that parts without enough time are not started.
func TestNeeds(t *testing.T) {
	table := faults()[:1]
	table[0].needs = seconds(10)
	said := 0
	j := job{Options: Options{Device: "cuda", Command: []string{"/nowhere/at/all"}, Say: func(string, *Part) { said++ }}, opened: true, end: time.Now().Add(8 * time.Second)}
	j.keep = func() error { return nil }
	r := &Result{Phases: []*Phase{{Name: table[0].name}}}
	if err := j.phase(t.Context(), table[0], table, r.Phases[0]); err != nil {
		t.Error(err)
	}
	if r.judge(); said > 0 || r.Verdict != Cut || !strings.Contains(r.Page(), "no time for 1 of 1 parts") {
		t.Errorf("%d said\n%s", said, r.Page())
	}
}

// TestLittleTime finds out that there is no GPU, however little time there is.
func TestLittleTime(t *testing.T) {
	t.Setenv("MLC_LIBCUDA", "/nowhere/at/all")
	r, err := run(t.Context(), Options{Device: "cuda", Budget: 6 * time.Second, Command: itself()}, phases())
	if err != nil || r.Verdict != Unavailable {
		t.Errorf("%v\n%s", err, r.Page())
	}
}

// TestLateEnd checks that a part that had to be stopped is a failure only if it had plenty of
// time.
func TestLateEnd(t *testing.T) {
	if v, why := late(time.Second); v != Cut || why != "budget: it was stopped after 1.0 seconds" {
		t.Errorf("%s, %s", v, why)
	}
	if v, why := late(generous); v != Fail || why != "it took longer than it was given, 20.0 seconds, and was stopped" {
		t.Errorf("%s, %s", v, why)
	}
}

// TestWhole checks that a part that has done everything passes although its time has ended.
func TestWhole(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	e := &Env{Device: "sim", models: []model{{name: "tiny"}}, dir: t.TempDir()}
	p := &Part{Name: "tiny"}
	p.conclude(ctx, runMachine(ctx, e, p))
	if p.Verdict != Pass || p.Reason != "" || p.Module == nil {
		t.Errorf("%+v", p)
	}
	p = &Part{Name: "tiny"}
	p.conclude(ctx, runKernels(ctx, e, p))
	if p.Verdict != Cut || !strings.HasPrefix(p.Reason, outOfTime) || p.Kernels.Compared == p.Kernels.Kernels {
		t.Errorf("%+v, %+v", p, p.Kernels)
	}
}

// TestShared checks that the first of two specs compares their common kernels, though both run at
// once, unless it has failed.
func TestShared(t *testing.T) {
	t.Parallel()
	models := []model{{name: "tiny"}, {"tiny", []string{"train.seed=2"}}}
	e := func(dir string, place int, before ...int) *Env {
		return &Env{Device: "sim", models: models, dir: dir, place: place, before: before}
	}
	dir := t.TempDir()
	second := make(chan *Part)
	go func() {
		p := &Part{Name: models[1].String()}
		p.conclude(t.Context(), runKernels(t.Context(), e(dir, 1, 0), p))
		second <- p
	}()
	first := conclude(t, runKernels, e(dir, 0), models[0].String())
	if p := <-second; p.Verdict != Pass || p.Kernels.Compared != 0 || p.Kernels.Same != p.Kernels.Kernels || p.Kernels.Kernels == 0 {
		t.Errorf("the second compares again: %+v, %+v", p, p.Kernels)
	}
	if first.Verdict != Pass || first.Kernels.Compared != first.Kernels.Kernels {
		t.Errorf("the first leaves out: %+v, %+v", first, first.Kernels)
	}
	dir = t.TempDir()
	if _, err := e(dir, 0).claim(t.Context(), []string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	if err := e(dir, 0).note("a"); err != nil {
		t.Fatal(err)
	}
	for want, env := range map[string]*Env{"a b": e(dir, 1, 0), "a": e(dir, 1)} {
		theirs, err := env.claim(t.Context(), []string{"b", "c"})
		if err != nil || len(theirs) != len(strings.Fields(want)) || !theirs["a"] || theirs["b"] != strings.Contains(want, "b") {
			t.Errorf("%v, %v, want %s", theirs, err, want)
		}
	}
}
