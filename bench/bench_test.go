package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// actor makes this test's binary a contestant: its value is the name that goes into
// a log, the seconds of a step and after how many answers it fails (0: never).
const actor = "BENCH_TEST_ACTOR"

func TestMain(m *testing.M) {
	if part := os.Getenv(actor); part != "" {
		if err := act(part); err != nil {
			fmt.Fprintln(os.Stderr, "first line\n"+err.Error())
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func act(part string) error {
	var name, path string
	var step float64
	var fails int
	if _, err := fmt.Sscan(part, &name, &step, &fails, &path); err != nil {
		return err
	}
	log, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	for asked := 1; in.Scan(); asked++ {
		var steps int
		if _, err := fmt.Sscan(in.Text(), &steps); err != nil {
			return err
		}
		if asked == fails {
			return errors.New("no memory")
		}
		fmt.Fprintf(log, "%s%d ", name, steps)
		fmt.Printf("%.6f\n", step*float64(steps))
	}
	return in.Err()
}

// actors are contestants that write what they do into the log.
func actors(log string, parts ...string) []contestant {
	var cs []contestant
	for _, part := range parts {
		name, _, _ := strings.Cut(part, " ")
		cs = append(cs, contestant{name, []string{"env", actor + "=" + part + " " + log, os.Args[0]}})
	}
	return cs
}

// play measures actors and returns what they logged.
func play(t *testing.T, rounds int, length time.Duration, parts ...string) ([]result, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	results := measure(t.Context(), actors(path, parts...), rounds, length)
	return results, logged(t, path)
}

func logged(t *testing.T, path string) string {
	t.Helper()
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(log))
}

func TestDuels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	cs := actors(path, "a 2 0", "b 6 0", "fails 1 2")
	results := duels(t.Context(), cs[0], cs[1:], 2, 0)
	if got, want := logged(t, path), "a1 b1 a1 b1 a1 b1 a1 fails1 a1 a1"; got != want {
		t.Errorf("they did %s, want %s", got, want)
	}
	if !cmp.Equal(results[0].Seconds, []float64{2, 2, 2, 2}) || results[0].Err != nil {
		t.Errorf("the first of all duels: %v, error %v", results[0].Seconds, results[0].Err)
	}
	if got := ratio(results[1]); got != "3.00" {
		t.Errorf("ratio %s of %v by %v", got, results[1].Seconds, results[1].Base)
	}
	if got := ratio(results[2]); got != "–" || results[2].Err == nil {
		t.Errorf("ratio %s of one that failed", got)
	}
	alone := duels(t.Context(), cs[0], nil, 1, 0)
	if len(alone) != 1 || !cmp.Equal(alone[0].Seconds, []float64{2}) {
		t.Errorf("without peers: %v", alone)
	}
}

func TestRoundsTakeTurns(t *testing.T) {
	results, log := play(t, 2, 2*time.Second, "a 0.5 0", "b 0.1 0", "c 30 0")
	if want := "a1 b1 c1 a4 b20 c1 a4 b20 c1"; log != want {
		t.Errorf("they did %s, want %s", log, want)
	}
	for i, want := range [][]float64{{0.5, 0.5}, {0.1, 0.1}, {30, 30}} {
		r := results[i]
		if r.Err != nil || !cmp.Equal(want, r.Seconds) {
			t.Errorf("%s: %v, error %v, want %v", r.Title, r.Seconds, r.Err, want)
		}
		if r.Peak < 1<<20 {
			t.Errorf("%s had %d bytes of memory", r.Title, r.Peak)
		}
	}
}

func TestWhoFailsIsOut(t *testing.T) {
	results, log := play(t, 2, time.Second, "a 1 0", "early 1 1", "late 1 3", "wrong 0 0")
	if want := "a1 late1 wrong1 a1 late1 a1"; log != want {
		t.Errorf("they did %s, want %s", log, want)
	}
	for i, want := range []string{"", "exit status 3: no memory", "exit status 3: no memory", `answer "0.000000": 0 seconds`} {
		got := ""
		if err := results[i].Err; err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: error %q, want %q", results[i].Title, got, want)
		}
	}
}

func TestWhoIsMissingIsOut(t *testing.T) {
	results := measure(t.Context(), []contestant{{"nobody", []string{"/no/such/program"}}}, 1, 0)
	if !errors.Is(results[0].Err, os.ErrNotExist) {
		t.Errorf("error %v", results[0].Err)
	}
	o := options{Peers: []string{"eager", "jax"}, Python: "/no/such/python"}
	for _, p := range o.installed(context.Background()) {
		if p.Missing == "" {
			t.Errorf("%s is not missing", p.Title)
		}
	}
}

