package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/lock"
)

// A state is a state of a run: its files, whether a process holds it, and the texts that
// its page must and must not contain.
type state struct {
	name    string
	files   map[string]string
	held    bool
	says    []string
	without []string
}

const (
	plainSpec  = "arith 2\n\ntask addition {\n  operands = below(1Mi)\n}\n\nmodel {\n  width = 16\n}\n"
	loopedSpec = "arith 2\n\ntask addition {\n  operands = below(1Mi)\n}\n\nmodel {\n  decoder_only {\n    times = 4\n  }\n}\n"
	onceSpec   = "arith 2\n\ntask addition {\n  operands = below(1Mi)\n}\n\nmodel {\n  decoder_only {\n  }\n}\n"
	fileSpec   = "arith 2\n\ntask file {\n  path = \"letters.txt\"\n}\n\nmodel {\n  width = 16\n}\n"
	ofSteps    = `{"name":"x","seed":1,"budget":{"steps":100},"started":"2026-11-27T10:20:30Z"}`
	ofStages   = `{"name":"x","seed":1,"stages":[{"name":"first","kind":"training","state":"done","budget":{"steps":20}},{"name":"second","kind":"training","budget":{"steps":50}},{"name":"third","kind":"training","budget":{"steps":1000}}]}`
	byGrid     = `{"metric":"exact_match","id":1,"ood":0.25,"by_cell":[[1,1,5,5],[1,2,5,4],[2,2,5,0]]}`
	byEntries  = `{"metric":"exact_match","overall":0.5,"by_cell":[[3,0,4,2]]}`
)

// states lists the states that every template is rendered with.
var states = []state{
	{"running", map[string]string{"run.json": ofSteps, "spec.arith": plainSpec, "metrics.jsonl": reported(10, 2) + reported(20, 1)}, true,
		[]string{`<progress value="0.200"`, `class="state running"`, "time left", "of 100 steps"}, []string{"settled", "Runs of the loop"}},
	{"begun", map[string]string{"run.json": ofSteps, "spec.arith": plainSpec}, true, []string{`class="state running"`}, []string{"<progress"}},
	{"no-budget", map[string]string{"run.json": `{"name":"x","seed":1,"budget":{"flop":1e12}}`, "metrics.jsonl": reported(10, 2)}, true, []string{`class="state running"`}, []string{"<progress"}},
	{"beyond", map[string]string{"run.json": ofSteps, "metrics.jsonl": reported(100, 2) + reported(110, 2)}, true, []string{`<progress value="1.000"`}, nil},
	{"stage-2-of-3", map[string]string{"run.json": ofStages, "spec.arith": plainSpec, "first/metrics.jsonl": reported(10, 2) + reported(20, 1), "second/metrics.jsonl": reported(10, 2) + reported(20, 1)}, true,
		[]string{`<progress value="0.400"`, "stage second, 2 of 3", "of 50 steps"}, []string{"stage third, 3"}},
	{"interrupted", map[string]string{"run.json": ofSteps, "spec.arith": plainSpec, "metrics.jsonl": reported(10, 2) + `{"step":20,"lo`}, false,
		[]string{`class="state stopped"`, "resume it"}, []string{"<progress"}},
	{"stopped", map[string]string{"run.json": ofSteps, "spec.arith": plainSpec, "metrics.jsonl": reported(10, 2)}, false, []string{`class="state stopped"`}, []string{"<progress"}},
	{"trained", map[string]string{"run.json": ofSteps, "spec.arith": plainSpec, "metrics.jsonl": reported(10, 2) + reported(100, 1)}, false, []string{`class="state trained"`}, []string{"<h2>Test</h2>"}},
	{"tested", map[string]string{"run.json": ofSteps, "spec.arith": plainSpec, "metrics.jsonl": reported(100, 1), "eval/result.json": byGrid}, false, []string{`class="state tested"`, "<h2>Test</h2>"}, []string{"Runs of the loop"}},
	{"looped", map[string]string{"run.json": ofSteps, "spec.arith": loopedSpec, "metrics.jsonl": reported(100, 1)}, false, []string{"Runs of the loop"}, nil},
	{"once", map[string]string{"run.json": ofSteps, "spec.arith": onceSpec, "metrics.jsonl": reported(100, 1)}, false, nil, []string{"Runs of the loop"}},
	{"file", map[string]string{"run.json": ofSteps, "spec.arith": fileSpec, "metrics.jsonl": reported(100, 1), "eval/result.json": byEntries}, false, []string{"50.00 %"}, nil},
	{"tests-alone", map[string]string{"run.json": ofSteps, "spec.arith": plainSpec, "tests.jsonl": `{"step":10,"lengths":[{"length":3,"exact_match":0.5}]}` + "\n"}, true, []string{`class="state running"`}, nil},
	{"labelled", map[string]string{"run.json": ofSteps, "spec.arith": plainSpec, "label.json": `{"name":"no <window>","tags":["ablation","a&b"],"note":"What it gives.\n<script>"}`}, false,
		[]string{"<b>no &lt;window&gt;</b>", `<span class="tag">ablation</span>`, "a&amp;b", "What it gives.\n&lt;script&gt;"}, nil},
	{"no-label", map[string]string{"run.json": ofSteps, "label.json": `{"name":`}, false, []string{`class="state damaged"`, "label.json is damaged"}, nil},
	{"no-record", map[string]string{"run.json": `{"name":"x`}, false, []string{`class="state damaged"`, "run.json is damaged"}, nil},
	{"no-report", map[string]string{"run.json": ofSteps, "metrics.jsonl": "{\n"}, false, []string{`class="state damaged"`, "metrics.jsonl"}, nil},
	{"no-result", map[string]string{"run.json": ofSteps, "metrics.jsonl": reported(100, 1), "eval/result.json": "["}, false, []string{`class="state damaged"`, "result.json"}, nil},
	{"no-spec", map[string]string{"run.json": ofSteps, "metrics.jsonl": reported(100, 1)}, false, []string{`class="state trained"`}, []string{"<h2>Spec</h2>"}},
}

