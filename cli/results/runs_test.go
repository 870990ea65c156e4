package results

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/plot/list"
)

// TestOrders puts the best run last, and runs without a value first.
func TestOrders(t *testing.T) {
	value := func(x float64) *float64 { return &x }
	runs := []*list.Run{
		{Dir: "a", Started: time.Unix(30, 0), Loss: value(2), ID: value(0.5), Overall: value(0.1)},
		{Dir: "b", Started: time.Unix(10, 0), Loss: value(1), ID: value(0.9), OOD: value(0.2)},
		{Dir: "c", Started: time.Unix(20, 0), ExactMatch: value(0.5), OOD: value(0.1)},
		{Dir: "d", ExactMatch: value(0.4)},
	}
	for order, want := range map[string]string{
		"started": "dbca", "dir": "abcd", "loss": "cdab", "held_out": "abdc", "id": "cdab", "ood": "adcb", "overall": "bcda",
	} {
		i := slices.IndexFunc(runOrders, func(o runOrder) bool { return o.name == order })
		sorted := slices.Clone(runs)
		slices.SortStableFunc(sorted, runOrders[i].compare)
		got := ""
		for _, r := range sorted {
			got += r.Dir
		}
		if got != want {
			t.Errorf("by %s they are %s, want %s", order, got, want)
		}
	}
	if got, want := OrderNames(), "started,dir,loss,held_out,id,ood,overall,bits"; got != want {
		t.Errorf("the orders are %s, want %s", got, want)
	}
}

// TestPrintRuns prints a line a run, the problems of damaged runs, and the counts.
func TestPrintRuns(t *testing.T) {
	value := func(x float64) *float64 { return &x }
	seed := uint64(7)
	runs := []*list.Run{
		{Dir: "runs/a", Name: "x", State: list.Tested, Seed: 1, Started: time.Date(2026, 11, 27, 10, 20, 30, 0, time.UTC), Step: 100, Loss: value(0.123456), ExactMatch: value(0.5), ID: value(1), OOD: value(0.25)},
		{Dir: "runs/b", Name: "x", State: list.Running, Seed: 2, InitSeed: &seed, Step: 7},
		{Dir: "other/c\x1b", State: list.Damaged, Problem: "run.json is\x07 empty"},
	}
	var out, said bytes.Buffer
	sh := &shell.Shell{Out: &out, Err: &said}
	if err := PrintRuns(sh, runs); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	var got []string
	for _, l := range lines {
		got = append(got, strings.Join(strings.Fields(l), " "))
	}
	want := []string{"run state step loss held out id ood settings", "runs/a tested 100 0.123 50.00 100.00 25.00", "runs/b running 7 - - - -", "other/c? damaged 0 - - - -"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if want := "other/c?: run.json is? empty\n3 runs: 1 running, 1 tested, 1 damaged\n"; said.String() != want {
		t.Errorf("it says %q, want %q", said.String(), want)
	}
	said.Reset()
	out.Reset()
	runs[0].Overall = value(0.75)
	if err := PrintRuns(sh, runs[:1]); err != nil || !strings.Contains(out.String(), "overall") || !strings.Contains(out.String(), "75.00") || said.String() != "1 run: 1 tested\n" {
		t.Errorf("of a file: %s%s%v", out.String(), said.String(), err)
	}

	table := runsTable(runs)
	wantTable := [][]any{
		{"runs/a", "x", list.Tested, uint64(1), "2026-11-27T10:20:30Z", "", "", 100, "0.123456", "0.5", 0., "1", "0.25", "0.75", ""},
		{"runs/b", "x", list.Running, uint64(2), "", "", "", 7, "", "", 0., "", "", "", uint64(7)},
		{"other/c\x1b", "", list.Damaged, uint64(0), "", "", "", 0, "", "", 0., "", "", "", ""},
	}
	if diff := cmp.Diff(wantTable, table.rows); diff != "" || !slices.Equal(table.heads[14:], []string{"init_seed"}) {
		t.Errorf("%q\n%s", table.heads, diff)
	}
	if table := runsTable(runs[:1]); slices.Contains(table.heads, "init_seed") || len(table.rows[0]) != len(table.heads) {
		t.Errorf("without seeds of initial weights: %q", table.heads)
	}
}
