package prove

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/runtime/interrupt"
)

// asChild is the first argument that makes this program run a part.
const asChild = "part"

// itself starts this program with asChild.
func itself() []string { return []string{os.Args[0], asChild} }

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asChild {
		if err := child(os.Stdin, slices.Concat(faults(), lanes(), phases(), planted(os.Getenv(plant))), &Env{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // most parallel tests wait
		panic(err)
	}
	os.Exit(m.Run())
}

// faults is a table of phases that end in all possible ways.
func faults() []phase {
	one := func(name string, share float64, run func(ctx context.Context, p *Part) error) phase {
		return phase{name: name, doc: name, share: share, computes: true,
			parts: func(*Env) ([]string, string) { return []string{name + " 1"}, "" },
			run:   func(ctx context.Context, _ *Env, p *Part) error { return run(ctx, p) }}
	}
	return []phase{
		one("right", 1, func(context.Context, *Part) error { return nil }),
		one("wrong", 1, func(_ context.Context, p *Part) error {
			p.wrong("%d is not 5", 2+2)
			return nil
		}),
		one("error", 1, func(context.Context, *Part) error { return errors.New("the cable is loose") }),
		one("exits", 1, func(context.Context, *Part) error {
			fmt.Fprintln(os.Stderr, "last words")
			os.Exit(3)
			return nil
		}),
		one("panics", 1, func(context.Context, *Part) error { panic("out of luck") }),
		one("dies", 1, func(context.Context, *Part) error { return killSelf() }),
		one("silent", 1, func(context.Context, *Part) error {
			os.Exit(0)
			return nil
		}),
		one("absent", 1, func(context.Context, *Part) error { return skipf("no such program here") }),
		one("slow", 0.3, func(ctx context.Context, p *Part) error {
			<-ctx.Done()
			p.Reason = "budget: 3 of 7"
			return ctx.Err()
		}),
		one("endless", 0.3, func(context.Context, *Part) error { select {} }),
		one("stopped", 0.3, func(context.Context, *Part) error { return stopSelf() }),
		one("last", 1, func(context.Context, *Part) error { return nil }),
	}
}

// prove runs some of the faults, and returns what was saved after each phase.
func prove(t *testing.T, budget time.Duration, only ...string) (*Result, [][]byte) {
	t.Helper()
	var kept [][]byte
	o := Options{Device: "sim", Budget: budget, Only: only, Seed: 1, Command: itself(), Keep: func(r *Result) error {
		text, err := json.Marshal(r)
		kept = append(kept, text)
		return err
	}}
	r, err := run(t.Context(), o, faults())
	if err != nil {
		t.Fatal(err)
	}
	return r, kept
}

// grace is long enough for busy machines: it tells endless parts from slow ones.
const grace = 20 * time.Second

// TestFaults checks that each fault is reported correctly and the next phase continues, all
// within the budget.
func TestFaults(t *testing.T) {
	t.Parallel()
	start := time.Now()
	r, kept := prove(t, 12*time.Second)
	if took := time.Since(start); took > 12*time.Second+grace {
		t.Errorf("it took %v of 12 s", took)
	}
	want := map[string]struct {
		verdict Verdict
		said    []string // in the lines of the page
	}{
		"right":   {Pass, nil},
		"wrong":   {Fail, []string{"wrong: 4 is not 5"}},
		"error":   {Fail, []string{"the cable is loose"}},
		"exits":   {Fail, []string{"its process did not end well", "exit status 3", "last words"}},
		"panics":  {Fail, []string{"exit status 2", "out of luck"}},
		"dies":    {Fail, []string{"signal: killed"}},
		"silent":  {Fail, []string{"left no result", "exit status 0"}},
		"absent":  {Skipped, []string{"no such program here"}},
		"slow":    {Cut, []string{"budget: 3 of 7"}},
		"endless": {Cut, []string{"budget: it was still running"}},
		"stopped": {Cut, []string{"budget: it was stopped after", "signal: killed"}},
		"last":    {Pass, nil},
	}
	if len(r.Phases) != len(want) {
		t.Fatalf("%d phases, want %d", len(r.Phases), len(want))
	}
	for _, p := range r.Phases {
		w := want[p.Name]
		if p.Verdict != w.verdict || len(p.Parts) != 1 || p.Parts[0].Name != p.Name+" 1" {
			t.Errorf("%s: %s, want %s: %+v", p.Name, p.Verdict, w.verdict, p.Parts)
			continue
		}
		lines := strings.Join(p.Parts[0].lines(), "\n")
		for _, text := range w.said {
			if !strings.Contains(lines, text) || !strings.Contains(r.Page(), text) {
				t.Errorf("%s: no %q in\n%s", p.Name, text, lines)
			}
		}
	}
	if r.Verdict != Fail || r.Proven() || !strings.Contains(r.Page(), "not proven: something is wrong") {
		t.Errorf("the verdict is %s:\n%s", r.Verdict, r.Page())
	}
	if len(kept) != 2*len(want)+2 {
		t.Errorf("it was kept %d times, want at the start, after each of %d parts and phases, and at the end", len(kept), len(want))
	}
	for i, text := range kept[1 : len(kept)-1] {
		var r Result
		err := json.Unmarshal(text, &r)
		if err != nil || len(r.Phases) != i/2+1 || r.Verdict != "" {
			t.Fatalf("kept after %d parts and phases: %s, %v", i+1, text, err)
		}
		if last := r.Phases[i/2]; len(last.Parts) != 1 || (last.Verdict == "") != (i%2 == 0) {
			t.Errorf("kept after %d parts and phases: %+v", i+1, last)
		}
	}
}

// TestKeepFails ends a run whose result cannot be saved, since its findings would be lost.
func TestKeepFails(t *testing.T) {
	t.Parallel()
	full, saved := errors.New("the disk is full"), 0
	o := Options{Device: "sim", Budget: time.Minute, Command: itself(), Keep: func(*Result) error {
		if saved++; saved > 1 {
			return full
		}
		return nil
	}}
	if r, err := run(t.Context(), o, faults()); !errors.Is(err, full) || len(r.Phases) != 1 || len(r.Phases[0].Parts) != 1 {
		t.Errorf("%v, %+v", err, r.Phases)
	}
}

// TestVerdicts checks that a run is proven only if everything that applies was checked.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		only    []string
		verdict Verdict
		said    string
	}{
		{[]string{"right", "last"}, Pass, "proven: "},
		{[]string{"right", "absent"}, Pass, "proven: "},
		{[]string{"absent"}, Skipped, "not proven: nothing could be checked"},
		{[]string{"right", "slow"}, Cut, "not proven: everything checked so far is right, but the budget ended before the rest"},
	} {
		r, _ := prove(t, 4*time.Second, c.only...)
		if r.Verdict != c.verdict || r.Proven() != (c.verdict == Pass) || !strings.Contains("\n"+r.Page(), "\n"+c.said) {
			t.Errorf("%v: %s\n%s", c.only, r.Verdict, r.Page())
		}
	}
}

