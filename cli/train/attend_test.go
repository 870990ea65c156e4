//go:build unix

package train

import (
	"os"
	"strings"
	"testing"

	"github.com/arithlang/mlc/cli/shell"
)

// TestKilledChild wants an error that names the kernel's kill.
func TestKilledChild(t *testing.T) {
	suicide := []string{"sh", "-c", "kill -KILL $$"}
	sh := &shell.Shell{Context: t.Context()}
	for name, err := range map[string]error{
		"a trainer": attend("/bin/sh", suicide, nil, os.Stdout),
		"a command": sh.Ended(sh.Command(suicide[0], suicide[1:]...).Run()),
	} {
		if err == nil || !strings.Contains(err.Error(), "killed by the kernel (SIGKILL): probably out of memory") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := attend("/bin/sh", []string{"sh", "-c", "kill -TERM $$"}, nil, os.Stdout); err != shell.ExitStatus(143) || !shell.Interrupted(err) {
		t.Errorf("a trainer that was asked to end: %v", err)
	}
	if err := attend("/bin/sh", []string{"sh", "-c", "exit 7"}, nil, os.Stdout); err != shell.ExitStatus(7) || shell.Interrupted(err) {
		t.Errorf("a trainer that fails: %v", err)
	}
}
