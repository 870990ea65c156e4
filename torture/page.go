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

	"github.com/arithlang/mlc/runtime/track"
)

// A tally counts cases by kind and by the work or damage they are about.
type tally struct {
	sync.Mutex
	counts map[row]*count
}

// A row of the page, such as a kill of an evaluation.
type row struct{ kind, about string }

type count struct{ Made, Found int }

// add counts a case with so many faults; err is its finding.
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

// total sums the counts of a kind.
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

// found counts the cases with findings.
func (t *tally) found() (n int) {
	for _, kind := range []string{"kill", "fail", "damage", "crowd", "input"} {
		n += t.total(kind).Found
	}
	return n
}

//go:embed page.md
var pageText string

// sections maps the sections of the page to their kinds of cases.
var sections = map[string]string{"Kills": "kill", "Failing system calls": "fail", "Damaged files": "damage", "Crowds": "crowd", "Inputs": "input"}

// page returns docs/reliability.md. Sections without a case in this campaign stay as they were.
func (o *options) page(t *tally, now time.Time, before string) (string, error) {
	funcs := template.FuncMap{
		"table": func(kind string) string {
			var b strings.Builder
			for _, r := range slices.SortedFunc(maps.Keys(t.counts), func(a, b row) int { return strings.Compare(a.about, b.about) }) {
				if r.kind == kind {
					fmt.Fprintf(&b, "| %s | %s | %d |\n", r.about, track.Thousands(t.counts[r].Made), t.counts[r].Found)
				}
			}
			all := t.total(kind)
			fmt.Fprintf(&b, "| **together** | **%s** | **%d** |", track.Thousands(all.Made), all.Found)
			return b.String()
		},
		"made": func(kind string) string {
			return fmt.Sprintf("%s, `%s`.", now.UTC().Format(time.DateOnly), o.command(kind))
		},
	}
	p, err := template.New("page").Funcs(funcs).Parse(pageText)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := p.Execute(&b, nil); err != nil {
		return "", err
	}
	const heading = "\n\n## "
	were := map[string]string{} // sections by title
	for _, s := range strings.Split(strings.TrimSpace(before), heading)[1:] {
		title, _, _ := strings.Cut(s, "\n")
		were[title] = s
	}
	all := strings.Split(strings.TrimSpace(b.String()), heading)
	for i, s := range all[1:] {
		title, _, _ := strings.Cut(s, "\n")
		if were[title] != "" && t.total(sections[title]).Made == 0 {
			all[1+i] = were[title]
		}
	}
	return strings.Join(all, heading) + "\n", nil
}

// command returns the command that repeats the cases of a kind.
func (o *options) command(kind string) string {
	flags := map[string]string{
		"kill": fmt.Sprintf("--kills %d", o.Kills), "fail": fmt.Sprintf("--failures %d", o.Failures), "damage": fmt.Sprintf("--damages %d", o.Damages),
		"crowd": fmt.Sprintf("--crowds %d", o.Crowds),
		"input": fmt.Sprintf("--fuzz %s --inputs %d", o.Fuzz, o.Inputs),
	}
	return fmt.Sprintf("go run ./torture %s --seed %d --write", flags[kind], o.Seed)
}

// write updates the page.
func (o *options) write(t *tally) error {
	const path = "docs/reliability.md"
	before, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := o.page(t, time.Now(), string(before))
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
