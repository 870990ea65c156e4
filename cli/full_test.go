package cli

import (
	"strings"
	"syscall"
	"testing"

	"github.com/arithlang/mlc/cli/build"
)

// A diskWith has room for some writes.
type diskWith struct{ room, writes int }

func (d *diskWith) Write(text []byte) (int, error) {
	if d.writes++; d.writes > d.room {
		return 0, syscall.ENOSPC
	}
	return len(text), nil
}

// TestFullDisk ends with an error whichever part of a result cannot be written.
func TestFullDisk(t *testing.T) {
	t.Setenv("MLC_CACHE", t.TempDir())
	const runs, least, pair = "../serve/testdata/runs", "testdata/least.arith", "testdata/least.arith --set sweep.train.seed=1..2"
	for _, line := range []string{
		"runs " + runs, "runs --json " + runs, "runs --format csv " + runs,
		"label " + runs + "/successor", "label --json " + runs + "/successor",
		"plot --kind table " + runs + "/successor", "plot --kind table --format markdown " + runs + "/successor",
		"plot --kind table --format csv " + runs + "/successor", "plot --kind table --json " + runs + "/successor",
		"plot --kind length --format text " + runs + "/successor", "plot --kind grid --format text " + runs + "/embeddings/nope-1",
		"explain " + least, "explain --json " + least, "explain " + pair, "explain --json " + pair, "explain ../specs/attention/kerple.arith",
		"explain --stage resolved " + least, "explain E0207", "explain --json E0207",
		"build --check " + least, "build --check --json " + least,
		"version", "completion bash", "complete train --s",
	} {
		try := func(room int) (int, int, string) {
			d, said := &diskWith{room: room}, new(strings.Builder)
			code := run(sourceTree(), build.Maker{Generate: toyGenerate, Build: toyBuild}, strings.Fields(line), d, said)
			return code, d.writes, said.String()
		}
		_, writes, _ := try(1 << 20)
		if writes == 0 {
			t.Errorf("mlc %s prints nothing", line)
		}
		for room := range writes {
			if code, _, said := try(room); code != 1 || !strings.Contains(said, "no space left on device") {
				t.Errorf("mlc %s: after %d of %d writes, exit code %d, %q", line, room, writes, code, said)
			}
		}
	}
}
