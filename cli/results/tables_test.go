package results

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/plot"
	"github.com/arithlang/mlc/runtime/calibrate"
	"github.com/arithlang/mlc/runtime/eval"
)

// two tables: one with a title, and one without a title and with missing cells.
var two = []table{
	{title: "of a, b", heads: []string{"head", "i", "long head"}, rows: [][]any{{0, "x", 1.5}, {10, "a, \"b\""}}},
	{heads: []string{"k"}, rows: [][]any{{true}}},
}

// TestFormats writes tables for people and for programs.
func TestFormats(t *testing.T) {
	var text, markdown, csv, rows bytes.Buffer
	for _, err := range []error{writeText(&text, two[:1]), writeMarkdown(&markdown, two), writeCSV(&csv, two), printRows(&shell.Shell{Out: &rows}, two)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		format    string
		got, want string
	}{
		{"text", text.String(), "of a, b\n  head  i       long head\n  0     x       1.5\n  10    a, \"b\"\n"},
		{"markdown", markdown.String(), "of a, b\n\n| head | i | long head |\n|---|---|---|\n| 0 | x | 1.5 |\n| 10 | a, \"b\" |  |\n\n| k |\n|---|\n| true |\n"},
		{"csv", csv.String(), "head,i,long head\n0,x,1.5\n10,\"a, \"\"b\"\"\",\n\nk\ntrue\n"},
		{"rows", rows.String(), "{\"head\":0,\"i\":\"x\",\"long head\":1.5}\n{\"head\":10,\"i\":\"a, \\\"b\\\"\"}\n{\"k\":true}\n"},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.format, diff)
		}
	}
}

// calibrated returns a run with a calibration of two heads, the second of them transparent.
func calibrated() *plot.Run {
	lines := func(kept bool) []calibrate.Line {
		return []calibrate.Line{{Number: 3, Value: 1.25, Cells: 4, Kept: kept}, {Number: 5, Value: 0.5, Cells: 2}, {Number: 9, Value: 2, Cells: 1, Kept: kept}}
	}
	direction := func(kept bool) []calibrate.Family {
		return []calibrate.Family{{Formula: "j - i", Direction: [2]int{1, 1}, Lines: lines(kept)}}
	}
	return &plot.Run{Dir: "runs/a", Name: "a", Seed: 3, Calibrations: []*plot.Calibration{{Stage: "cal", From: "one", Layer: 1, Samples: 8, Sites: []plot.Site{
		{Name: "self", Result: &calibrate.Result{Heads: []calibrate.Head{{Directions: direction(true)}, {Directions: direction(false), Transparent: true}, {Directions: direction(false)}}}},
	}}}}
}

// TestLines lists the lines of attention that heads keep, and for programs all lines.
func TestLines(t *testing.T) {
	wide := wideLines([]*plot.Run{calibrated()})
	if len(wide) != 1 {
		t.Fatalf("%d tables", len(wide))
	}
	if diff := cmp.Diff([][]any{{0, "3 (1.25), 9 (2.00)"}, {1, "transparent"}, {2, "-"}}, wide[0].rows); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"head", "self j - i"}, wide[0].heads); diff != "" || wide[0].title != "a, seed 3: lines that cal keeps of one, decoder layer 1, mean of 8 problems" {
		t.Errorf("%s: %s", wide[0].title, diff)
	}
	long := longLines([]*plot.Run{calibrated()})
	if len(long.rows) != 9 {
		t.Fatalf("%d lines", len(long.rows))
	}
	if diff := cmp.Diff([]any{"runs/a", "cal", "self", 0, 1, 1, 3, 1.25, 4, true}, long.rows[0]); diff != "" {
		t.Error(diff)
	}
}

