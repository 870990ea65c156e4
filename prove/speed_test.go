//go:build unix

package prove

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/prove/beside"
)

// plant is the environment variable that names a fault of the first part of every phase that
// Speed measures.
const plant = "PROVE_TEST_PLANT"

// few are parts of each kind for the short run: the quickest of several.
var few = []string{"card", "fill:looped cudagraph *", "fill:rates *", "fill:box 16*", "fill:load steps of looped", "pack",
	"looped8x2", "packed:rates *", "bench:* f32 *", "library:* f32 *", "abs:abs compile *", "cudagraph:looped *", "peaks", "ncu", "bias", "rest:looped *"}

// some returns the phases and parts of a table that are asked for, and all with -tags full.
func some(t *testing.T, table []phase, asked ...string) []phase {
	t.Helper()
	if full.Tests {
		return table
	}
	table, err := only(table, "count", asked)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// planted returns the phases that Speed measures with such a fault and equal shares of the
// budget. Their other parts do nothing and pass.
func planted(fault string) []phase {
	table := speeds()
	if fault == "" {
		return table
	}
	for i := range table {
		table[i].share = 1
		table[i].run = func(_ context.Context, e *Env, p *Part) error {
			if e.place > 0 {
				return nil
			}
			switch fault {
			case "dies":
				return killSelf()
			case "hangs":
				return stopSelf()
			case "prints nothing":
				os.Exit(0)
			case "is wrong":
				p.wrong("4 is not 5")
			}
			return nil
		}
	}
	return table
}

// measure runs a table that Speed measures on a device that only counts. Its parts get the
// variables in their environment.
func measure(t *testing.T, budget time.Duration, table []phase, variables ...string) *Result {
	t.Helper()
	command := slices.Concat([]string{"env"}, variables, itself())
	r, err := run(t.Context(), Options{Device: "count", Speed: true, Budget: budget, Command: command, Caches: filepath.Join(t.TempDir(), "caches.tgz")}, table)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSpeedFaults plants a fault of each kind in the first part of every phase. Every fault must
// be reported and all other parts must run; a part that hangs may take its phase's time. The
// short run tests phases of one part, of few and of many.
func TestSpeedFaults(t *testing.T) {
	t.Parallel()
	asked := []string{"card", "fill:box *", "pack"}
	table := some(t, speeds(), asked...)
	for _, c := range []struct {
		fault   string
		budget  time.Duration
		verdict Verdict
		said    string
	}{
		{"dies", time.Minute, Fail, "signal: killed"},
		{"hangs", time.Duration(full.Either(6, 45)) * time.Second, Cut, "budget: it was stopped after"},
		{"prints nothing", time.Minute, Fail, "left no result"},
		{"is wrong", time.Minute, Fail, "wrong: 4 is not 5"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			r := measure(t, c.budget, some(t, planted(c.fault), asked...), plant+"="+c.fault)
			if len(r.Phases) != len(table) {
				t.Errorf("%d phases of %d", len(r.Phases), len(table))
			}
			for i, p := range r.Phases {
				parts, _ := table[i].parts(nil)
				if len(p.Parts) != len(parts) {
					t.Errorf("%s has %d parts of %d", p.Name, len(p.Parts), len(parts))
					continue
				}
				first := p.Parts[0]
				if said := strings.Join(first.lines(), "\n"); first.Verdict != c.verdict || !strings.Contains(said, c.said) {
					t.Errorf("%s %s is %s:\n%s", p.Name, first.Name, first.Verdict, said)
				}
				for _, part := range p.Parts[1:] {
					if late := c.fault == "hangs" && part.Limit == 0 && part.Reason == outOfTime; part.Verdict != Pass && !late {
						t.Errorf("%s %s is %s after it", p.Name, part.Name, part.Verdict)
					}
				}
			}
		})
	}
}

// ran checks that all parts of a result have run to their end, and no times are kept.
func ran(t *testing.T, r *Result) {
	t.Helper()
	skipped := regexp.MustCompile("the device computes nothing|no library computes products|NVIDIA's tools watch a GPU|does not exist yet|has compiled nothing")
	for _, p := range r.Phases {
		for _, part := range p.Parts {
			if part.Verdict != Pass && (part.Verdict != Skipped || !skipped.MatchString(part.Reason)) {
				t.Errorf("%s %s is %s:\n%s", p.Name, part.Name, part.Verdict, strings.Join(part.lines(), "\n"))
			}
			if peer := part.Peer; peer != nil && (peer.Ours+peer.Peers+peer.Ratio != 0 || peer.Graphs == nil || p.Name != "fill" && peer.Rounds != 1) {
				t.Errorf("%s %s: %+v", p.Name, part.Name, peer)
			}
			for _, f := range part.Figures {
				if f.Value != 0 && p.Name != "pack" {
					t.Errorf("%s %s: %+v", p.Name, part.Name, f)
				}
			}
		}
	}
	if r.Verdict != Pass || len(r.Speeds()) > 0 || !strings.Contains(r.Page(), "everything ran: nothing was computed, and nothing measured") {
		t.Errorf("%s, %d speeds\n%s", r.Verdict, len(r.Speeds()), r.Page())
	}
}

// fakeTorch imitates PyTorch: contests, their reports, and rates.
const fakeTorch = `#!/bin/sh
if [ "$1" = -c ]; then echo 2.7.1+cpu False; exit; fi
case $2 in *rates_torch.py) echo '{"name": "a", "value": 1, "unit": "µs"}'; exit ;; esac
all=$*
while [ "$1" != --report ]; do shift; done
echo '{"compiled": 3, "captured": 1, "loss": 2.5}' >"$2"
case $all in *--fill*) exit ;; esac
while read n; do echo 0.5; done
`

// TestSpeed measures everything on a device that computes nothing, next to a program that
// imitates PyTorch.
func TestSpeed(t *testing.T) {
	t.Parallel()
	python := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(python, []byte(fakeTorch), 0o755); err != nil {
		t.Fatal(err)
	}
	table := some(t, speeds(), few...)
	r := measure(t, 10*time.Minute, table, "MLC_PYTHON="+python)
	ran(t, r)
	for i, p := range r.Phases {
		if names, _ := table[i].parts(nil); len(p.Parts) != len(names) {
			t.Errorf("%s: %d parts of %d", p.Name, len(p.Parts), len(names))
		}
	}
}

// TestSpeedOfPyTorch does the same with the real PyTorch, on the processor, with one part for
// each of its scripts and ways.
func TestSpeedOfPyTorch(t *testing.T) {
	full.Only(t)
	if _, err := beside.Find(t.Context(), []string{full.Needs(t, full.Python)}, "cpu"); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	table, err := only(speeds(), "count", []string{"card", "fill:abs compile tf32", "packed", "cudagraph:looped *", "peaks", "bias"})
	if err != nil {
		t.Fatal(err)
	}
	r := measure(t, 10*time.Minute, table)
	ran(t, r)
	for _, p := range r.Phases {
		for _, part := range p.Parts {
			if peer := part.Peer; peer != nil && (peer.Graphs.Recompiled != 0 || peer.Graphs.Compiled == 0 ||
				strings.Contains(part.Name, "cudagraph") != (peer.Graphs.Captured > 0) || peer.Graphs.Loss <= 0) {
				t.Errorf("%s: %+v", part.Name, peer.Graphs)
			}
		}
	}
}

// TestSpeedTable checks that phases and parts have unique names, and times that fit.
func TestSpeedTable(t *testing.T) {
	seen, all := map[string]bool{}, 0.0
	for _, p := range slices.Concat(phases(), speeds()) {
		if seen[p.name] {
			t.Errorf("two phases are called %s", p.name)
		}
		seen[p.name] = true
	}
	for _, p := range speeds() {
		all += p.share
		needed := time.Duration(0)
		parts, why := p.parts(nil)
		for _, part := range parts {
			needed += p.least("cuda", part)
		}
		if n := len(parts); n == 0 || why != "" || len(slices.Compact(slices.Sorted(slices.Values(parts)))) != n {
			t.Errorf("%s has the parts %q, %s", p.name, parts, why)
		}
		if given := scale(time.Second, p.share); !p.abreast && p.name != "rest" && needed > given {
			t.Errorf("parts of %s need %v of %v", p.name, needed, given)
		}
	}
	if all < SpeedBudget.Seconds() || all > 1.1*SpeedBudget.Seconds() {
		t.Errorf("the phases take %g seconds of %v", all, SpeedBudget)
	}
}

// TestSpeedCut checks that the page says if only a part was measured.
func TestSpeedCut(t *testing.T) {
	for verdict, want := range map[Verdict]string{Pass: "measured, after", Cut: "measured in part", Fail: "something went wrong", Unavailable: "not proven: no GPU"} {
		r := &Result{Speed: true, Device: "cuda", Verdict: verdict, Reason: "no GPU"}
		if !strings.Contains(r.Page(), want) {
			t.Errorf("%s: %s", verdict, r.Page())
		}
	}
}

// TestRates reads what the script prints, and reports each way in which it can fail.
func TestRates(t *testing.T) {
	rates := func(script string, within time.Duration) *Part {
		python := filepath.Join(t.TempDir(), "python")
		text := "#!/bin/sh\nif [ \"$1\" = -c ]; then echo 2.7.1+cpu True; exit; fi\n" + script + "\n"
		if err := os.WriteFile(python, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("MLC_PYTHON", python)
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		p := &Part{Name: "rates matmul"}
		p.conclude(ctx, ratesTask("matmul").run(ctx, &Env{Device: "cuda", dir: t.TempDir()}, p))
		return p
	}
	const row = `echo '{"name": "a", "value": 2.5, "unit": "µs"}'`
	for _, c := range []struct {
		script  string
		verdict Verdict
		want    string // in the lines of the page
	}{
		{`echo "$@" >&2; echo '{"name": "a", "value": 2.5, "unit": "µs", "spread": 0.5}'; echo '{"name": "b", "unit": "µs", "missing": "no such backend"}'`, Pass,
			"2.5 µs, the worst round 50 % worse\n  b: no such backend"},
		{`echo '{"name": "a", "value": 2.5, "unit": "µs", "wrong": "0.5 from float32"}'`, Fail, "wrong: a: 0.5 from float32"},
		{`echo '[]'`, Fail, "rates of matmul end with an invalid row"},
		{row + `; echo Traceback`, Fail, "rates of matmul end with an invalid row: invalid character 'T'"},
		{``, Fail, `printed no rates of matmul`},
		{row + `; echo "CUDA error" >&2; exit 3`, Fail, "exit status 3: CUDA error"},
		{`kill -9 $$`, Fail, "signal: killed"},
	} {
		p := rates(c.script, time.Minute)
		if page := strings.Join(p.lines(), "\n"); p.Verdict != c.verdict || !strings.Contains(page, c.want) {
			t.Errorf("%s: %s\n%s", c.script, p.Verdict, page)
		}
	}
	if p := rates(row+"; exec sleep 600", time.Second); p.Verdict != Cut || p.Reason != outOfTime || len(p.Figures) != 1 {
		t.Errorf("hangs: %+v", p)
	}
	t.Setenv("MLC_PYTHON", "")
	t.Setenv("PATH", t.TempDir())
	if p := conclude(t, ratesTask("matmul").run, &Env{Device: "cuda"}, "rates matmul"); p.Verdict != Skipped || !strings.Contains(p.Reason, "no Python with PyTorch") {
		t.Errorf("without Python: %+v", p)
	}
}

// TestLoopedTools checks that each pattern matches kernels of the watched model.
func TestLoopedTools(t *testing.T) {
	m, err := loopedRaces()[0].program(&Env{Device: "cuda"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range loopedTools() {
		pattern := tool.args[slices.Index(tool.args, "--kernel-name")+1]
		for _, one := range strings.Split(strings.TrimSuffix(strings.TrimPrefix(pattern, "regex:^("), ")$"), "|") {
			match := regexp.MustCompile("^(" + one + ")$")
			n := 0
			for _, k := range m.GPU.Kernels {
				if match.MatchString(k.Name) {
					n++
				}
			}
			if n == 0 {
				t.Errorf("%s: no kernel matches %s", tool.name, one)
			}
		}
		if table := speeds(); !slices.ContainsFunc(table, func(p phase) bool {
			parts, _ := p.parts(nil)
			return p.name == tool.watched.Phase && slices.Contains(parts, tool.watched.Part)
		}) {
			t.Errorf("%s watches %+v, which does not exist", tool.name, tool.watched)
		}
	}
}

// TestCaches packs what PyTorch has compiled and unpacks it elsewhere. It refuses archives that
// are damaged or that leave their folder.
func TestCaches(t *testing.T) {
	path := filepath.Join(t.TempDir(), "caches.tgz")
	from, to := &Env{caches: path, dir: t.TempDir()}, &Env{caches: path, dir: t.TempDir()}
	if p := conclude(t, unpackCaches, to, "unpack"); p.Verdict != Skipped || p.Reason != "caches.tgz does not exist yet" {
		t.Errorf("%+v", p)
	}
	if p := conclude(t, packCaches, from, "pack"); p.Verdict != Skipped || p.Reason != "PyTorch has compiled nothing" {
		t.Errorf("%+v", p)
	}
	want := map[string]string{"inductor/a/b.py": "x = 1", "triton/c.cubin": "\x00\x01"}
	for name, text := range want {
		path := filepath.Join(from.cacheDir(), name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(from.cacheDir(), "link")); err != nil {
		t.Fatal(err)
	}
	if p := conclude(t, packCaches, from, "pack"); p.Verdict != Pass || p.Figures[0].Value != 2 {
		t.Errorf("%+v", p)
	}
	if p := conclude(t, unpackCaches, to, "unpack"); p.Verdict != Pass || p.Figures[0].Value != 2 {
		t.Errorf("%+v", p)
	}
	for name, text := range want {
		if got, err := os.ReadFile(filepath.Join(to.cacheDir(), name)); err != nil || string(got) != text {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"cut": whole[:len(whole)/2], "no archive": []byte("hello"), "empty": nil, "escaping": escaping(t)} {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		if p := conclude(t, unpackCaches, to, "unpack"); p.Verdict != Skipped || !strings.Contains(p.Reason, "caches.tgz is not used: ") {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if _, err := os.Stat(filepath.Join(to.dir, "outside")); err == nil {
		t.Error("a file is written outside of the folder")
	}
}