// put writes the files of a state to a run directory.
func (s *state) put(t *testing.T, dir string) {
	t.Helper()
	for name, text := range s.files {
		put(t, dir, filepath.Join(s.name, name), text)
	}
	if !s.held {
		return
	}
	held, err := lock.Try(filepath.Join(dir, s.name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(held.Close)
}

// TestStates renders every template with every state of a run: the list, the page, its live
// parts, a comparison and a report.
func TestStates(t *testing.T) {
	dir := runsCopy(t)
	for i := range states {
		states[i].put(t, dir)
	}
	c := faked(dir)
	server := served(t, c)
	_, list, _ := got(t, "GET", server.URL, nil)
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range states {
		t.Run(of.name, func(t *testing.T) {
			if !strings.Contains(list, `href="/run?run=`+of.name+`"`) {
				t.Error("it is not in the list")
			}
			status, text, _ := got(t, "GET", server.URL+"/run?run="+of.name, nil)
			if status != 200 {
				t.Fatalf("its page: %d %s", status, text)
			}
			for _, want := range of.says {
				if !strings.Contains(text, want) {
					t.Errorf("the page does not say %q", want)
				}
			}
			for _, not := range of.without {
				if strings.Contains(text, not) {
					t.Errorf("the page says %q", not)
				}
			}
			if status, text, _ := got(t, "GET", server.URL+"/compare?run=successor&run="+of.name, nil); status != 200 {
				t.Errorf("compared: %d %s", status, text)
			}
			if _, err := s.runNews(of.name)(); err != nil {
				t.Errorf("its live parts: %v", err)
			}
			if _, err := Report(context.Background(), c, []string{filepath.Join(dir, of.name), filepath.Join(dir, "successor")}); err != nil {
				t.Errorf("its report: %v", err)
			}
		})
	}
}

// TestAnswers renders answers that are right, wrong, unverified, and refused.
func TestAnswers(t *testing.T) {
	c := faked(runsCopy(t))
	c.Solve = func(_ context.Context, _, problem string, _ int, _ bool, _ func(string)) (*Answer, error) {
		switch problem {
		case "refused":
			return nil, severalLines("no <i>problem</i>:\n  it has no sum\n  and no digits")
		case "free":
			return &Answer{Problem: problem, Answer: "34"}, nil
		}
		right := problem == "12+22"
		return &Answer{Problem: problem, Answer: "34", Expected: "46", Right: &right, Settled: 1, After: [][]Token{{{"4", true}, {"3", false}}}}, nil
	}
	server := served(t, c)
	for asked, want := range map[string]struct{ says, without string }{
		"12+34":   {`<code class="wrong">34</code>`, `>right<`},
		"12+22":   {`<code class="right">34</code>`, `>wrong<`},
		"free":    {`<code>34</code>`, `verdict`},
		"refused": {"it has no sum\n  and", `<i>`},
	} {
		_, text, _ := got(t, "POST", server.URL+"/solve", url.Values{"run": {"successor"}, "problem": {asked}}, "Origin", server.URL, "X-Part", "1")
		var last struct{ HTML string }
		if err := json.Unmarshal([]byte(text), &last); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(last.HTML, want.says) || strings.Contains(last.HTML, want.without) {
			t.Errorf("%s: %s, want %s and no %s", asked, last.HTML, want.says, want.without)
		}
		if strings.Contains(last.HTML, "settled") {
			t.Errorf("%s: one run of no loop has settled: %s", asked, last.HTML)
		}
		if verdict := `<span class="verdict wrong">wrong</span>`; strings.Contains(last.HTML, verdict) != (asked == "12+34") {
			t.Errorf("%s: the verdict of %s", asked, last.HTML)
		}
	}
}

// severalLines is an error of several lines.
type severalLines string

func (p severalLines) Error() string { return string(p) }

// TestGone deletes a run whose page is open. The page and its functions report that.
func TestGone(t *testing.T) {
	dir := runsCopy(t)
	put(t, dir, "now/run.json", ofSteps)
	put(t, dir, "now/spec.arith", plainSpec)
	c := faked(dir)
	solve := c.Solve
	c.Solve = func(ctx context.Context, run, problem string, times int, thinking bool, say func(string)) (*Answer, error) {
		if problem == "delete" {
			os.RemoveAll(run)
			_, err := os.Open(filepath.Join(run, "ckpt"))
			return nil, err
		}
		return solve(ctx, run, problem, times, thinking, say)
	}
	server := served(t, c)
	form := url.Values{"run": {"now"}, "problem": {"delete"}}
	const want = "This run is gone"
	for _, what := range []string{"delete", "1"} { // during the request, and after
		form.Set("problem", what)
		for _, headers := range [][]string{{"Origin", server.URL, "X-Part", "1"}, {"Origin", server.URL}} {
			if _, text, _ := got(t, "POST", server.URL+"/solve", form, headers...); !strings.Contains(text, want) || strings.Contains(text, "no such file") {
				t.Errorf("%s: %s", what, text)
			}
		}
	}
	for _, path := range []string{"/run?run=now", "/compare?run=successor&run=now", "/explain?run=now"} {
		if status, text, _ := got(t, "GET", server.URL+path, nil); status != http.StatusNotFound || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if status, text, _ := got(t, "GET", server.URL+"/events?run=now", nil); status != 200 || !strings.HasPrefix(text, "event: gone\n") || !strings.Contains(text, want) {
		t.Errorf("events: %d %s", status, text)
	}
}
