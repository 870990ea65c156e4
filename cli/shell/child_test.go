package shell

import (
	"errors"
	"os/exec"
	"testing"
)

// TestExitOf numbers the exit statuses of processes as shells do.
func TestExitOf(t *testing.T) {
	for script, want := range map[string]ExitStatus{"exit 3": 3, "kill -9 $$": 137, "kill -15 $$": 143} {
		var e *exec.ExitError
		if err := exec.Command("sh", "-c", script).Run(); !errors.As(err, &e) || ExitOf(e) != want {
			t.Errorf("%s: %v, want %d", script, err, want)
		}
	}
}
