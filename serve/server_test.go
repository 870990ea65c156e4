package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/track"
)

func queryEscape(s string) string { return url.QueryEscape(s) }

// hostileRun makes a run whose every text contains a script, and returns its name.
func hostileRun(t testing.TB, dir string) string {
	const evil = `<script>hacked = 1</script>`
	name := `"><img src=x onerror=hacked=1><script>hacked=2<`
	put(t, dir, name+"/run.json", strings.ReplaceAll(`{"name":"EVIL","device":"EVIL","device_name":"EVIL","cpu":"EVIL","seed":1,"budget":{"steps":10}}`, "EVIL", evil))
	put(t, dir, name+"/spec.arith", "arith 2 // "+evil+"\ntask "+evil+" {\n  a = "+evil+"\n}\n")
	put(t, dir, name+"/metrics.jsonl", reported(1, 2)+reported(2, 1))
	put(t, dir, name+"/eval/result.json", `{"metric":"`+evil+`","by_cell":[[1,1,5,5],[1,2,5,4],[2,2,5,0]],"id":1}`)
	return name
}

// TestForeign refuses requests that other sites could send through the browser of this
// machine.
func TestForeign(t *testing.T) {
	server := served(t, faked(runsCopy(t)))
	port := server.URL[strings.LastIndex(server.URL, ":")+1:]
	form := url.Values{"run": {"successor"}, "problem": {"1"}}
	for _, c := range []struct {
		method, path string
		form         url.Values
		headers      []string
		want         int
	}{
		{"GET", "/", nil, nil, 200},
		{"GET", "/", nil, []string{"Host", "localhost:" + port}, 200},
		{"GET", "/", nil, []string{"Host", "[::1]:" + port}, 200},
		{"GET", "/", nil, []string{"Host", "evil.example:" + port}, 403},
		{"GET", "/", nil, []string{"Host", "localhost.evil.example:" + port}, 403},
		{"GET", "/", nil, []string{"Host", "127.0.0.1:1"}, 403},
		{"GET", "/", nil, []string{"Host", "localhost"}, 403},
		{"GET", "/", nil, []string{"Origin", "http://evil.example"}, 403},
		{"GET", "/events", nil, []string{"Origin", "null"}, 403},
		{"GET", "/explain?run=successor", nil, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, 403},
		{"GET", "/explain?run=successor", nil, []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors"}, 403},
		{"GET", "/run?run=successor", nil, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 200},
		{"GET", "/explain?run=successor", nil, []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors"}, 200},
		{"POST", "/solve", form, []string{"Origin", server.URL}, 200},
		{"POST", "/solve", form, []string{"Origin", "http://localhost:" + port}, 200},
		{"POST", "/solve", form, nil, 403},
		{"POST", "/solve", form, []string{"Origin", "https://localhost:" + port}, 403},
		{"POST", "/solve", form, []string{"Origin", "http://localhost:1"}, 403},
		{"GET", "/solve?run=successor&problem=1", nil, nil, 405},
		{"POST", "/", form, []string{"Origin", server.URL}, 405},
		{"DELETE", "/run?run=successor", nil, nil, 405},
		{"GET", "/nothing", nil, nil, 404},
	} {
		if got, text, _ := got(t, c.method, server.URL+c.path, c.form, c.headers...); got != c.want {
			t.Errorf("%s %s %q: %d %.80q, want %d", c.method, c.path, c.headers, got, text, c.want)
		}
	}
	_, _, headers := got(t, "GET", server.URL, nil)
	if policy := headers.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is %q", policy)
	}
}

// TestPlaces keeps requests below the folder.
func TestPlaces(t *testing.T) {
	dir := runsCopy(t)
	outside := filepath.Join(filepath.Dir(dir), "secret")
	put(t, outside, "run.json", `{"name":"secret-name","seed":1}`)
	put(t, outside, "spec.arith", "arith 2 // secret-spec\n")
	for name, target := range map[string]string{"out": outside, "relative": "../secret", "inside": "successor", "whole": filepath.Join(dir, "successor")} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	put(t, dir, "linked/run.json", `{"name":"linked","seed":1}`)
	if err := os.Symlink(filepath.Join(outside, "spec.arith"), filepath.Join(dir, "linked", "spec.arith")); err != nil {
		t.Fatal(err)
	}
	server := served(t, faked(dir))
	for name, want := range map[string]int{
		"successor": 200, "embeddings/abacus-1": 200, "inside": 200, "whole": 200,
		"../secret": 403, "embeddings/../../secret": 403, outside: 403, "out": 403, "relative": 403, "/etc": 403, "a\x00b": 403,
		"nothing": 404, "embeddings": 404,
		"linked": 403,
	} {
		status, text, _ := got(t, "GET", server.URL+"/run?run="+url.QueryEscape(name), nil)
		if status != want || strings.Contains(text, "secret-") {
			t.Errorf("%q: %d %.300q, want %d", name, status, text, want)
		}
		if status, text, _ := got(t, "GET", server.URL+"/compare?run=successor&run="+url.QueryEscape(name), nil); status == 200 != (want == 200) || strings.Contains(text, "secret-") {
			t.Errorf("compared with %q: %d", name, status)
		}
	}
	_, text, _ := got(t, "GET", server.URL, nil)
	if strings.Contains(text, "secret") || !strings.Contains(text, "spec.arith is a link out of the folder") {
		t.Error("the list shows what a link out of the folder points to, or does not say that it is one")
	}
}

// TestNothingIsWritten compares a folder before and after requests for all pages.
func TestNothingIsWritten(t *testing.T) {
	dir := runsCopy(t)
	server := served(t, faked(dir))
	all := func() string {
		var b strings.Builder
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			info, _ := d.Info()
			fmt.Fprintln(&b, path, info.Size(), info.ModTime())
			return nil
		})
		return b.String()
	}
	before := all()
	for _, path := range []string{"/", "/run?run=successor", "/compare?run=successor&run=embeddings/nope-1", "/explain?run=successor", "/stages?run=successor", "/biases?run=successor"} {
		if status, text, _ := got(t, "GET", server.URL+path, nil); status != 200 {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if after := all(); after != before {
		t.Errorf("the folder was\n%sand is\n%s", before, after)
	}
}

// TestListed wants every directory in the list, damaged or not.
func TestListed(t *testing.T) {
	dir := runsCopy(t)
	put(t, dir, "older/run.json", `{"name":"older","from_another_version":true,"seed":1}`)
	put(t, dir, "broken/run.json", `{"name":"brok`)
	put(t, dir, "foreign/run.json", `{"id":7}`)
	put(t, dir, "bad/run.json", `{"name":"bad","seed":1}`)
	put(t, dir, "bad/metrics.jsonl", "{\n")
	server := served(t, faked(dir))
	_, text, _ := got(t, "GET", server.URL, nil)
	for _, want := range []string{">older<", ">successor<", "embeddings/abacus-3", "broken/run.json is damaged: it ends too early", "its run.json names no spec", "bad/metrics.jsonl is damaged", "3 damaged"} {
		if !strings.Contains(text, want) {
			t.Errorf("the list does not say %q", want)
		}
	}
	for _, name := range []string{"older", "broken", "foreign", "bad"} {
		if status, text, _ := got(t, "GET", server.URL+"/run?run="+name, nil); status != 200 || name == "bad" && !strings.Contains(text, "metrics.jsonl is damaged") {
			t.Errorf("the page of %s: %d", name, status)
		}
	}
	first := func(query string) string {
		_, text, _ := got(t, "GET", server.URL+"/?"+query, nil)
		_, text, _ = strings.Cut(text, "<tbody>")
		_, text, _ = strings.Cut(text, `data-sort="`)
		name, _, _ := strings.Cut(text, `"`)
		return name
	}
	for query, want := range map[string]string{"sort=loss": "successor", "sort=ood&down=1": "successor", "sort=ood": "embeddings/nope-1", "sort=run": "bad"} {
		if got := first(query); got != want {
			t.Errorf("%s: first %s, want %s", query, got, want)
		}
	}
}

// TestRunPage wants the numbers of testdata on the pages, copied by hand.
func TestRunPage(t *testing.T) {
	server := served(t, faked(runsCopy(t)))
	for path, all := range map[string][]string{
		"/run?run=embeddings/abacus-2": {
			"99.78 %", "85.62 %", "mean ± standard deviation of 3 seeds", "6 min 07 s", "AMD EPYC", "317,696",
			"mlc train ", "--seed 2 --steps 6000", "lengths of training", "position = abacus", "20,20,50,16", "6000,0.00180133",
			"/compare?run=embeddings%2fabacus-2&amp;run=embeddings%2fabacus-1&amp;run=embeddings%2fabacus-3",
		},
		"/run?run=successor": {"100.00 %", "--seed 0 --steps 1500", "longest in training: 7"},
		"/compare?run=embeddings/abacus-1&run=embeddings/abacus-2&run=embeddings/nope-1": {
			"A line for each run", "embeddings-abacus, mean of 2 seeds", "model.<wbr>embed.<wbr>position", "train.<wbr>seed", "−100",
		},
		"/compare?run=embeddings/abacus-1&run=embeddings/abacus-2&each=1": {"Means over seeds", "embeddings-abacus-seed-1 "},
	} {
		status, text, _ := got(t, "GET", server.URL+path, nil)
		if status != 200 {
			t.Errorf("%s: %d", path, status)
		}
		for _, want := range all {
			if !strings.Contains(text, strings.TrimSpace(want)) {
				t.Errorf("%s does not say %q", path, want)
			}
		}
	}
	if status, _, headers := got(t, "GET", server.URL+"/compare?run=successor", nil); status != 303 || headers.Get("Location") != "/run?run=successor" {
		t.Errorf("one run compared: %d", status)
	}
}

// TestStages wants curves of each training of a pipeline, and its last result.
func TestStages(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "p/run.json", `{"name":"p","seed":1,"stages":[{"name":"first","kind":"training","budget":{"steps":20}},{"name":"look","kind":"calibration"},{"name":"second","kind":"training","budget":{"examples":5120}}]}`)
	put(t, dir, "p/first/metrics.jsonl", reported(10, 2)+reported(20, 1))
	put(t, dir, "p/second/metrics.jsonl", reported(10, 0.5)+reported(20, 0.25))
	put(t, dir, "p/second/eval/result.json", `{"metric":"exact_match","by_cell":[[1,0,4,4],[2,0,4,1]],"ood":0.25}`)
	for _, stage := range []string{"first", "second"} {
		log, _, err := track.OpenTests(filepath.Join(dir, "p", stage), 0)
		if err != nil {
			t.Fatal(err)
		}
		half := []track.Length{{Length: 6, ExactMatch: 0.5}}
		if err := errors.Join(log.Write(track.Test{Step: 10, Lengths: half}), log.Write(track.Test{Step: 20, Lengths: half}), log.Close()); err != nil {
			t.Fatal(err)
		}
	}
	server := served(t, faked(dir))
	_, text, _ := got(t, "GET", server.URL+"/run?run=p", nil)
	for _, want := range []string{"Loss, stage first, training batches", "Loss, stage second, training batches",
		"Exact match of held-out problems, stage first", "Exact match of held-out problems, stage second", "of 5120 examples", "25.00 %", "1,100\n2,25"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	v := load(damage.At(filepath.Join(dir, "p")), &Config{})
	if rate, left := v.pace(); rate != 128 || left != 20*time.Second || v.fraction() != 0.5 {
		t.Errorf("20 of 40 batches of 128, one a second: %g examples a second, %v left, %g done", rate, left, v.fraction())
	}
}

// TestAsk sends problems.
func TestAsk(t *testing.T) {
	c := faked(runsCopy(t))
	c.Limit = 200 * time.Millisecond
	server := served(t, c)
	ask := func(problem, times string, script bool) (int, string) {
		headers := []string{"Origin", server.URL}
		if script {
			headers = append(headers, "X-Part", "1")
		}
		status, text, _ := got(t, "POST", server.URL+"/solve", url.Values{"run": {"embeddings/abacus-2"}, "problem": {problem}, "times": {times}}, headers...)
		return status, text
	}
	for _, c := range []struct {
		problem, times, want string
		status               int // without the script
	}{
		{"123+456", "", "579", 200},
		{"123+456", "4", "settled after 2 of 2", 200},
		{"bad", "", "is &lt;b&gt;no&lt;/b&gt; problem", 500},
		{"wait", "", "took longer than", 504},
		{"", "", "Type a problem first", 400},
		{"1", "0", "The loop can run", 400},
		{"1", "many", "The loop can run", 400},
		{"1\n2", "", "A problem is one line", 400},
		{strings.Repeat("1", 5000), "", "A problem is one line", 400},
		{strings.Repeat("1", 50000), "", "too long", 413},
	} {
		if status, text := ask(c.problem, c.times, false); status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%.20q: %d %.900s, want %d with %q", c.problem, status, text, c.status, c.want)
		}
		status, text := ask(c.problem, c.times, true)
		var last map[string]string
		lines := strings.Split(strings.TrimSpace(text), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || status != 200 || !strings.Contains(last["html"], c.want) {
			t.Errorf("%.20q for the script: %d %.300s, %v", c.problem, status, text, err)
		}
	}
	if _, text := ask("123+456", "", true); !strings.HasPrefix(text, `{"say":"Building the trainer`) {
		t.Errorf("what takes long is not said first: %s", text)
	}
}

// TestAskIsCancelled tells the script of work that goes on, and stops it when its request ends.
func TestAskIsCancelled(t *testing.T) {
	c := faked(runsCopy(t))
	ended := make(chan bool, 1)
	c.Solve = func(ctx context.Context, _, _ string, _ int, _ bool, say func(string)) (*Answer, error) {
		say("Solving …")
		<-ctx.Done()
		ended <- true
		return nil, ctx.Err()
	}
	server := served(t, c)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", server.URL+"/solve", strings.NewReader("run=successor&problem=1"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", server.URL)
	r.Header.Set("X-Part", "1")
	letIn(r)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if line, err := bufio.NewReader(answer.Body).ReadString('\n'); line != `{"say":"Solving …"}`+"\n" {
		t.Errorf("while the trainer works, the script hears %q, %v", line, err)
	}
	cancel()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the trainer goes on though the request has ended")
	}
}

