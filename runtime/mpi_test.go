//go:build linux

package runtime

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/arithlang/mlc/runtime/comm/mpitest"
	"github.com/arithlang/mlc/runtime/world"
)

// mpiRun starts ranks of the toy's trainer and waits for them. While they train it calls
// meanwhile with their launcher, once there is a checkpoint.
func mpiRun(t *testing.T, l mpitest.Launcher, ranks int, model, dir string, meanwhile func(p *os.Process), args ...string) (code int, said string) {
	t.Helper()
	cmd := l.Command(ranks, os.Args[0], append([]string{"train", "--out", dir, "--threads", "1", "--save", "20ms"}, args...)...)
	cmd.Env = append(cmd.Env, toyProcess+"="+model)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if meanwhile != nil {
		for range 1000 {
			if lastCheckpoint(dir) != "" {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		meanwhile(cmd.Process)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		cmd.Process.Kill()
		<-ended
		t.Fatalf("%s, %d ranks have not ended:\n%s", l, ranks, out.String())
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// TestMPI trains on real ranks, with each installed library: the bytes are the same as with one
// process.
func TestMPI(t *testing.T) {
	all := mpitest.Launchers(t)
	whole := trained(t, toyModel(), "-q")
	for i, l := range all {
		for _, ranks := range [][]int{{2, 3}, {1, 4}}[i%2] {
			dir := filepath.Join(t.TempDir(), "run")
			if code, said := mpiRun(t, l, ranks, "toy", dir, nil); code != 0 {
				t.Fatalf("%s, %d ranks: exit %d\n%s", l, ranks, code, said)
			}
			sameRun(t, whole, dir)
			sameResult(t, whole, dir)
		}
	}
}

// TestMPIInterrupted stops ranks by a signal to their launcher, and kills one rank. The saved
// run continues on another number of ranks, to the same bytes.
func TestMPIInterrupted(t *testing.T) {
	const steps = "1500"
	all := mpitest.Launchers(t)
	whole := trained(t, toyModel(), "--steps", steps, "-q")
	for _, l := range all {
		dir := filepath.Join(t.TempDir(), "run")
		_, said := mpiRun(t, l, 2, "steady", dir, func(p *os.Process) { p.Signal(syscall.SIGTERM) }, "--steps", steps)
		if !strings.Contains(said, "interrupted at step ") && l.Name == "MPICH" { // Open MPI may cut the last lines
			t.Errorf("%s: %s", l, said)
		}
		named := func() bool { // by the launcher, or by a rank that waits for it; Open MPI 4.1 sometimes fails here
			return slices.ContainsFunc([]string{"rank 1", "signal 9", "pending due to failure", "ORTE_ERROR_LOG"}, func(text string) bool { return strings.Contains(said, text) })
		}
		var code int
		if code, said = mpiRun(t, l, 3, "rank 1 dies", dir, nil, "--steps", steps, "--resume=auto"); code == 0 || !named() {
			t.Errorf("%s: rank 1 was killed: exit %d\n%s", l, code, said)
		}
		if bytes.Equal(first(final(t, dir)), first(final(t, whole))) {
			t.Errorf("%s: it came too late", l)
		}
		if s := call(t, toyModel(), "", "train", "--resume=auto", "--out", dir, "--steps", steps, "-q"); s.code != 0 { // the launcher may end before its ranks
			t.Fatal(s.err)
		}
		sameRun(t, whole, dir)
		if left, _ := filepath.Glob(filepath.Join(dir, "ckpt", ".*")); len(left) > 0 {
			t.Errorf("half-written files stay: %v", left)
		}
	}
}

// TestMPIRefuses refuses more ranks than cores, and trains on a single rank if asked to.
func TestMPIRefuses(t *testing.T) {
	l := mpitest.Launchers(t)[0]
	dir := filepath.Join(t.TempDir(), "run")
	cmd := l.Command(world.AllCores()+1, os.Args[0], "train", "--out", dir)
	cmd.Env = slices.DeleteFunc(append(cmd.Env, toyProcess+"=toy"), func(v string) bool { return strings.HasPrefix(v, "MLC_OVERSUBSCRIBE") })
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "start at most one rank for each core") {
		t.Errorf("%v\n%s", err, out)
	}
	if n := strings.Count(string(out), "start at most one rank"); n != 1 {
		t.Errorf("said %d times:\n%s", n, out)
	}
	cmd = l.Command(2, os.Args[0], "train", "--ranks", "none", "--out", dir, "--steps", "2000")
	cmd.Env = append(cmd.Env, toyProcess+"=toy")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), " is training in "+dir) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestMPIOnce wants work that ranks do not share to be done once.
func TestMPIOnce(t *testing.T) {
	dir := trained(t, toyModel(), "-q")
	l := mpitest.Launchers(t)[0]
	for _, c := range []struct {
		args []string
		says string
		n    int
	}{
		{[]string{"solve", dir, "17"}, call(t, toyModel(), "", "solve", dir, "17").out, 1},
		{[]string{"solve", dir, "17", "--ranks", "none"}, call(t, toyModel(), "", "solve", dir, "17").out, 2},
		{[]string{"train", "--abacus"}, "unknown flag --abacus", 1},
	} {
		cmd := l.Command(2, os.Args[0], c.args...)
		cmd.Env = append(cmd.Env, toyProcess+"=toy")
		out, _ := cmd.CombinedOutput()
		if n := strings.Count(strings.ReplaceAll(string(out), "\r", ""), c.says); n != c.n {
			t.Errorf("%v: %d times, want %d:\n%s", c.args, n, c.n, out)
		}
	}
}
