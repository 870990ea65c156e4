package main

import (
	_ "embed"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"text/template"
	"time"
)

// A tally counts, by what was disturbed and how.
type tally struct {
	sync.Mutex
	counts map[row]*count
}

// A row of the page, such as a kill of an evaluation.
type row struct{ kind, about string }

type count struct{ Made, Found int }

// add counts a case; an error is what it found.
func (t *tally) add(kind, about string, made int, err error) {
	t.Lock()
	defer t.Unlock()
	r := row{kind, about}
	if t.counts[r] == nil {
		t.counts[r] = &count{}
	}
	t.counts[r].Made += made
	if err != nil {
		t.counts[r].Found++
	}
}

// total sums a kind.
func (t *tally) total(kind string) (all count) {
	t.Lock()
	defer t.Unlock()
	for r, c := range t.counts {
		if r.kind == kind {
			all.Made += c.Made
			all.Found += c.Found
		}
	}
	return all
}

// found is how many cases found something.
func (t *tally) found() (n int) {
	for _, kind := range []string{"kill", "fail", "damage", "input"} {
		n += t.total(kind).Found
	}
	return n
}

//go:embed page.md
var pageText string

// page is docs/reliability.md.
func (o *options) page(t *tally, now time.Time) (string, error) {
	funcs := template.FuncMap{
		"table": func(kind string) string {
			var b strings.Builder
			for _, r := range slices.SortedFunc(maps.Keys(t.counts), func(a, b row) int { return strings.Compare(a.about, b.about) }) {
				if r.kind == kind {
					fmt.Fprintf(&b, "| %s | %s | %d |\n", r.about, thousands(t.counts[r].Made), t.counts[r].Found)
				}
			}
			all := t.total(kind)
			fmt.Fprintf(&b, "| **together** | **%s** | **%d** |", thousands(all.Made), all.Found)
			return b.String()
		},
		"date":    func() string { return now.UTC().Format(time.DateOnly) },
		"command": o.command,
	}
	p, err := template.New("page").Funcs(funcs).Parse(pageText)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = p.Execute(&b, nil)
	return b.String(), err
}

// command makes such a page again.
func (o *options) command() string {
	return fmt.Sprintf("go run ./torture --kills %d --failures %d --damages %d --fuzz %s --inputs %d --seed %d --write", o.Kills, o.Failures, o.Damages, o.Fuzz, o.Inputs, o.Seed)
}

// write writes the page.
func (o *options) write(t *tally) error {
	text, err := o.page(t, time.Now())
	if err != nil {
		return err
	}
	return os.WriteFile("docs/reliability.md", []byte(text), 0o644)
}

func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
