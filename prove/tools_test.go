//go:build unix

package prove

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fakeTool runs what it watches, and prints what it is told to.
const fakeTool = `#!/bin/sh
if [ "$1" = --version ]; then
	echo "a tool"
	echo "Version 2024.1"
	exit
fi
while [ "$1" != "$PROVE_TEST_SELF" ]; do shift; done
[ -n "$PROVE_TEST_NO_PERMISSION" ] && { echo "ERR_NVGPUCTRPERM"; exit 1; }
"$@"
echo "========= $PROVE_TEST_SAYS"
`

// ncuTable follows NVIDIA's documentation of ncu --csv --page raw: a line of names and a line of
// units come first.
const ncuTable = `
==PROF== Connected to process 1
==PROF== Disconnected from process 1
"ID","Process ID","Kernel Name","Block Size","dram__throughput.avg.pct_of_peak_sustained_elapsed","gpu__time_duration.sum","sm__warps_active.avg.pct_of_peak_sustained_active"
"","","","","%","ns","%"
"0","1","linear_64x64","(128, 1, 1)","2.00","5,504","12.50"
"1","1","norm_64","(32, 1, 1)","1.00","9,000","3.00"
"2","1","linear_64x64","(128, 1, 1)","3.00","6,496","13.50"
"3","1","broken","(32, 1, 1)","n/a","9,000","3.00"
`

// TestTools lets scripts in the role of tools watch a part, and checks what they find.
func TestTools(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PROVE_TEST_SELF", os.Args[0])
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	e := &Env{Device: "sim", command: itself()}
	for _, tool := range tools() {
		if _, err := lookFor(tool.program); err != nil {
			if p := conclude(t, runTool, e, tool.name); p.Verdict != Skipped || !strings.Contains(p.Reason, tool.program+" is not installed") {
				t.Errorf("without %s: %+v", tool.program, p)
			}
		}
	}
	for _, name := range []string{"compute-sanitizer", "ncu"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(fakeTool), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		tool, says string
		verdict    Verdict
		want       string // in the lines of the page
		briefly    bool   // the tool watches a part that does nothing
	}{
		{"memcheck", "ERROR SUMMARY: 0 errors", Pass, "Version 2024.1: exit status 0", false},
		{"memcheck", "ERROR SUMMARY: 10 errors", Fail, "memcheck: ERROR SUMMARY: 10 error", true},
		{"racecheck", "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)", Pass, "", true},
		{"racecheck", "RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)", Fail, "racecheck: RACECHECK SUMMARY: 2 hazard", true},
		{"ncu", "", Skipped, "ncu cannot watch here: exit status 0", true},
		{"ncu", "==ERROR== no permission", Skipped, "ncu cannot watch here: ==ERROR== no permission", true},
		{"ncu", ncuTable, Pass, "linear_64x64                              2        6.5       14 %      3 %", false},
	} {
		t.Setenv("PROVE_TEST_SAYS", c.says)
		tool, err := find(tools(), c.tool)
		if err != nil {
			t.Fatal(err)
		}
		if tool.watched.Part = "tiny"; c.briefly {
			tool.watched = request{Phase: "right", Part: "right 1"}
		}
		p := conclude(t, func(ctx context.Context, e *Env, p *Part) error { return e.watch(ctx, p, tool) }, e, c.tool)
		if !c.briefly && (p.Kernels == nil || p.Kernels.Compared == 0) && (p.Steps == nil || len(p.Steps.Seconds) != trainSteps) {
			t.Errorf("%s has watched nothing: %+v", c.tool, p)
		}
		if page := strings.Join(p.lines(), "\n"); p.Verdict != c.verdict || !strings.Contains(page, c.want) || !strings.Contains(p.Tool.Said, strings.TrimSpace(c.says)) {
			t.Errorf("%s, %s: %s\n%+v", c.tool, c.says, page, p.Tool)
		}
	}
	t.Setenv("PROVE_TEST_SAYS", "ERROR SUMMARY: 0 errors")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // compiling takes longer
	defer cancel()
	p := &Part{Name: "memcheck"}
	p.conclude(ctx, runTool(ctx, e, p))
	if p.Verdict != Cut || !strings.HasPrefix(p.Reason, outOfTime) {
		t.Errorf("the watched part had too little time: %+v", p)
	}
	t.Setenv("PROVE_TEST_NO_PERMISSION", "1")
	if p := conclude(t, runTool, e, "ncu"); p.Verdict != Skipped || !strings.Contains(p.Tool.Said, "ERR_NVGPUCTRPERM") {
		t.Errorf("without permission: %+v", p)
	}
	if p := conclude(t, runTool, e, "memcheck"); p.Verdict != Fail || !strings.Contains(p.Reason, "left no result") {
		t.Errorf("a sanitizer that runs nothing: %+v", p)
	}
}