// TestProblems holds what peers are told to the experiments that the cases are.
func TestProblems(t *testing.T) {
	want := map[string]string{
		"abs":            "B 512, S 125, T 62, 8 heads of 128, hidden 512, 6 layers, dropout 0.3, lr 0.0001",
		"abs-no-dropout": "B 512, S 125, T 62, 8 heads of 128, hidden 512, 6 layers, dropout 0, lr 0.0001",
		"successor":      "B 128, S 9, T 8, 4 heads of 64, hidden 256, 2 layers, dropout 0.1, lr 0.003",
		"fire-40":        "B 64, S 41, T 40, 8 heads of 256, hidden 1024, 4 layers, dropout 0, lr 0.001",
		"fire-80":        "B 64, S 81, T 80, 8 heads of 256, hidden 1024, 4 layers, dropout 0, lr 0.001",
	}
	for _, c := range cases {
		spec, err := c.resolve("..")
		if err != nil {
			t.Fatal(err)
		}
		p := newProblem(&trainer{benchCase: c, spec: spec})
		if p.Batches, err = trained(spec, 0, 2); err != nil {
			t.Fatal(err)
		}
		b := p.Batches[1]
		got := fmt.Sprintf("B %d, S %d, T %d, %d heads of %d, hidden %d, %d layers, dropout %g, lr %g", len(b.Source), len(b.Source[0]),
			len(b.Target[0]), p.Heads, p.Width, p.Hidden, p.Layers, p.Dropout, p.Adam["lr"])
		if got != want[c.Name] {
			t.Errorf("%s: %s\nwant %s", c.Name, got, want[c.Name])
		}
		if len(b.Labels) != len(b.Target) || len(b.Labels[0]) != len(b.Target[0]) {
			t.Errorf("%s: %d labels of %d rows", c.Name, len(b.Labels), len(b.Target))
		}
		if cmp.Equal(p.Batches[0], b) {
			t.Errorf("%s: two batches are the same", c.Name)
		}
		later, err := trained(spec, 1, 1)
		if err != nil || !cmp.Equal(later[0], b) {
			t.Errorf("%s: the batch after a step is not the second one: %v", c.Name, err)
		}
	}
}

func TestAgreementHasLimits(t *testing.T) {
	good := agreement{Title: "it", Loss: 1e-7, Gradient: 1e-5, Step: 1e-4}
	if err := good.err(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*agreement){
		"loss":     func(a *agreement) { a.Loss = 1e-3 },
		"gradient": func(a *agreement) { a.Gradient = 0.1 },
		"step":     func(a *agreement) { a.Step = 1 },
		"nan":      func(a *agreement) { a.Loss /= 0 * a.Loss },
	} {
		bad := good
		if spoil(&bad); bad.err() == nil {
			t.Errorf("%s: another model is taken for the same", name)
		}
	}
}

func TestPage(t *testing.T) {
	p := page{Date: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC), Threads: 2, Rounds: 7, Cases: []string{"x"},
		Peers: []peer{{"eager", "PyTorch 1 eager", ""}, {"jax", "JAX jit", "no jax"}, {"compile", "PyTorch 1 torch.compile", ""}}}
	p.Sections = []section{{Case: benchCase{Name: "x", Title: "a model", Spec: "x.arith", Set: []string{"a=1"}},
		Info: info{Version: "v1", Params: 12345, Devices: []string{"cpu: c"}},
		Results: []result{
			{Title: ours, Start: time.Second, Seconds: []float64{1, 2, 4}, Peak: 3 << 20},
			{Title: "PyTorch 1 eager", Start: 2 * time.Second, Seconds: []float64{2, 6, 9}, Base: []float64{1, 2, 4}, Peak: 5 << 20},
			{Title: "PyTorch 1 torch.compile", Err: errors.New("no compiler")},
		},
		Agreements: []agreement{{Title: "PyTorch 1 eager", Loss: 1e-7}, {Title: "JAX jit", Loss: 1}},
		Kernels:    "kernel table\n"}}
	want := strings.ReplaceAll(`
- 2026-11-21, 'go run ./bench --threads 2 --rounds 7 --only x'
- mlc v1; cpu: c
- PyTorch 1 eager
- JAX jit left out: no jax
- PyTorch 1 torch.compile

| case | mlc, s a step | PyTorch 1 eager | PyTorch 1 torch.compile |
|---|---|---|---|
| x | 2 | 2.25 | – |

## x: a model

'x.arith' with '--set 'a=1'', 12345 parameters everywhere.

|  | s a step | ratio | spread | start | memory |
|---|---|---|---|---|---|
| mlc | 2 | – | 150 % | 1.0 s | 3 MiB |
| PyTorch 1 eager | 6 | 2.25 | 117 % | 2.0 s | 5 MiB |
| PyTorch 1 torch.compile | failed |  |  |  |  |

PyTorch 1 torch.compile failed: no compiler

One step of PyTorch 1 eager on 8 problems from equal parameters, without dropout: loss 1e-07, gradient 0e+00, step 0e+00 apart.

**JAX jit is another model: the losses are 1 apart**

Its kernels, by 'NAME bench':

'''
kernel table
'''
`, "'", "`")
	want = strings.Replace(want, "`--set `a=1``", "`--set 'a=1'`", 1)
	if diff := cmp.Diff(preface+want, p.String()); diff != "" {
		t.Error(diff)
	}
	p.Launches = "# Launches\n\ntable\n"
	if _, last, _ := strings.Cut(p.String(), want); last != "\n## Launches\n\ntable\n" {
		t.Errorf("behind the cases stands %q", last)
	}
	if err := p.disagreement(); err == nil || !strings.Contains(err.Error(), "x: JAX jit is another model") {
		t.Errorf("disagreement: %v", err)
	}
	if err := (&page{Sections: []section{{}}}).disagreement(); err == nil {
		t.Error("nothing was compared, and that is taken for agreement")
	}
}
