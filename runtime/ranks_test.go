package runtime

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/comm/commtest"
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/world"
)

// late are the faults of a slow world.
var late = commtest.Faults{Delay: 100 * time.Microsecond, Seed: 11}

// onRanks runs a command line on ranks that are goroutines. It returns rank 0's output. The
// others must print nothing, and end with the same code.
func onRanks(t *testing.T, size int, faults commtest.Faults, alone func() world.App, args ...string) said {
	t.Helper()
	t.Setenv("MLC_OVERSUBSCRIBE", "1")
	all, errs := make([]said, size), make([]*os.File, size)
	for rank := range all {
		var err error
		if errs[rank], err = os.Create(filepath.Join(t.TempDir(), "stderr")); err != nil {
			t.Fatal(err)
		}
		defer errs[rank].Close()
		all[rank].code = -1 // a rank that was aborted
	}
	commtest.Run(size, faults, func(w comm.World) error {
		a, out := alone(), new(bytes.Buffer)
		a.World, a.Out, a.Err = w, out, errs[w.Rank()]
		all[w.Rank()].code = attended(a, append([]string{"./toy"}, args...))
		all[w.Rank()].out = out.String()
		return nil
	})
	for rank, file := range errs {
		text, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		all[rank].err = string(text)
	}
	for rank, s := range all[1:] {
		if s.code != all[0].code || s.out != "" || s.err != "" {
			t.Errorf("%d ranks, %v: rank %d: exit %d, says %s%s", size, args, rank+1, s.code, s.out, s.err)
		}
	}
	return all[0]
}

func toyApp() world.App { return world.App{Model: toyModel(), In: strings.NewReader("")} }

// growingModel is the toy on problems that grow with the progress of training.
func growingModel() program.Model {
	m := toyModel()
	m.Task.Below, m.Task.DigitsLo, m.Task.DigitsHi = 0, 1, 6
	m.Task.Curriculum = config.Curriculum{From: 1, Until: 1}
	return m
}

// filteringModel is the toy with a norm that reads the average of earlier gradients.
func filteringModel() program.Model {
	m := toyModel()
	m.Plan.States = []string{config.SlowState, "moment2"}
	m.CPU[toySumSquares].Run = func(w *cpu.Worker, e *device.Env, _ []device.Ref) {
		sum := float32(0)
		for i, g := range w.Mem.F32[device.Grads][:e.N] {
			g += float32(2 * w.Mem.F32[device.State][i])
			sum += float32(g * g)
		}
		w.Mem.F32[device.Work][0] = sum
	}
	return m
}

func stagesApp() world.App {
	p := toyPipeline()
	return world.App{Whole: &p, Model: *p.Model(p.Last()), In: strings.NewReader("")}
}

// TestRanks trains, tests and resumes on one to four ranks, with replicated and sharded
// optimizers: all files have the bytes of one process.
func TestRanks(t *testing.T) {
	for name, c := range map[string]struct {
		whole string
		alone func() world.App
		same  func(t *testing.T, want, got string)
	}{
		"toy":       {trained(t, toyModel(), "-q"), toyApp, sameRun},
		"growing":   {trained(t, growingModel(), "-q"), func() world.App { return world.App{Model: growingModel(), In: strings.NewReader("")} }, sameRun},
		"filtering": {trained(t, filteringModel(), "-q"), func() world.App { return world.App{Model: filteringModel(), In: strings.NewReader("")} }, sameRun},
		"stages":    {travelled(t, toyPipeline(), "-q"), stagesApp, sameJourney},
	} {
		for size := 1; size <= 4; size++ {
			for i, flags := range [][]string{{"--threads", "1"}, {"--threads", "3", "--shard-optimizer"}} {
				if !full.Tests && (size+len(name))%2 != i {
					continue // every size and every model has both
				}
				dir := filepath.Join(t.TempDir(), "run")
				s := onRanks(t, size, late, c.alone, append([]string{"train", "--out", dir}, flags...)...)
				if s.code != 0 {
					t.Fatalf("%s on %d ranks, %s: exit %d\n%s", name, size, flags, s.code, s.err)
				}
				if want := fmt.Sprintf("on %d ranks (a test's %d ranks)", size, size); size > 1 && !strings.Contains(s.err, want) {
					t.Errorf("no %q in\n%s", want, s.err)
				}
				c.same(t, c.whole, dir)
				sameResult(t, c.whole, dir)
			}
		}
	}
}

// sameResult compares the results of two runs, in every folder that has one.
func sameResult(t *testing.T, want, got string) {
	t.Helper()
	n := 0
	for _, stage := range []string{"", "second"} {
		a, errA := eval.Load(damage.At(filepath.Join(want, stage, "eval")))
		b, errB := eval.Load(damage.At(filepath.Join(got, stage, "eval")))
		if errA != nil || errB != nil || a == nil {
			continue
		}
		n++
		if b == nil || cmp.Diff(a.ByCell, b.ByCell) != "" || a.Settings != b.Settings {
			t.Errorf("%s and %s have other results", want, got)
		}
	}
	if n == 0 {
		t.Errorf("%s has no result", want)
	}
}

// TestRanksResume stops on one number of ranks and continues with another.
func TestRanksResume(t *testing.T) {
	whole := trained(t, toyModel(), "-q")
	for _, sizes := range [][2]int{{2, 3}, {4, 1}, {1, 4}, {3, 2}} {
		dir := filepath.Join(t.TempDir(), "run")
		once := sync.OnceFunc(ctrlC) // all ranks of this process receive it
		interruptedAt3 := func() world.App {
			a := toyApp()
			at(&a.Model, 3, once)
			return a
		}
		args := []string{"train", "--resume=auto", "--out", dir, "--threads", "1"}
		if s := onRanks(t, sizes[0], late, interruptedAt3, args...); s.code != exitInterrupted || !strings.Contains(s.err, "continue with") {
			t.Fatalf("%d ranks: exit %d\n%s", sizes[0], s.code, s.err)
		}
		if s := onRanks(t, sizes[1], late, toyApp, append(args, "--shard-optimizer")...); s.code != 0 {
			t.Fatalf("%d ranks: exit %d\n%s", sizes[1], s.code, s.err)
		}
		sameRun(t, whole, dir)
	}
}