// TestWideResults has a line for each run, also for runs without a result, and one table
// for runs with the same lengths.
func TestWideResults(t *testing.T) {
	run := func(name string, lengths ...int) *plot.Run {
		r := &plot.Run{Dir: name, Name: name}
		if lengths != nil {
			r.Result = &eval.Result{}
		}
		for _, n := range lengths {
			r.Result.ByCell = append(r.Result.ByCell, eval.Cell{Pair: eval.Pair{I: n}, Samples: 4, Correct: 1})
		}
		return r
	}
	var got []string
	for _, table := range (&Figures{}).wideResults([]*plot.Run{run("z"), run("a", 3, 4), run("b"), run("c", 3, 4), run("d", 5)}) {
		text := strings.Join(table.heads, " ")
		for _, row := range table.rows {
			text += fmt.Sprint("; ", row)
		}
		got = append(got, text)
	}
	want := []string{"exact match, % 3 4; [z no result]; [a 25.00 25.00]; [b no result]; [c 25.00 25.00]", "exact match, % 5; [d 25.00]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestFiguresOfNothing refuses flags that exclude each other, and runs without results.
func TestFiguresOfNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		c      Figures
		tables bool
		want   string // "": accepted
	}{
		{"figures", Figures{Kind: "all", Format: "png"}, false, ""},
		{"a table", Figures{Kind: "table"}, true, ""},
		{"a table as CSV", Figures{Kind: "table", Format: "csv"}, true, ""},
		{"a table as a picture", Figures{Kind: "table", Format: "png"}, true, "tables are printed"},
		{"a table of losses", Figures{Kind: "loss"}, true, "there is no table of --kind loss"},
		{"a table of trainings", Figures{Kind: "training"}, true, "there is no table of --kind training"},
		{"a table in a file", Figures{Kind: "table", Out: "x"}, true, "--out is for figures"},
		{"lengths of a figure", Figures{Kind: "length", Digits: []int{3}}, false, "--digits is for tables"},
		{"lengths of a table", Figures{Kind: "table", Digits: []int{3}}, true, ""},
		{"each in a table", Figures{Kind: "table", Each: true}, true, "--each is for figures"},
		{"each in a figure", Figures{Kind: "length", Each: true}, false, ""},
		{"attention for a problem", Figures{Kind: "all", Problem: "12"}, false, ""},
		{"attention for a problem, named", Figures{Kind: "attention", Problem: "12", Layer: 2}, false, ""},
		{"attention for a problem in a table", Figures{Kind: "attention", Problem: "12"}, true, "--problem draws attention"},
		{"lengths of a problem", Figures{Kind: "length", Problem: "12"}, false, "--problem draws attention"},
		{"a layer of no problem", Figures{Kind: "all", Layer: 1}, false, "add --problem"},
		{"no layer", Figures{Kind: "all", Problem: "12", Layer: -1}, false, "layers count from 1"},
		{"grouped bars", Figures{Kind: "bars", Group: 2}, false, ""},
		{"grouped lengths", Figures{Kind: "length", Group: 2}, false, "--group is for --kind bars"},
		{"bars of no word", Figures{Kind: "bars", Group: -1}, false, "words count from 1"},
		{"steps", Figures{Kind: "loss", LogSteps: true}, false, ""},
		{"steps of all", Figures{Kind: "all", LogSteps: true}, false, ""},
		{"steps of lengths", Figures{Kind: "length", LogSteps: true}, false, "--log-steps is for"},
		{"steps of a table", Figures{Kind: "all", LogSteps: true}, true, "--log-steps is for"},
	} {
		if err := c.c.check(c.tables); (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	tested := &plot.Run{Dir: t.TempDir(), Result: &eval.Result{ByCell: []eval.Cell{{Pair: eval.Pair{I: 9}}, {Pair: eval.Pair{I: 6}}, {Pair: eval.Pair{I: 6, J: 1}}}}}
	untested := &plot.Run{Dir: t.TempDir()}
	for _, c := range []struct {
		name      string
		c         Figures
		runs      []*plot.Run
		err, said string
	}{
		{"all are tested", Figures{Kind: "length"}, []*plot.Run{tested}, "", ""},
		{"one is", Figures{Kind: "length"}, []*plot.Run{tested, untested}, "", untested.Dir + " has not been tested\n"},
		{"one is, and all is shown", Figures{Kind: "all"}, []*plot.Run{tested, untested}, "", ""},
		{"none is", Figures{Kind: "grid"}, []*plot.Run{untested}, "", ""},
		{"tested lengths", Figures{Kind: "table", Digits: []int{6, 9}}, []*plot.Run{tested}, "", ""},
		{"other lengths", Figures{Kind: "table", Digits: []int{6, 7}}, []*plot.Run{tested}, "--digits 7: none of the runs has been tested at this length; tested are 6, 9", ""},
		{"an evaluation of one", Figures{Kind: "table", Eval: "x"}, []*plot.Run{tested, untested}, "", untested.Dir + " has no evaluation x\n"},
		{"an evaluation of none", Figures{Kind: "table", Eval: "x"}, []*plot.Run{untested}, "--eval x: none of the runs has this evaluation; they only have the one that the spec asks for", ""},
	} {
		var said bytes.Buffer
		err := c.c.checkResults(&shell.Shell{Err: &said}, c.runs)
		if (c.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.err) || said.String() != c.said {
			t.Errorf("%s: %v and %q, want %q and %q", c.name, err, said.String(), c.err, c.said)
		}
	}
	for kind, want := range map[string]string{"attention": "no attention to show", "grid": "no grid to show", "length": "not been tested at two lengths", "table": "not been tested at two lengths", "loss": "nothing to draw yet"} {
		if err := (&Figures{Kind: kind}).nothing(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("of %s: %v, want %s", kind, err, want)
		}
	}
}

// TestCharts draws runs that have a result, and leaves out others.
func TestCharts(t *testing.T) {
	var b strings.Builder
	if err := writeCharts(&b, []*plot.Run{{Name: "a", Dir: "a"}, {Name: "b", Dir: "b", Result: result([]int{2, 3, 4}, 900, 800, 700)}}); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.HasPrefix(got, "\nb\n") || strings.Contains(got, "\na\n") || !strings.Contains(got, "█") {
		t.Errorf("%s", got)
	}
}
