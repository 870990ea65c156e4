package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/internal/full"
)

// TestCampaign runs a short campaign. TORTURE_CASE in the environment repeats one case.
func TestCampaign(t *testing.T) {
	full.Only(t)
	repo, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	s, err := open(repo, 2*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	c, err := newCampaign(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	if name := os.Getenv("TORTURE_CASE"); name != "" {
		if err := c.again(name); err != nil {
			t.Error(err)
		}
		return
	}
	for kind, faults := range map[string]int{"kill": 25, "fail": 40, "damage": 150, "crowd": 10} {
		t.Run(kind, func(t *testing.T) {
			if kind == "fail" && !canTrace() {
				t.Skip("strace is missing or may not trace")
			}
			made := c.many(t.Context(), kind, faults, 2, func(trial *trial) {
				if trial.err != nil {
					t.Errorf("%v\nagain: go run ./torture --seed 1 --case %s/%d", trial, kind, trial.number)
				}
			})
			if made < faults {
				t.Errorf("only %d faults could be made", made)
			}
		})
	}
}

// TestTargets finds fuzz tests at any depth.
func TestTargets(t *testing.T) {
	all, err := targets("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []target{{"dsl", "FuzzParse"}, {"lsp", "FuzzServe"}, {"ptxsim/num", "FuzzArithmetic"}} {
		if !slices.Contains(all, want) {
			t.Errorf("%s is not among %v", want, all)
		}
	}
}

// TestPage checks that sections without cases stay.
func TestPage(t *testing.T) {
	o := options{Kills: 2, Failures: 3, Seed: 7}
	counts := func() *tally { return &tally{counts: map[row]*count{}} }
	first := counts()
	first.add("kill", "train", 2, nil)
	first.add("fail", "plot", 3, errors.New("silent"))
	page, err := o.page(first, time.Unix(0, 0), "")
	if err != nil {
		t.Fatal(err)
	}
	second := counts()
	second.add("fail", "plot", 4, nil)
	both, err := o.page(second, time.Unix(1e9, 0), page)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		page: {"1970-01-01, `go run ./torture --kills 2 --seed 7 --write`.", "| train | 2 | 0 |", "| plot | 3 | 1 |", "\n\n## Damaged files\n\n", "**0** | **0** |\n"},
		both: {"1970-01-01, `go run ./torture --kills 2 ", "| train | 2 | 0 |", "2001-09-09, `go run ./torture --failures 3 ", "| plot | 4 | 0 |"},
	} {
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("no %q in\n%s", w, text)
			}
		}
	}
	if again, _ := o.page(counts(), time.Unix(2e9, 0), both); again != both {
		t.Errorf("a campaign without cases changes the page:\n%s", again)
	}
}
