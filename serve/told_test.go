package serve

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
)

// plain returns the text of a page on one line.
func plain(page string) string {
	text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " ")
	return strings.Join(strings.Fields(strings.ReplaceAll(html.UnescapeString(text), "\u00a0", " ")), " ")
}

// TestTold wants the most useful facts on the pages: the result beyond the trained lengths
// first, the number of problems behind each per cent, the differences between runs, and one
// name for a run.
func TestTold(t *testing.T) {
	dir := runsCopy(t)
	for name, lr := range map[string]string{"sweep/a": "0.001", "sweep/b": "0.003"} {
		put(t, dir, name+"/run.json", strings.Replace(ofSteps, "{", `{"spec_hash":"`+strings.Repeat(lr[len(lr)-1:], 64)+`",`, 1))
		put(t, dir, name+"/spec.arith", plainSpec+"train {\n  optimizer = adamw(lr = "+lr+", betas = [0.9, 0.98])\n  report = brief(every = auto, problems = 64)\n}\n")
		put(t, dir, name+"/metrics.jsonl", `{"step":90,"examples":90,"loss":2,"lr":0.001,"seconds":9}`+"\n"+`{"step":100,"examples":100,"loss":7.594e-9,"lr":4.167e-9,"exact_match":1,"seconds":10}`+"\n")
	}
	server := served(t, faked(dir))
	for path, c := range map[string]struct{ says, not []string }{
		"/run?run=embeddings/abacus-2": {[]string{
			"ood 85.62 % of 15,000 exact match, mean over longer ones, up to 100 digits id 99.78 % of 5,000 exact match, mean over lengths of training step 6,000",
			"exact match 100.00 % of 64 held-out problems",
			"embeddings/abacus-2 embeddings-abacus-seed-2 All runs",
		}, []string{"e-0", "learning rate 4"}},
		"/run?run=sweep/a": {[]string{"loss < 0.0001", "100.00 % of 64", "sweep/a x All runs"}, []string{"7.594e-09"}},
		"/":                {[]string{"sweep/a trained", "2026-11-27 10:20", "lr = 0.001", "lr = 0.003", "2026-11-25 11:12"}, []string{"adamw(", "betas", "e-09"}},
		"/compare?run=sweep/a&run=sweep/b": {[]string{
			"sweep/ a sweep/ b Results", "sweep/a, lr = 0.001", "sweep/b, lr = 0.003", "Settings that differ train. optimizer. lr 0.001 0.003",
		}, []string{"betas", "(best)"}},
		"/compare?run=embeddings/abacus-2&run=embeddings/nope-1": {[]string{
			"ood, mean over longer ones, up to 100 digits 85.62 % of 15,000 (best) 1.46 % of 15,000", "loss, last report 0.0018 (best) 1.05", "embeddings/ abacus-2", "model. embed. position abacus none train. optimizer. lr",
		}, []string{"max_offset"}},
	} {
		status, text, _ := got(t, "GET", server.URL+path, nil)
		if status != 200 {
			t.Fatalf("%s: %d %s", path, status, text)
		}
		if i := strings.Index(text, `id="ask"`); strings.HasPrefix(path, "/run") && (i < 0 || i > strings.Index(text, `id="curves"`)) {
			t.Errorf("%s: a problem is asked for below the curves", path)
		}
		said := regexp.MustCompile(`(?s)<pre.*?</pre>|data-hover="[^"]*"`).ReplaceAllString(text, "")
		said = plain(said)
		for _, want := range c.says {
			if !strings.Contains(said, want) {
				t.Errorf("%s does not say %q: %s", path, want, said)
			}
		}
		for _, not := range c.not {
			if strings.Contains(said, not) {
				t.Errorf("%s says %q: %s", path, not, said)
			}
		}
	}
}

// TestBest marks the largest or the smallest of different values.
func TestBest(t *testing.T) {
	one, two := 1.0, 2.0
	for _, c := range []struct {
		values []*float64
		sign   float64
		want   string
	}{
		{[]*float64{&one, &two, nil, &two}, 1, "[false true false true]"},
		{[]*float64{&one, &two, nil}, -1, "[true false false]"},
		{[]*float64{&one, &one}, 1, "[]"},
		{[]*float64{&one, nil}, 1, "[]"},
		{nil, 1, "[]"},
	} {
		if got := fmt.Sprint(best(c.values, c.sign)); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
