package slurmtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCluster starts a cluster, runs a job, and wants nothing left over.
func TestCluster(t *testing.T) {
	if missing := Missing(); missing != "" {
		t.Skip(missing)
	}
	c, err := Start(3)
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	defer func() {
		if !stopped {
			c.Stop()
		}
	}()
	if got := c.Run("srun", "--cpus-per-task=3", "sh", "-c", "echo $SLURM_CPUS_ON_NODE"); got != "3" {
		t.Errorf("a job has %q processors", got)
	}
	id := c.Run("sbatch", "--parsable", "--output=/dev/null", "--wrap", "sleep 100")
	if err := within(10*time.Second, func() bool { return c.Run("squeue", "--noheader", "--format=%T") == "RUNNING" }); err != nil {
		t.Errorf("job %s does not run: %v", id, err)
	}
	c.Stop()
	stopped = true
	if _, err := os.Stat(c.dir); err == nil {
		t.Errorf("%s is left", c.dir)
	}
	for _, s := range c.servers {
		if s.ProcessState == nil {
			t.Errorf("%s still runs", s.Path)
		}
	}
}

// TestScripts starts and stops a cluster of scripts, and one whose node does not start.
func TestScripts(t *testing.T) {
	bin, temp := t.TempDir(), t.TempDir()
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("TMPDIR", temp)
	script := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	calls := filepath.Join(bin, "calls")
	script("munged", "#!/bin/sh\necho munged hears\nfor a; do case $a in --socket=*) touch ${a#*=};; esac; done\nexec sleep 60\n")
	script("slurmctld", "#!/bin/sh\nexec sleep 60\n")
	script("slurmd", "#!/bin/sh\necho $SLURM_CONF $* >>"+calls+"\nexec sleep 60\n")
	script("sinfo", "#!/bin/sh\necho idle\n")
	script("scancel", "#!/bin/sh\necho scancel $* >>"+calls+"\n")
	script("squeue", "#!/bin/sh\n")
	c, err := Start(3)
	if err != nil {
		t.Skip(err) // there are no scripts
	}
	text, err := os.ReadFile(c.Config)
	if err != nil {
		t.Error(err)
	}
	set := map[string]string{}
	for line := range strings.Lines(string(text)) {
		for _, word := range strings.Fields(line) {
			name, value, _ := strings.Cut(word, "=")
			set[name] = value
		}
	}
	host, _ := os.Hostname()
	host, _, _ = strings.Cut(host, ".")
	if set["CPUs"] != "3" || set["NodeName"] != host || set["SlurmctldPort"] == set["SlurmdPort"] || set["StateSaveLocation"] != filepath.Join(c.dir, "state") || set["SlurmUser"] == "" {
		t.Errorf("it is configured by\n%s", text)
	}
	for name, mode := range map[string]os.FileMode{"munge": 0o700, "state": 0o700, "spool": 0o700, "munge/key": 0o400} {
		if info, err := os.Stat(filepath.Join(c.dir, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, mode %v", name, err, info.Mode())
		}
	}
	if err := within(10*time.Second, func() bool { _, err := os.Stat(calls); return err == nil }); err != nil {
		t.Error(err)
	}
	start := time.Now()
	c.Stop()
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("it stops in %v", took)
	}
	want := fmt.Sprintf("%s -D -N %s\nscancel --user=%d\n", c.Config, host, os.Getuid())
	if text, err := os.ReadFile(calls); string(text) != want || err != nil {
		t.Errorf("it calls %q, %v; want %q", text, err, want)
	}
	for _, s := range c.servers {
		if s.ProcessState == nil {
			t.Errorf("%s still runs", s.Path)
		}
	}

	script("slurmd", "#!/no/such/shell\n")
	if _, err := Start(1); err == nil || !strings.Contains(err.Error(), "slurmd: no such file or directory") || !strings.Contains(err.Error(), "munged.log:\nmunged hears\n") {
		t.Errorf("where slurmd does not start: %v", err)
	}
	if left, err := os.ReadDir(temp); len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
	if err := within(time.Millisecond, func() bool { return false }); err == nil || err.Error() != "it took longer than 1ms" {
		t.Error(err)
	}
	if find("no-such-program") != "" || find("sinfo") != filepath.Join(bin, "sinfo") {
		t.Errorf("it finds %q and %q", find("no-such-program"), find("sinfo"))
	}
}
