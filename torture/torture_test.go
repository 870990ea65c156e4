package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestCampaign is a short campaign. TORTURE_CASE in the environment is one case of it
// again.
func TestCampaign(t *testing.T) {
	if testing.Short() {
		t.Skip("builds mlc and trainers")
	}
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
	for kind, faults := range map[string]int{"kill": 25, "fail": 40, "damage": 150} {
		t.Run(kind, func(t *testing.T) {
			if kind == "fail" && !canTrace() {
				t.Skip("there is no strace that may trace")
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

// TestTargets finds fuzz tests however deep they are.
func TestTargets(t *testing.T) {
	all, err := targets("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []target{{"dsl", "FuzzParse"}, {"compiler/lsp", "FuzzServe"}, {"runtime/cuda/sim/num", "FuzzArithmetic"}} {
		if !slices.Contains(all, want) {
			t.Errorf("%s is not among %v", want, all)
		}
	}
}
