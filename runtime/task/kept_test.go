package task_test

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/internal/golden"
	"github.com/arithlang/mlc/runtime/config"
	. "github.com/arithlang/mlc/runtime/task"
)

// TestTasksAsKept compares tasks that are drawn from common configurations and changes of them with a
// file: their sizes and errors, and hashes of their problems. After a change that is right, run it with
// -update.
func TestTasksAsKept(t *testing.T) {
	var now strings.Builder
	for n := range uint64(240) {
		fmt.Fprintln(&now, keptOf(drawnConfig(rand.New(rand.NewPCG(n, 0)))))
	}
	golden.Compare(t, "testdata/kept.txt", now.String())
}

// drawnConfig draws a configuration and up to four changes.
func drawnConfig(r *rand.Rand) Config {
	all := []Config{successors, additions, ranged, adding, sorting, oring, summing, reading(squares(), 0.2), kindOfSequence("subtraction"), kindOfSequence("multiplication"), kindOfSequence("nx1"), kindOfSequence("parity"), kindOfSequence("copy")}
	c := all[r.IntN(len(all))]
	c.DigitsHi, c.Below = min(c.DigitsHi, 6), min(c.Below, 40_000) // few, to be quick
	sizes := []int64{30, 200, 5000, 40_000}
	changes := []func(){ // a file takes the first ones
		func() { c.Holdout = []float64{0, 0.01, 0.25, 0.5}[r.IntN(4)] },
		func() { c.Split = new(uint64) },
		func() { c.Padded, c.LossOnAll = r.IntN(2) == 0, r.IntN(2) == 0 },
		func() { c.Below, c.DigitsLo, c.DigitsHi = sizes[r.IntN(4)], 0, 0 },
		func() { c.Examples = sizes[r.IntN(4)] },
		func() { c.DigitsLo = 1 + r.IntN(2); c.DigitsHi = c.DigitsLo + r.IntN(2) },
		func() {
			c.Kind, c.Of = "mixed", [][]string{{"addition", "subtraction"}, {"addition", "nx1", "multiplication"}, {"subtraction"}}[r.IntN(3)]
			c.Sequence, c.Below, c.Pad, c.DigitsLo, c.DigitsHi = true, 0, Pad{}, 1, 3
		},
		func() { c.Base = []int{2, 3, 16}[r.IntN(3)] },
		func() { c.Pad = Pad{To: 4 + r.IntN(6), Step: r.IntN(3), Less: r.IntN(2)} },
		func() { c.Reversed, c.ReversedOperands = r.IntN(2) == 0, r.IntN(2) == 0 },
		func() { c.Hints = []string{"cyclic", "fixed"}[r.IntN(2)] },
		func() { c.RandomPad = 0.2 },
		func() { c.Used, c.Started = r.IntN(2) == 0, r.IntN(2) == 0 },
		func() { c.Interleave = true },
		func() { c.Scratchpad = true },
		func() { c.Repeated = true },
		func() {
			c.Curriculum = config.Curriculum{From: 1, Until: 0.5, Carries: 0.5 * float64(r.IntN(2)), Fade: 0.25}
		},
		func() { c.Recurrences = config.Recurrences{Digits: 1, Plus: r.IntN(3)} },
	}
	if c.Kind == "file" {
		changes = changes[:3]
	}
	for range r.IntN(5) {
		changes[r.IntN(len(changes))]()
	}
	return c
}

// keptOf describes a task in a line.
func keptOf(c Config) string {
	task, err := tasks.New(c, 5)
	if err != nil {
		return c.Kind + ": " + err.Error()
	}
	h := sha256.New()
	one := func(p Problem) {
		b, err := task.One(p)
		fmt.Fprintln(h, p, b, err, task.Written(p), task.Reference(p))
		if task.ByLength() {
			fmt.Fprintln(h, task.Recurrences(p))
		}
	}
	i, j := task.Extent()
	source, target := task.Longest()
	line := fmt.Sprintf("%s: extent %d %d, longest %d %d, set %d %d, of %.4g, held out %t", c.Kind, i, j, source, target, task.Set(false), task.Set(true), task.Distinct(), task.HoldsOut())
	if task.ByLength() {
		line += fmt.Sprint(", most recurrences ", task.MostRecurrences())
	}
	over := task.Over(64)
	for k := range int64(12) {
		for _, p := range []Problem{task.Train(k), task.HeldOut(k), task.Train(1 << 33), over.Train(6 * k)} {
			one(p)
		}
	}
	for _, cell := range [][2]int{{i, j}, {1, min(j, 1)}, {2, min(j, 2)}, {min(i, 3), min(j, 1)}, {i + 1, min(j, i+1)}} {
		cell[1] = max(cell[1], c.OperandsLo)
		some := task.Cell(cell[0], cell[1], 3)
		unseen := task.Unseen(cell[0], cell[1], 2, 3)
		// Processors that fuse products and sums differ in the last digits.
		fmt.Fprintf(h, "%v %.6g %.6g %t\n", cell, task.ExpectedSeen(some, 100), task.ExpectedSeen(unseen, 1<<40), task.HasUnseen(cell[0], cell[1]))
		line += fmt.Sprintf(", %v has %d unseen, %.3g seen", cell, len(unseen), math.Round(1000*task.ExpectedSeen(some, 1000))/1000)
		for _, p := range append(some, unseen...) {
			one(p)
		}
	}
	d := task.NewDrawer(0, 4)
	b, err := d.Train(8, 8)
	fmt.Fprintln(h, b, err, task.Vocabulary(), task.Lengths(), task.Rows())
	return line + fmt.Sprintf(", %x", h.Sum(nil)[:6])
}
