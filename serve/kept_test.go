package serve

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/internal/golden"
)

// TestPagesAsKept compares the pages of finished runs with a file: their words, and hashes of their
// drawings, of their numbers, of styles and scripts in them, and of the whole. After a change that
// is right, run it with -update.
func TestPagesAsKept(t *testing.T) {
	dir := runsCopy(t)
	put(t, dir, "prose/run.json", `{"name":"prose","seed":3,"host":"n1","budget":{"steps":20},"axes":["train.seed"]}`)
	put(t, dir, "prose/metrics.jsonl", `{"step":10,"examples":80,"tokens":640,"loss":2.5,"lr":0.001,"grad_norm":1,"held_out_loss":2.625,"seconds":4}`+"\n"+
		`{"step":20,"examples":160,"tokens":1280,"loss":1.25,"lr":0.0005,"grad_norm":0.5,"held_out_loss":1.375,"seconds":9}`+"\n")
	put(t, dir, "tale/run.json", `{"name":"tale","seed":4,"host":"n1","started":"2026-11-27T10:20:30Z","budget":{"time":60000000000}}`)
	put(t, dir, "tale/spec.arith", "arith 2\n\ntask text {\n  path = \"tale.txt\"\n}\n")
	put(t, dir, "tale/eval/result.json", `{"metric":"bits","text":{"of":"its last tenth","characters":12345,"loss":1.25,"bits":1.803369}}`)
	put(t, dir, "stages/run.json", `{"name":"stages","seed":1,"stages":[{"name":"first","kind":"training","budget":{"steps":20}},{"name":"second","kind":"training","budget":{"steps":20}}]}`)
	put(t, dir, "stages/first/metrics.jsonl", reported(10, 2)+reported(20, 1))
	put(t, dir, "stages/second/metrics.jsonl", reported(10, 0.5))
	put(t, dir, "broken/run.json", `{"name":`)
	server := served(t, faked(dir))
	var now strings.Builder
	for _, path := range []string{
		"/", "/?q=embeddings", "/?sort=ood&down=1", "/run?run=embeddings/abacus-2", "/run?run=embeddings/nope-1", "/run?run=successor", "/run?run=prose", "/run?run=tale", "/run?run=stages", "/run?run=broken", "/run?run=absent",
		"/compare?run=embeddings/abacus-1&run=embeddings/abacus-2&run=embeddings/nope-1", "/compare?run=embeddings/abacus-1&run=embeddings/abacus-2&each=1", "/compare?run=prose&run=successor", "/compare?run=absent&run=successor",
		"/stages?run=successor", "/explain?run=successor&stage=ir", "/explain?run=successor&stage=absent", "/biases?run=successor", "/shorter?run=successor", "/absent",
	} {
		status, text, headers := got(t, "GET", server.URL+path, nil)
		fmt.Fprintf(&now, "== %s: %d %s\n%s\n", path, status, headers.Get("Content-Type"), kept(text, dir, server.URL))
	}
	file, err := filepath.Abs("testdata/pages.txt")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	c := faked(dir)
	for _, names := range [][]string{{"prose"}, {"embeddings/abacus-1", "embeddings/abacus-2", "embeddings/nope-1"}, {"tale", "broken"}} {
		text, err := Report(t.Context(), c, names)
		c.Biases = func(context.Context, string) ([]Bias, error) { return nil, errors.New("out of order") }
		fmt.Fprintf(&now, "== report of %q: %v\n%s\n", names, err, kept(string(text), dir, server.URL))
	}
	_, _, headers := got(t, "GET", server.URL+"/", nil)
	for _, h := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy", "Cross-Origin-Opener-Policy", "Cross-Origin-Resource-Policy", "Cache-Control"} {
		fmt.Fprintf(&now, "%s: %s\n", h, headers.Get(h))
	}
	golden.Compare(t, file, now.String())
}

var (
	drawing = regexp.MustCompile(`(?s)<svg.*?</svg>`)
	block   = regexp.MustCompile(`\s*</?(tr|p|li|h\d|div|section|dl|table|pre|form|nav|header|main|figure|style|script)\b[^>]*>\s*`)
	element = regexp.MustCompile(`[ \t]*<[^>]*>[ \t]*`)
	numbers = regexp.MustCompile(`(\n[-0-9.,]+){4,}`)
	version = regexp.MustCompile(`data-version="[0-9a-f]+"`)
)

// kept returns the words of a page, and hashes of its drawings and of the whole, without what
// another test run changes.
func kept(page, dir, server string) string {
	page = strings.NewReplacer(dir, "RUNS", filepath.Dir(dir), "TEMP", server, "SERVER").Replace(version.ReplaceAllString(page, ""))
	hash := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:12] }
	words := drawing.ReplaceAllStringFunc(page, func(svg string) string { return " drawing " + hash(svg) + " " })
	words = inlineParts.ReplaceAllStringFunc(words, func(part string) string { return "\ninline " + hash(part) + "\n" })
	words = element.ReplaceAllString(block.ReplaceAllString(words, "\n"), " ")
	words = numbers.ReplaceAllStringFunc(words, func(rows string) string { return "\nnumbers " + hash(rows) })
	return regexp.MustCompile(`[ \t]*\n\s*`).ReplaceAllString(words, "\n") + "page " + hash(page)
}

// TestListNews wants a part for each run, and their ids, by which a page leaves out runs that are
// gone.
func TestListNews(t *testing.T) {
	dir := runsCopy(t)
	for _, runs := range []int{5, 4} {
		s, err := New(faked(dir))
		if err != nil {
			t.Fatal(err)
		}
		parts, err := s.listNews()
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, p := range parts[:len(parts)-1] {
			ids = append(ids, p.ID)
		}
		last := parts[len(parts)-1]
		if len(ids) < runs || last.ID != "rows" || !slices.Equal(last.Only, ids) || last.version != strings.Join(ids, " ") {
			t.Errorf("%d runs have parts %q, and %+v", runs, ids, last)
		}
		if gone := !slices.ContainsFunc(parts, func(p part) bool { return strings.Contains(string(p.HTML), "successor") }); gone != (runs == 4) {
			t.Errorf("with %d runs the successor is gone: %v", runs, gone)
		}
		if err := os.RemoveAll(filepath.Join(dir, "successor")); err != nil {
			t.Fatal(err)
		}
	}
}