// TestParts requests the parts that need the compiler, with and without one.
func TestParts(t *testing.T) {
	dir := runsCopy(t)
	server := served(t, faked(dir))
	for path, want := range map[string]string{
		"/explain?run=successor": "// &lt;script&gt;hacked = 1&lt;/script&gt;",
		"/biases?run=successor":  "distance of query and key",
		"/shorter?run=successor": "arith 2 // and &lt;b&gt;more&lt;/b&gt;",
		"/stages?run=successor":  "<b>stages</b>",
	} {
		status, text, headers := got(t, "GET", server.URL+path, nil)
		if status != 200 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %.500s", path, status, text)
		}
		if policy := headers.Get("Content-Security-Policy"); path[:4] == "/sta" && (!strings.Contains(policy, "script-src 'sha256-") || strings.Contains(policy, "'self'")) {
			t.Errorf("the policy of the page of all stages is %q", policy)
		}
	}
	status, text, _ := got(t, "POST", server.URL+"/attention", url.Values{"run": {"successor"}, "problem": {"12"}}, "Origin", server.URL)
	if status != 200 || strings.Count(text, "<svg class=\"chart heat\"") != 2 || !strings.Contains(text, "decoder.0.self") {
		t.Errorf("attention: %d %.500s", status, text)
	}
	bare := served(t, Config{Folder: dir})
	_, text, _ = got(t, "GET", bare.URL+"/run?run=successor", nil)
	if n := strings.Count(text, "not available here"); n != 4 {
		t.Errorf("without functions, the page says %d times that something is not available, want 4", n)
	}
	if status, _, _ := got(t, "GET", bare.URL+"/explain?run=successor", nil); status != 501 {
		t.Errorf("kernels without a compiler: %d", status)
	}
}

