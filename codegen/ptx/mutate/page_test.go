package mutate

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// write writes the gate's page. It fails if kinds or specs were left out.
func (g *gate) write(path string) error {
	if !*all || *only != "" || *kind != "" {
		return errors.New("-page is for mutants of all kinds, of all specs: with -all, without -spec and -kind")
	}
	commit, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		return fmt.Errorf("which commit is this? git: %w", err)
	}
	return replace(path, g.text(time.Now().UTC().Format(time.DateOnly), strings.TrimSpace(string(commit))))
}

const pagePreface = `# The mutation gate

Written by ` + "`make gate`" + `, never by hand. The gate makes wrong kernels of right ones, and wants the simulator or a changed result
to find at least 99 of 100. [A separate list](../codegen/ptx/mutate/` + barriersFile + `) has the barriers of all kernels.

`

// text returns the page.
func (g *gate) text(date, commit string) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	say(pagePreface)
	say("%s, commit %s, `make gate PART=%d TURN=%d`: ", date, commit, *part, *turn)
	if *part == 1 {
		say("every mutant ")
	} else {
		say("one mutant in %d, chosen by a hash, ", *part)
	}
	say("of %d kernels, of shipped specs and in `testdata`. %d of them have one in that part. Whether `ptxas` makes the same code of a mutant was %s.\n",
		g.asked, g.kernels, map[bool]string{true: "asked", false: "not asked: there was none"}[g.ptxas])
	if len(g.failed) > 0 {
		slices.Sort(g.failed)
		say("%d kernels were not tried to the end: %s.\n", len(g.failed), strings.Join(g.failed, ", "))
	}
	say("\n| what is done to a kernel | mutants | survive |\n|---|---:|---:|\n")
	total, missed := 0, 0
	for _, k := range slices.Sorted(maps.Keys(g.tried)) {
		say("| %s | %d | %d |\n", k, g.tried[k], g.missed[k])
		total, missed = total+g.tried[k], missed+g.missed[k]
	}
	say("| **all** | **%d** | **%d** |\n\n| what has found it | mutants |\n|---|---:|\n", total, missed)
	for _, what := range slices.Sorted(maps.Keys(g.by)) {
		if what != "" {
			say("| %s | %d |\n", what, g.by[what])
		}
	}
	say("\nEquivalent mutants are in the second table alone. %d survive:\n\n```\n", missed)
	for _, s := range slices.Sorted(slices.Values(g.through)) {
		say("%s\n", s)
	}
	say("```\n")
	return b.String()
}

// replace writes a file that appears whole.
func replace(path, text string) error {
	temp := path + ".new"
	if err := os.WriteFile(temp, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

// TestPageIsAboveItsBar wants at least 500 mutants on the committed page, and at most one in 100
// to survive.
func TestPageIsAboveItsBar(t *testing.T) {
	text, err := os.ReadFile("../../../docs/mutation.md")
	if err != nil {
		t.Fatal(err)
	}
	sum := regexp.MustCompile(`(?m)^\| \*\*all\*\* \| \*\*(\d+)\*\* \| \*\*(\d+)\*\* \|$`).FindSubmatch(text)
	if sum == nil {
		t.Fatal("docs/mutation.md has no sum: make gate writes it")
	}
	tried, _ := strconv.Atoi(string(sum[1]))
	missed, _ := strconv.Atoi(string(sum[2]))
	if tried < 500 || missed*100 > tried {
		t.Errorf("docs/mutation.md: %d of %d mutants survive, wanted are at most 1 in 100 of 500 or more", missed, tried)
	}
	if bytes.Contains(text, []byte("not tried to the end")) {
		t.Error("docs/mutation.md: some kernels were not tried to the end")
	}
}

// TestPage wants a page to say which part was tried, and all that was not well.
func TestPage(t *testing.T) {
	g := gate{tried: map[Kind]int{}, missed: map[Kind]int{}, by: map[string]int{}}
	g.tell("a/k", 3, nil)
	g.tell("a/l", 0, nil)
	g.tell("b/m", 1, errors.New("broken"))
	g.note("a/k", Mutant{Kind: Barrier}, "data race")
	g.note("a/k", Mutant{Kind: Barrier}, "")
	g.note("a/k", Mutant{Kind: Index}, equivalent+"it is never reached")
	text := g.text("2001-02-03", "abc-dirty")
	for _, want := range []string{
		fmt.Sprintf("2001-02-03, commit abc-dirty, `make gate PART=%d TURN=%d`: one mutant in %[1]d", *part, *turn), "of 3 kernels, of shipped specs and in `testdata`. 2 of them have one", "not asked",
		"\n1 kernels were not tried to the end: b/m.\n", "| a barrier is deleted | 2 | 1 |\n| **all** | **2** | **1** |", "| data race | 1 |", "| equivalent: it is never reached | 1 |", "\n```\na/k: a barrier is deleted",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if err := g.write(t.TempDir() + "/page.md"); err == nil && (!*all || *only != "") {
		t.Error("a page of a part of the specs")
	}
}
