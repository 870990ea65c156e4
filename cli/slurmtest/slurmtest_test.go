package slurmtest

import (
	"os"
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