// TestEvents reads the stream of a run.
func TestEvents(t *testing.T) {
	dir := runsCopy(t)
	put(t, dir, "now/run.json", `{"name":"now","seed":1,"budget":{"steps":100}}`)
	put(t, dir, "now/metrics.jsonl", reported(10, 2))
	server := served(t, faked(dir))
	r, err := http.NewRequest("GET", server.URL+"/events?run=now", nil)
	if err != nil {
		t.Fatal(err)
	}
	letIn(r)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	next := func() (ids []string) {
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				var parts []struct{ ID string }
				if err := json.Unmarshal([]byte(text), &parts); err != nil {
					t.Fatal(err)
				}
				for _, p := range parts {
					ids = append(ids, p.ID)
				}
				return ids
			}
		}
		t.Fatal("the stream has ended")
		return nil
	}
	if got := next(); !slices.Equal(got, []string{"facts", "test", "curves", "during"}) {
		t.Errorf("first %q", got)
	}
	add(t, filepath.Join(dir, "now", "metrics.jsonl"), reported(20, 1))
	if got := next(); !slices.Equal(got, []string{"facts", "curves"}) {
		t.Errorf("after a report %q", got)
	}
}

// TestInitialWeights shows the seed of initial weights on the page of a run, and counts
// runs that differ only in this seed as runs of other seeds.
func TestInitialWeights(t *testing.T) {
	dir := runsCopy(t)
	spec, err := os.ReadFile("testdata/runs/successor/spec.arith")
	if err != nil {
		t.Fatal(err)
	}
	for name, init := range map[string]string{"plain": "", "own": `"init_seed":5,`, "staged": `"init_seed":5,"stages":[{"name":"a","kind":"training"},{"name":"b","kind":"training","init_seed":5}],`} {
		put(t, dir, name+"/run.json", `{"name":"same","seed":1,`+init+`"budget":{"steps":100}}`)
		put(t, dir, name+"/spec.arith", string(spec))
		put(t, dir, name+"/metrics.jsonl", strings.Repeat(reported(1, 2), 3))
	}
	server := served(t, faked(dir))
	for name, want := range map[string]map[string]bool{
		"plain":  {"init seed": false, "--init-seed": false, "Compare with 1 run of other seeds": true},
		"own":    {"init seed": true, "--seed 1 --init-seed 5": true, "Compare with 1 run of other seeds": true},
		"staged": {"init seed": true, "--init-seed": false},
	} {
		_, text, _ := got(t, "GET", server.URL+"/run?run="+name, nil)
		for what, there := range want {
			if strings.Contains(text, what) != there {
				t.Errorf("%s: %q there: %v, want %v", name, what, !there, there)
			}
		}
	}
}

