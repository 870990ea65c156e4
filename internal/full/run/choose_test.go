package main

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestDistances finds the packages that a changed file affects, also through tests.
func TestDistances(t *testing.T) {
	all := []pkg{
		{ImportPath: "m", Dir: "/m", Imports: []string{"m/b"}, TestGoFiles: []string{"m_test.go"}},
		{ImportPath: "m/a", Dir: "/m/a", TestGoFiles: []string{"a_test.go"}},
		{ImportPath: "m/a/c", Dir: "/m/a/c", XTestImports: []string{"m/b"}, XTestGoFiles: []string{"c_test.go"}},
		{ImportPath: "m/b", Dir: "/m/b", Imports: []string{"m/a"}},
	}
	for files, want := range map[string]map[string]int{
		"":                     {},
		"a/x.go":               {"m/a": 0, "m": 2, "m/a/c": 2},
		"a/testdata/deep/file": {"m/a": 0, "m": 2, "m/a/c": 2},
		"a/c/x.go":             {"m/a/c": 0},
		"b/x.go a/c/x.go":      {"m": 1, "m/a/c": 0},
		"docs/page.md":         {},
		"Makefile":             {"m": 0},
		"go.sum":               {"m": 0, "m/a": 0, "m/a/c": 0},
	} {
		got := distances(all, "/m", strings.Fields(files))
		if len(got) != len(want) {
			t.Errorf("%q: %v, want %v", files, got, want)
		}
		for p, d := range want {
			if have, ok := got[p]; !ok || have != d {
				t.Errorf("%q: %s at %d, want %d", files, p, have, d)
			}
		}
	}
}

// TestWithin takes near packages first, then quick ones, and leaves what does not fit.
func TestWithin(t *testing.T) {
	near := map[string]int{"far": 2, "slow": 0, "quick": 0, "new": 1}
	took := map[string]time.Duration{"far": time.Second, "slow": time.Minute, "quick": 2 * time.Second}
	for budget, want := range map[time.Duration]string{
		0:                "; quick slow new far",
		3 * time.Second:  "quick far; slow new",
		30 * time.Second: "quick new far; slow",
		2 * time.Minute:  "quick slow new far; ",
	} {
		chosen, left := within(near, took, budget)
		if got := strings.Join(chosen, " ") + "; " + strings.Join(left, " "); got != want {
			t.Errorf("%v: %q, want %q", budget, got, want)
		}
	}
}

// TestPage reads the page that written makes.
func TestPage(t *testing.T) {
	t.Chdir(t.TempDir())
	if commit, took := last(); commit != "none" || len(took) != 0 {
		t.Errorf("without a page: %s, %v", commit, took)
	}
	commit, took := strings.Repeat("0a", 20), map[string]time.Duration{"m/a": 1500 * time.Millisecond, "m": time.Minute}
	text := written(took, commit, time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC), errors.New("exit status 1"))
	if !strings.Contains(text, "2026-01-02, commit "+commit+": failed: exit status 1.") || !strings.Contains(text, "| **together** | **62** |") {
		t.Error(text)
	}
	if err := errors.Join(os.Mkdir("docs", 0o755), os.WriteFile(page, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	got, times := last()
	if got != commit || len(times) != 2 || times["m/a"] != took["m/a"] || times["m"] != took["m"] {
		t.Errorf("%s, %v", got, times)
	}
	if order := slowest(times); !slices.Equal(order, []string{"m", "m/a"}) {
		t.Error(order)
	}
}
