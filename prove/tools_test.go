//go:build unix

package prove

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeTool runs what it watches, and says of it what it is told to.
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

// TestTools lets tools that are scripts watch a part, and wants what they find.
func TestTools(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(asChild, "1")
	t.Setenv("PROVE_TEST_SELF", os.Args[0])
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	e := &Env{Device: "sim", command: []string{os.Args[0]}}
	for _, tool := range tools() {
		if _, err := lookFor(tool.program); err != nil {
			if p := conclude(t, runTool, e, tool.name); p.Verdict != Skipped || !strings.Contains(p.Reason, tool.program+" is not there") {
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
	}{
		{"memcheck", "ERROR SUMMARY: 0 errors", Pass, "Version 2024.1: exit status 0"},
		{"memcheck", "ERROR SUMMARY: 10 errors", Fail, "memcheck: ERROR SUMMARY: 10 error"},
		{"racecheck", "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)", Pass, ""},
		{"racecheck", "RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)", Fail, "racecheck: RACECHECK SUMMARY: 2 hazard"},
		{"ncu", "12.5", Pass, ""},
	} {
		t.Setenv("PROVE_TEST_SAYS", c.says)
		p := conclude(t, runTool, e, c.tool)
		if page := strings.Join(p.lines(), "\n"); p.Verdict != c.verdict || !strings.Contains(page, c.want) || !strings.Contains(p.Tool.Said, c.says) {
			t.Errorf("%s, %s: %s\n%+v", c.tool, c.says, page, p.Tool)
		}
	}
	t.Setenv("PROVE_TEST_NO_PERMISSION", "1")
	if p := conclude(t, runTool, e, "ncu"); p.Verdict != Skipped || !strings.Contains(p.Tool.Said, "ERR_NVGPUCTRPERM") {
		t.Errorf("without permission: %+v", p)
	}
	if p := conclude(t, runTool, e, "memcheck"); p.Verdict != Fail || !strings.Contains(p.Reason, "left no result") {
		t.Errorf("a sanitizer that runs nothing: %+v", p)
	}
}