// TestThousand lists a thousand runs.
func TestThousand(t *testing.T) {
	dir := t.TempDir()
	spec, err := os.ReadFile("testdata/runs/successor/spec.arith")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		name := fmt.Sprintf("sweep/%04d", i)
		put(t, dir, name+"/run.json", fmt.Sprintf(`{"name":"sweep","seed":%d,"budget":{"steps":100}}`, i))
		put(t, dir, name+"/spec.arith", strings.Replace(string(spec), "seed       = 0", fmt.Sprintf("seed       = %d", i), 1))
		put(t, dir, name+"/metrics.jsonl", strings.Repeat(reported(1, 2), 3))
	}
	server := served(t, faked(dir))
	for range 2 {
		start := time.Now()
		_, text, _ := got(t, "GET", server.URL, nil)
		t.Logf("%d bytes in %v", len(text), time.Since(start))
		if n := strings.Count(text, "</tr>"); n != 1001 || !strings.Contains(text, "1000 stopped") {
			t.Errorf("%d lines", n)
		}
	}
}

// TestFolder finds runs through a relative path with a link. The list of runs is read again after
// ten times the time of a reading.
func TestFolder(t *testing.T) {
	dir := runsCopy(t)
	t.Chdir(filepath.Dir(dir))
	if err := os.Symlink("runs", "link"); err != nil {
		t.Skip(err)
	}
	if _, err := openFolder("nowhere"); err == nil {
		t.Error("a folder that is not there opens")
	}
	f, err := openFolder("link")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := f.run("successor", func(damage.Path) {}); err != nil {
		t.Error(err)
	}
	listed := func() int {
		rows, err := f.runs()
		if err != nil {
			t.Fatal(err)
		}
		return len(rows)
	}
	all := listed()
	put(t, dir, "new/run.json", ofSteps)
	if got := listed(); got != all {
		t.Errorf("at once, %d runs are listed, want %d", got, all)
	}
	f.read, f.took = time.Now().Add(-time.Minute), 10*time.Second
	if got := listed(); got != all {
		t.Errorf("a minute after a reading of ten seconds, %d runs are listed, want %d", got, all)
	}
	f.took = time.Second
	if got := listed(); got != all+1 {
		t.Errorf("later, %d runs are listed, want %d", got, all+1)
	}
}
