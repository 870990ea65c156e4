package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/bench/peers"
	"github.com/arithlang/mlc/bench/rounds"
)

// launchers start ranks: Debian's names of launchers that can be installed side by side, then any
// other.
var launchers = []struct {
	name string
	argv []string
}{
	{"Open MPI", []string{"mpiexec.openmpi", "--bind-to", "core"}},
	{"MPICH", []string{"mpiexec.hydra", "-bind-to", "core"}},
	{"mpiexec", []string{"mpiexec"}},
}

// compareRanks alternates one process of so many threads and as many ranks of one thread. It
// prints the speed of the ranks for each case and library.
func (o *options) compareRanks(ctx context.Context, b *builder, chosen []peers.Case, turns rounds.Options) error {
	for _, name := range []string{"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"} {
		if err := os.Setenv(name, "1"); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("%-18s %-10s %12s %12s %8s\n", "case", "library", "1 process ms", strconv.Itoa(o.Ranks)+" ranks ms", "speed")
	n := 0
	for _, c := range chosen {
		t, err := b.build(ctx, c, nil)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		var others []rounds.Contestant
		for i, l := range launchers {
			if _, err := exec.LookPath(l.argv[0]); err != nil || i == len(launchers)-1 && len(others) > 0 {
				continue
			}
			argv := append(append([]string{}, l.argv...), "-n", strconv.Itoa(o.Ranks), t.binary, "bench", "--serve", "--device", "cpu", "--threads", "1")
			others = append(others, rounds.Contestant{Title: l.name, Start: rounds.Process(argv...)})
		}
		if len(others) == 0 {
			return errors.New("no MPI: install openmpi-bin or mpich")
		}
		logf("%s: %s", c.Name, c.Title)
		for _, r := range rounds.Duels(ctx, t.contestant(o.Ranks), others, turns)[1:] {
			ratio, known := r.Ratio()
			if !known {
				return fmt.Errorf("%s by %s: %w", c.Name, r.Title, r.Err)
			}
			n++
			text += fmt.Sprintf("%-18s %-10s %12.1f %12.1f %8.2f\n", c.Name, r.Title, 1e3*rounds.Median(r.Base), 1e3*rounds.Median(r.Seconds), 1/ratio)
		}
	}
	_, err := fmt.Print(text + strings.Repeat("\n", min(n, 1)) + "Medians of rounds; speed is the ranks' relative to one process.\n")
	return err
}