// TestOverrun lets a part run although its phase has used its share, if there is time for others.
func TestOverrun(t *testing.T) {
	for left, want := range map[time.Duration]time.Duration{20 * time.Second: leastPart, 4 * leastPart: leastPart, 3 * leastPart: 0, -1: 0} {
		if got := overrun(left, leastPart); got != want {
			t.Errorf("%v of %v that are left, want %v", got, left, want)
		}
	}
	table := faults()
	for i := range table {
		table[i].share = 1e6
		if table[i].name == "right" {
			table[i].share = 1e-6
		}
	}
	o := Options{Device: "sim", Budget: 12 * time.Second, Only: []string{"right", "wrong"}, Seed: 1, Command: itself()}
	r, err := run(t.Context(), o, table)
	if err != nil || r.Phases[0].Verdict != Pass || r.Phases[1].Verdict != Fail {
		t.Errorf("%v\n%s", err, r.Page())
	}
}

// TestInterrupt ends a run in the middle of a part, and with it the process.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	o := Options{Device: "sim", Budget: time.Minute, Only: []string{"right", "endless"}, Command: itself()}
	o.Say = func(phase string, _ *Part) {
		if phase == "right" {
			time.AfterFunc(100*time.Millisecond, func() { cancel(interrupt.Error{Signal: 2}) })
		}
	}
	start := time.Now()
	r, err := run(ctx, o, faults())
	if e, ok := interrupt.In(err); !ok || e.ExitCode() != 130 {
		t.Errorf("the error is %v", err)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v to end", took)
	}
	if r.Verdict != Interrupted || r.Phases[0].Verdict != Pass {
		t.Errorf("%s, %+v", r.Verdict, r.Phases[0])
	}
}

// TestOrphan checks that a part ends when its parent is gone.
func TestOrphan(t *testing.T) {
	t.Parallel()
	j := job{Options: Options{Command: itself()}, dir: t.TempDir()}
	req := request{Phase: "endless", Part: "endless 1", End: time.Now().Add(time.Minute), Answer: filepath.Join(j.dir, "part.json")}
	cmd, in, err := j.start(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it ended without an error")
		}
	case <-time.After(20 * time.Second):
		t.Error("it goes on")
		cmd.Cancel()
	}
}

// conclude runs a part in this process.
func conclude(t *testing.T, run func(context.Context, *Env, *Part) error, e *Env, name string) *Part {
	t.Helper()
	if e.dir == "" {
		e.dir = t.TempDir()
	}
	p := &Part{Name: name}
	p.conclude(t.Context(), run(t.Context(), e, p))
	return p
}

