// Package slurmtest starts Slurm with one node in a temporary folder, for tests of
// submitted jobs. Only tests import it.
package slurmtest

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"github.com/arithlang/mlc/internal/full"
)

// Missing describes a missing part of Slurm. It returns "" if all are installed.
func Missing() string {
	if _, why := full.Slurm.Find(); why != "" {
		return why
	}
	for _, program := range []string{"munged", "slurmctld", "slurmd", "sbatch", "scontrol"} {
		if find(program) == "" {
			return "there is no " + program + ": install Slurm and munge, as tools/install-cluster does"
		}
	}
	return ""
}

// find looks for a program in PATH and in Debian's folder of servers.
func find(program string) string {
	for _, name := range []string{program, "/usr/sbin/" + program} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// A Cluster is a running Slurm.
type Cluster struct {
	Config  string // the value of SLURM_CONF for its commands
	dir     string
	servers []*exec.Cmd
}

// config configures one node, with any number of processors. A requeued job waits until its
// old credential has expired, by default two minutes.
var config = template.Must(template.New("config").Parse(`ClusterName=scratch
SlurmctldHost={{.Host}}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={{.Dir}}/munge/socket,cred_expire=5
CredType=cred/munge
SlurmUser={{.User}}
SlurmdUser={{.User}}
SlurmctldPort={{.Port}}
SlurmdPort={{.NodePort}}
SlurmctldPidFile={{.Dir}}/slurmctld.pid
SlurmdPidFile={{.Dir}}/slurmd.pid
StateSaveLocation={{.Dir}}/state
SlurmdSpoolDir={{.Dir}}/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
ReturnToService=2
KillWait=20
MpiDefault=none
NodeName={{.Host}} NodeAddr=127.0.0.1 CPUs={{.CPUs}}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`))

// Start starts a cluster whose node has cpus processors. Stop ends it.
func Start(cpus int) (c *Cluster, err error) {
	c = new(Cluster)
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, c.log())
			c.Stop()
		}
	}()
	if c.dir, err = os.MkdirTemp("", "slurm"); err != nil { // a short path, as sockets need
		return c, err
	}
	if err := c.configure(cpus); err != nil {
		return c, err
	}
	at := func(name string) string { return filepath.Join(c.dir, "munge", name) }
	host, _ := os.Hostname()
	host, _, _ = strings.Cut(host, ".")
	for _, line := range [][]string{
		{"munged", "--foreground", "--force", "--key-file=" + at("key"), "--socket=" + at("socket"), "--pid-file=" + at("pid"), "--log-file=" + at("log"), "--seed-file=" + at("seed")},
		{"slurmctld", "-D"},
		{"slurmd", "-D", "-N", host},
	} {
		if err := c.serve(line); err != nil {
			return c, err
		}
		if line[0] == "munged" {
			if err := within(10*time.Second, func() bool { _, err := os.Stat(at("socket")); return err == nil }); err != nil {
				return c, fmt.Errorf("munged does not answer: %w", err)
			}
		}
	}
	if err := within(30*time.Second, func() bool { return c.Run("sinfo", "--noheader", "--format=%T") == "idle" }); err != nil {
		return c, fmt.Errorf("the node of Slurm is not idle: %w", err)
	}
	return c, nil
}

// configure writes the files of a cluster.
func (c *Cluster) configure(cpus int) error {
	for _, name := range []string{"munge", "state", "spool"} {
		if err := os.Mkdir(filepath.Join(c.dir, name), 0o700); err != nil {
			return err
		}
	}
	key := make([]byte, 1024)
	rand.Read(key)
	if err := os.WriteFile(filepath.Join(c.dir, "munge", "key"), key, 0o400); err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	host, _, _ = strings.Cut(host, ".")
	who, err := user.Current()
	if err != nil {
		return err
	}
	ports, err := freePorts(2)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := config.Execute(&text, map[string]any{"Host": host, "User": who.Username, "Dir": c.dir, "Port": ports[0], "NodePort": ports[1], "CPUs": cpus}); err != nil {
		return err
	}
	c.Config = filepath.Join(c.dir, "slurm.conf")
	return os.WriteFile(c.Config, text.Bytes(), 0o644)
}

// freePorts returns ports without a listener.
func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// serve starts a server, whose messages go to a file.
func (c *Cluster) serve(line []string) error {
	log, err := os.Create(filepath.Join(c.dir, line[0]+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(find(line[0]), line[1:]...)
	cmd.Env = append(os.Environ(), "SLURM_CONF="+c.Config)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	c.servers = append(c.servers, cmd)
	return nil
}

// Run runs a command of Slurm and returns its output in one line.
func (c *Cluster) Run(name string, args ...string) string {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "SLURM_CONF="+c.Config)
	text, _ := cmd.Output()
	return strings.Join(strings.Fields(string(text)), " ")
}

// Stop ends all jobs, and the cluster.
func (c *Cluster) Stop() {
	if len(c.servers) == 3 {
		c.Run("scancel", "--user="+fmt.Sprint(os.Getuid()))
		within(30*time.Second, func() bool { return c.Run("squeue", "--noheader") == "" })
	}
	for i := len(c.servers) - 1; i >= 0; i-- {
		c.servers[i].Process.Signal(os.Interrupt)
		ended := make(chan struct{})
		go func() { c.servers[i].Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			c.servers[i].Process.Kill()
		}
	}
	os.RemoveAll(c.dir)
}

// log returns the last messages of the servers.
func (c *Cluster) log() string {
	var b strings.Builder
	files, _ := filepath.Glob(filepath.Join(c.dir, "*.log"))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		fmt.Fprintf(&b, "%s:\n%s\n", filepath.Base(file), text[max(0, len(text)-2000):])
	}
	return b.String()
}

// within waits until a condition holds. It returns an error after limit.
func within(limit time.Duration, true func() bool) error {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if true() {
			return nil
		}
	}
	return errors.New("it took longer than " + limit.String())
}
