package runtime

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/rundir"
	"github.com/arithlang/mlc/runtime/world"
)

// TestLanesRefused refuses several models at once if they are not supported, before anything is
// written.
func TestLanesRefused(t *testing.T) {
	with := toyModel()
	with.Lanes.N = 8
	for _, c := range []struct {
		model program.Model
		flags string
		want  string
	}{
		{toyModel(), "", "this program trains one model at a time: give a single seed, or build it with train.lanes = 32"},
		{with, "--device sim", "only on the processor, not with --device sim"},
		{with, "--time 1m", "use --steps or --examples"},
		{with, "--pause 1.5", "want a share of the budget below 1"},
		{with, "--resume", "name the folder of the runs to resume with --out"},
	} {
		args := append([]string{"train", "--init-seed", "0..3"}, strings.Fields(c.flags)...)
		t.Chdir(t.TempDir())
		if s := call(t, c.model, "", args...); s.code != world.ExitUsage || !strings.Contains(s.err, "--init-seed 0..3: ") || !strings.Contains(s.err, c.want) {
			t.Errorf("%s: exit %d, %s, want %q", c.flags, s.code, s.err, c.want)
		}
		if rundir.Exists("runs") {
			t.Errorf("%s: something is made", c.flags)
		}
	}
}