// TestRanksVerbs tests and measures on several ranks.
func TestRanksVerbs(t *testing.T) {
	dir := trained(t, toyModel(), "-q")
	for _, args := range [][]string{
		{"eval", dir, "--digits", "3,7,9", "--samples", "50", "--json"},
		{"eval", dir, "--digits", "3,7", "--samples", "50", "--mode", "greedy", "--json"},
		{"eval", "--weights", lastCheckpoint(dir), "--digits", "4", "--json"},
	} {
		want := call(t, toyModel(), "", args...)
		for _, size := range []int{2, 3} {
			got := onRanks(t, size, late, toyApp, args...)
			if got.code != 0 || want.code != 0 || untimed(got.out) != untimed(want.out) {
				t.Errorf("%v on %d ranks: exit %d and %d\n%s\n%s%s", args, size, want.code, got.code, want.out, got.out, got.err)
			}
		}
	}
	if s := onRanks(t, 2, late, toyApp, "bench", "--steps", "3", "--threads", "1"); s.code != 0 || !strings.Contains(s.out, "2 ranks") {
		t.Errorf("exit %d\n%s%s", s.code, s.out, s.err)
	}
}

// untimed removes the seconds from a result.
func untimed(text string) string {
	return regexp.MustCompile(`"seconds_eval":[^,]*`).ReplaceAllString(text, "")
}

// TestRanksRefuse wants an error only on rank 0, and all ranks to end.
func TestRanksRefuse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	other := func() func() world.App {
		n := 0
		return func() world.App {
			a := toyApp()
			n++
			a.Model.SpecHash = strings.Repeat(fmt.Sprint(n), 8)
			return a
		}
	}()
	for want, c := range map[string]struct {
		size  int
		alone func() world.App
		args  []string
	}{
		"5 ranks, and a batch of 50 examples has 4 chunks": {5, toyApp, []string{"train", "--out", dir}},
		"4 ranks at most, or make train.chunk smaller":     {5, toyApp, []string{"train", "--out", dir}},
		"has another spec than rank 0":                     {2, other, []string{"train", "--out", dir}},
		"there is no such folder":                          {3, toyApp, []string{"train", "--resume", "--out", dir + "x"}},
		"several ranks train one model":                    {2, toyApp, []string{"train", "--init-seed", "1..2", "--out", dir}},
		"unknown device":                                   {2, toyApp, []string{"train", "--device", "abacus"}},
	} {
		s := onRanks(t, c.size, commtest.Faults{}, c.alone, c.args...)
		if s.code == 0 || !strings.Contains(s.err, want) {
			t.Errorf("exit %d, no %q in\n%s", s.code, want, s.err)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "ckpt", "*")); len(found) > 0 {
		t.Errorf("%v", found)
	}
}

// TestRanksOfOtherBits refuses processors whose products have other bits, if the precision
// depends on them. Only rank 0 reports it.
func TestRanksOfOtherBits(t *testing.T) {
	if isa, err := cpu.ParseISA("auto"); err != nil || isa == cpu.Go {
		t.Skip("this processor has one set of instructions")
	}
	t.Setenv("MLC_OVERSUBSCRIBE", "1")
	for precision, refuses := range map[string]bool{"f32": false, "bf16": true} {
		dir := filepath.Join(t.TempDir(), "run")
		all := make([]said, 2)
		commtest.Run(2, commtest.Faults{}, func(w comm.World) error {
			a := toyApp()
			a.World, a.Model.Train.Precision = w, precision
			isa := []string{"go", "auto"}[w.Rank()]
			all[w.Rank()] = callApp(t, a, []string{"./toy", "train", "--out", dir, "--cpu", isa, "--threads", "1", "-q"})
			return nil
		})
		if code := all[0].code; (code != 0) != refuses || all[1].code != code || all[1].err != "" || refuses && !strings.Contains(all[0].err, "rank 1 has another processor or card than rank 0 (cpu, go)") {
			t.Errorf("%s: %+v", precision, all)
		}
	}
}

// TestRankDies wants no rank to continue or to wait when one fails at any time.
func TestRankDies(t *testing.T) {
	whole := trained(t, toyModel(), "-q")
	for _, fail := range []int{1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144} {
		dir := filepath.Join(t.TempDir(), "run")
		args := []string{"train", "--resume=auto", "--out", dir, "--save", "1ms", "--threads", "1"}
		t.Setenv("MLC_OVERSUBSCRIBE", "1")
		ended := make([]bool, 3)
		commtest.Run(3, commtest.Faults{Fail: fail}, func(w comm.World) error {
			a := toyApp()
			a.World = w
			callApp(t, a, append([]string{"./toy"}, args...))
			ended[w.Rank()] = true // not aborted
			return nil
		})
		if slices.Contains(ended, true) && fail > 10 && fail < 60 { // before, ranks exchange their identity
			t.Errorf("call %d: %v have ended without an error", fail, ended)
		}
		if s := onRanks(t, 2, commtest.Faults{}, toyApp, args...); s.code != 0 {
			t.Fatalf("call %d: exit %d\n%s", fail, s.code, s.err)
		}
		sameRun(t, whole, dir)
	}
}
