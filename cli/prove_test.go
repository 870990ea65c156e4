//go:build unix

package cli

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/arithlang/mlc/prove"
)

// TestSignalEndsProve sends a signal during a part. It wants the exit code, and the earlier
// results in the file.
func TestSignalEndsProve(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	cmd := exec.Command("mlc", "prove", "--device", "sim", "--budget", "10m", "--only", "probes,fragments", "-o", path)
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "fragments") { // the second phase has begun
			cmd.Process.Signal(syscall.SIGTERM)
			break
		}
	}
	rest := ""
	for lines.Scan() {
		rest += lines.Text() + "\n"
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 143 || !strings.Contains(rest, "mlc: interrupted") {
		t.Errorf("exit code %d, %q", code, rest)
	}
	r, err := prove.Load(path)
	if err != nil || r.Verdict != prove.Interrupted || len(r.Phases) != 2 || r.Phases[0].Verdict != prove.Pass {
		t.Errorf("%v, %+v", err, r)
	}
}
