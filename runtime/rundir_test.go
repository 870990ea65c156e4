package runtime

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/label"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/rundir"
)

// TestResumeTakesTheNewestRun resumes the run of the spec that began last, whatever its name.
func TestResumeTakesTheNewestRun(t *testing.T) {
	m := toyModel()
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	const dated, second, tenth, named = "20260102-000000-01234567", "20260102-000000-01234567-02", "20260102-000000-01234567-10", "wide"
	for _, c := range []struct {
		what string
		runs map[string]record.Record
		want string
	}{
		{"one by name", map[string]record.Record{named: {Started: day(2)}, dated: {Started: day(1)}}, named},
		{"one by time", map[string]record.Record{named: {Started: day(1)}, dated: {Started: day(2)}}, dated},
		{"a copy", map[string]record.Record{dated: {Started: day(2)}, "backup": {Started: day(2)}, "0": {Started: day(2)}}, dated},
		{"of one second", map[string]record.Record{dated: {Started: day(2)}, second: {Started: day(2)}, tenth: {Started: day(2)}}, tenth},
		{"another spec", map[string]record.Record{named: {Started: day(1)}, dated: {Started: day(2), SpecHash: otherHash}}, named},
		{"nothing else", map[string]record.Record{dated: {SpecHash: otherHash}}, ""},
	} {
		t.Chdir(t.TempDir())
		for name, r := range c.runs {
			if r.SpecHash == "" {
				r.SpecHash = m.SpecHash
			}
			dir := filepath.Join("runs/toy", name)
			if err := rundir.Fill(dir, rundir.IdentityOf(&m), r); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.MkdirAll("runs/toy/99991231-235959-01234567", 0o755); err != nil { // killed before it began
			t.Fatal(err)
		}
		s := call(t, m, "", "train", "--resume", "--steps", "1", "-q")
		switch got := lastCheckpoint(filepath.Join("runs/toy", c.want)); {
		case c.want == "" && (s.code != 1 || !strings.Contains(s.err, "there is no run of this spec in runs/toy")):
			t.Errorf("%s: exit %d\n%s", c.what, s.code, s.err)
		case c.want != "" && (s.code != 0 || got == ""):
			t.Errorf("%s: %s has not been resumed: exit %d\n%s", c.what, c.want, s.code, s.err)
		}
	}
}

// TestRunsOfASecond wants a separate directory for each of many runs that begin at once, and
// the last one to be the newest.
func TestRunsOfASecond(t *testing.T) {
	t.Chdir(t.TempDir())
	m := toyModel()
	id, now := rundir.IdentityOf(&m), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var dirs []string
	for range 11 {
		dir, held, err := rundir.New("", id, now, label.Label{})
		if err != nil {
			t.Fatal(err)
		}
		held.Close()
		if err := rundir.WriteRecord(dir, record.Record{SpecHash: id.Hash, Started: now}); err != nil {
			t.Fatal(err)
		}
		if newest, err := rundir.Newest(id, nil, flags.Seeds{}); newest != dir || err != nil {
			t.Errorf("after %s the newest run is %s, %v", dir, newest, err)
		}
		dirs = append(dirs, filepath.ToSlash(dir))
	}
	if diff := cmp.Diff([]string{"runs/toy/20260102-030405-01234567", "runs/toy/20260102-030405-01234567-02"}, dirs[:2]); diff != "" {
		t.Error(diff)
	}
}

// TestOneProcessARun refuses a directory in which another process trains.
func TestOneProcessARun(t *testing.T) {
	if goruntime.GOOS == "windows" {
		t.Skip("there are no locks")
	}
	for name, dir := range map[string]string{"./toy": trained(t, toyModel(), "-q"), "./toys": travelled(t, toyPipeline(), "-q")} {
		again := func() said {
			if name == "./toy" {
				return call(t, toyModel(), "", "train", "--resume", "--out", dir, "--steps", "23", "-q")
			}
			return callStages(t, toyPipeline(), "train", "--resume", "--out", dir, "--steps", "23", "-q")
		}
		before, _ := os.ReadFile(filepath.Join(dir, record.File))
		held, err := rundir.Occupy(dir)
		if err != nil {
			t.Fatal(err)
		}
		if s := again(); s.code != 1 || !strings.Contains(s.err, " is training in "+dir) {
			t.Errorf("%s: exit %d\n%s", name, s.code, s.err)
		}
		if after, _ := os.ReadFile(filepath.Join(dir, record.File)); string(before) != string(after) {
			t.Errorf("%s: the run of another process has become\n%s", name, after)
		}
		held.Close()
		if s := again(); s.code != 0 {
			t.Errorf("%s: exit %d\n%s", name, s.code, s.err)
		}
	}
}

// TestBeginsAtOnce begins trainings at once in one new directory, as processes. One continues,
// and all others leave it alone and say why.
func TestBeginsAtOnce(t *testing.T) {
	if goruntime.GOOS == "windows" {
		t.Skip("there are no locks")
	}
	m := toyModel()
	begun := t.TempDir() // another process is about to write run.json
	held, err := rundir.Occupy(begun)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	half := filepath.Join(begun, ".run.json.123")
	if err := os.WriteFile(half, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if s := call(t, m, "", "train", "--out", begun, "-q"); s.code != 1 || !strings.Contains(s.err, " is training in "+begun) {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
	if !rundir.Exists(half) {
		t.Error("what another process was writing is gone")
	}

	dir := filepath.Join(t.TempDir(), "run")
	var all []*exec.Cmd
	var says []*bytes.Buffer
	for range 6 {
		cmd, stderr := toyCommand("toy", "train", "--out", dir, "-q"), new(bytes.Buffer)
		cmd.Stderr = stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all, says = append(all, cmd), append(says, stderr)
	}
	ended := 0
	for i, cmd := range all {
		switch err := cmd.Wait(); {
		case err == nil:
			ended++
		case !strings.Contains(says[i].String(), " is training in "+dir) && !strings.Contains(says[i].String(), dir+" has a run in it already"):
			t.Errorf("%v\n%s", err, says[i])
		}
	}
	if ended != 1 {
		t.Errorf("%d of %d trainings that began at once have come to their end", ended, len(all))
	}
	sameRun(t, trained(t, m, "-q"), dir)
}

// TestKilledWhileItBegins uses a directory that only has the beginning of a run of this spec.
func TestKilledWhileItBegins(t *testing.T) {
	m := toyModel()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(record.SpecFile, "arith 2\n") // a user's file
	if s := call(t, m, "", "train", "--out", dir); s.code != 1 || !strings.Contains(s.err, "is not empty") {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
	write(record.SpecFile, m.Spec)
	write(".run.json.123", "{")
	if s := call(t, m, "", "train", "--out", dir, "-q"); s.code != 0 {
		t.Fatal(s.err)
	}
	sameRun(t, trained(t, m, "-q"), dir)
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("half-written files stay: %v", left)
	}
}
