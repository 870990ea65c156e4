// Package mpitest starts programs as ranks, by the launchers that a machine has, for tests.
package mpitest

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/arithlang/mlc/internal/full"
)

// A Launcher starts ranks.
type Launcher struct {
	Name string
	Path string
	args []string
	env  []string
}

// launchers are launchers that can be installed side by side, with the settings that allow more
// ranks than cores, and root.
var launchers = []struct {
	name      string
	program   full.Program
	args, env []string
}{
	{"Open MPI", full.OpenMPI, []string{"--oversubscribe", "--bind-to", "none"}, []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}},
	{"MPICH", full.MPICH, nil, nil},
}

// Launchers returns the launchers of this machine. It skips the test if there is no launcher.
func Launchers(t *testing.T) (all []Launcher) {
	t.Helper()
	for _, l := range launchers {
		path, why := l.program.Find()
		if path == "" {
			t.Log(why)
			continue
		}
		all = append(all, Launcher{l.name, path, l.args, l.env})
	}
	if extra := os.Getenv("MLC_TEST_MPIEXEC"); extra != "" { // a further one, such as a Python package's
		l := launchers[0]
		if text, _ := exec.Command(extra, "--version").CombinedOutput(); bytes.Contains(text, []byte("HYDRA")) {
			l = launchers[1]
		}
		all = append(all, Launcher{l.name, extra, l.args, l.env})
	}
	if len(all) == 0 {
		t.Skip("there is no MPI to start ranks with")
	}
	return all
}

// Command runs a program as the given number of ranks.
func (l Launcher) Command(ranks int, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(l.Path, append(append([]string{"-n", strconv.Itoa(ranks)}, l.args...), append([]string{program}, args...)...)...)
	cmd.Env = append(os.Environ(), append(l.env, "MLC_OVERSUBSCRIBE=1")...)
	return cmd
}

// String names the launcher.
func (l Launcher) String() string { return strings.ReplaceAll(l.Name, " ", "") }