// TestNcu parses tables of other columns, of no columns, and cut short.
func TestNcu(t *testing.T) {
	got := ncuKernels(ncuTable)
	want := []Watched{{Name: "linear_64x64", Launches: 2, Microseconds: 6.496, Occupancy: 0.135, Memory: 0.03},
		{Name: "norm_64", Launches: 1, Microseconds: 9, Occupancy: 0.03, Memory: 0.01}}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if g, w := got[i], want[i]; g.Name != w.Name || g.Launches != w.Launches || math.Abs(g.Microseconds-w.Microseconds) > 1e-9 ||
			math.Abs(g.Occupancy-w.Occupancy) > 1e-9 || math.Abs(g.Memory-w.Memory) > 1e-9 {
			t.Errorf("%+v, want %+v", g, w)
		}
	}
	at := strings.Index(ncuTable, `"1","1","norm`)
	if got := ncuKernels(ncuTable[:at+9]); len(got) != 1 || got[0].Launches != 1 {
		t.Errorf("of a table that is cut short: %+v", got)
	}
	for _, text := range []string{"", "==PROF== nothing", `"ID","Kernel Name"` + "\n\"0\",\"a\"\n", `"ID","` + "\n"} {
		if got := ncuKernels(text); got != nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
	for _, metric := range ncuMetrics {
		if !strings.Contains(strings.Join(ncuArgs(1), " "), metric) {
			t.Errorf("ncu is not asked for %s", metric)
		}
	}
}

// ncuSections is a table with columns of sections. One launch lacks a value.
const ncuSections = `"ID","Kernel Name","gpu__time_duration.sum","sm__warps_active.avg.pct_of_peak_sustained_active","dram__throughput.avg.pct_of_peak_sustained_elapsed",` +
	`"launch__registers_per_thread","sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active","smsp__average_warps_issue_stalled_wait_per_issue_active.ratio",` +
	`"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio","smsp__average_warps_issue_stalled_selected_per_issue_active.ratio","smsp__average_warps_issue_stalled_sleeping_per_issue_active.ratio",` +
	`"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"
"","","ns","%","%","register/thread","%","inst","inst","inst","inst","inst"
"0","a","1000","50","10","168","42.5","3.1","0.5","1.0","0.0","2.4"
"1","a","3000","50","10","168","n/a","3.1","0.7","1.0","0.0","2.6"
`

// TestNcuSections reads registers, tensor cores and the longest waits from tables that have them.
func TestNcuSections(t *testing.T) {
	got := ncuKernels(ncuSections)
	if len(got) != 1 || got[0].Registers != 168 || math.Abs(got[0].Tensor-0.425) > 1e-9 {
		t.Fatalf("%+v", got)
	}
	page := strings.Join((&Tool{Kernels: got}).lines(), "\n")
	if want := "50 %     10 %, tensor cores 42 %; waits: wait 3.1, long_scoreboard 2.6, selected 1.0, barrier 0.7"; !strings.HasSuffix(page, want) {
		t.Errorf("%s\nwant %s", page, want)
	}
}