// TestLate checks that parts without time are on one line.
func TestLate(t *testing.T) {
	none := &Part{Name: "late one", Verdict: Cut, Reason: outOfTime}
	r := &Result{Phases: []*Phase{{Name: "kernels", Parts: []*Part{{Name: "first", Verdict: Pass, Limit: 1}, none, none}}}}
	if page := r.Page(); strings.Contains(page, none.Name) || !strings.Contains(page, "no time for 2 of 3 parts") {
		t.Error(page)
	}
}

// TestShares divides time: later phases get what one phase leaves, and the last gets all.
func TestShares(t *testing.T) {
	table := []phase{{share: 1}, {share: 3}, {share: 4}}
	for i, want := range []time.Duration{10, 30, 80} {
		if got := share(80*time.Second, table[i:]); got.Round(time.Second) != []time.Duration{10, 34, 80}[i]*time.Second {
			t.Errorf("phase %d gets %v, want %d s", i, got, want)
		}
	}
	if share(-time.Second, table) != 0 {
		t.Error("there is time after the end")
	}
}

// TestOptions checks that mistakes are reported before anything runs.
func TestOptions(t *testing.T) {
	good := Options{Device: "sim", Budget: time.Minute}
	for want, edit := range map[string]func(*Options){
		"":                      func(*Options) {},
		`no device "tpu"`:       func(o *Options) { o.Device = "tpu" },
		"a budget of 1s is too": func(o *Options) { o.Budget = time.Second },
		`no phase "probs"`:      func(o *Options) { o.Only = []string{"kernels", "probs"} },
		`no part "x*" of the phase steps: parts are tiny, successor`: func(o *Options) { o.Only = []string{"steps:tiny", "steps:x*"} },
		`no phase "kernels": phases are card, fill`:                  func(o *Options) { o.Device, o.Speed, o.Only = "count", true, []string{"kernels"} },
		"the simulator has no speed":                                 func(o *Options) { o.Speed = true },
	} {
		o := good
		edit(&o)
		if err := o.Check(); (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestOnly chooses the parts that match, and the first part of a phase if the others need it.
func TestOnly(t *testing.T) {
	chosen, err := only(phases(), "cuda", []string{"steps:succ*", "probes:mma*", "steps:kerple", "peers:abs compile *", "tools"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range chosen {
		names, _ := p.parts(&Env{Device: "cuda"})
		got = append(got, p.name+": "+strings.Join(names, ", "))
	}
	want := []string{"steps: successor, kerple", "probes: mma-bf16, mma-tf32", "peers: torch, abs compile tf32, abs compile bf16, abs compile fp32",
		"tools: memcheck, racecheck, ncu, nsys"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if _, err := only(phases(), "sim", []string{"peers:no such contest"}); err != nil {
		t.Errorf("the phase has nothing to do there: %v", err)
	}
}

// TestFiles writes a result, reads it, and refuses to overwrite it or to read another file.
func TestFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	r, _ := prove(t, 4*time.Second, "right")
	if err := r.Create(path); err != nil {
		t.Fatal(err)
	}
	if err := r.Create(path); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("created twice: %v", err)
	}
	if err := r.Write(path); err != nil {
		t.Fatal(err)
	}
	again, err := Load(path)
	if err != nil || again.Page() != r.Page() {
		t.Errorf("%v, read:\n%s", err, again.Page())
	}
	for name, text := range map[string]string{"empty": "", "other": `{"step": 3}`, "later": `{"format": 99}`} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "is not a result") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Load(t.TempDir()); err == nil {
		t.Error("a folder is read")
	}
}

// TestSMI parses the output of nvidia-smi.
func TestSMI(t *testing.T) {
	line := strings.Repeat("x, ", len(smiFields)-1) + "0 %\n"
	says, why := smiRow([]byte(strings.Replace(line, "x", "NVIDIA H200", 1)))
	if why != "" || says["name"] != "NVIDIA H200" || says["utilization.gpu"] != "0 %" {
		t.Errorf("%v, %s", says, why)
	}
	if _, why := smiRow([]byte("No devices were found\n")); !strings.Contains(why, "No devices were found") {
		t.Errorf("the reason is %q", why)
	}
}

// TestModels checks that the embedded specs to prove exist, each once.
func TestModels(t *testing.T) {
	got := names(all())
	if len(got) < 50 || !slices.Equal(got[:len(models)], names(models)) {
		t.Errorf("the models are %v", got)
	}
	slices.Sort(got)
	if n := len(got); len(slices.Compact(got)) != n {
		t.Error("a model is there twice")
	}
}
