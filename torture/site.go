package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A site is a folder with mlc, built as a user builds it, the trainers of a few tiny specs, and
// undisturbed runs of them.
type site struct {
	dir   string
	env   []string
	limit time.Duration // a process that takes longer counts as hanging
}

// The specs of the site. All train in some hundredths of a second.
var specs = map[string]string{
	"tiny.arith": `arith 2

task successor {
  operands   = below(100)
  holdout = 10%
  pad     = zero(to = 4, step = 3)
}

model {
  width   = 8
  heads   = 2
  ffn     = relu(hidden = 12)
  encoder { layers = 1 }
  decoder { layers = 1 }
}

train {
  batch      = 6
  microbatch = 2
  budget     = 20steps
}

eval {
  digits  = [2, 3]
  samples = 20
  pad     = zero(to = 4, step = 3)
}
`,
	"staged.arith": `arith 2

include "tiny.arith" {
  train.budget = 6steps
}

stage first {}

calibrate look {
  from    = first
  samples = 4
  extend  = 6

  cross {
    direction = [[1, -1], [1, 0]]
    keep      = value >= mean + std
  }
}

stage second {
  model.decoder.self.bias  = look.self
  model.decoder.cross.bias = look.cross
}
`,
	"swept.arith": `arith 2

include "tiny.arith" {
  train.budget = 8steps
}

sweep {
  train.seed = 1..3
}
`,
	"ragged.arith": "arith 2\ntask successor {\n operands=below(100)\n\n\n pad = zero( to=4,step =3 )\n}\n// a comment\nmodel { width=8 }\n",
}

// open builds a site in a new folder; repo is a checkout of this module.
func open(repo string, limit time.Duration) (*site, error) {
	dir, err := os.MkdirTemp("", "torture-")
	if err != nil {
		return nil, err
	}
	s := &site{dir: dir, limit: limit}
	s.env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "NO_COLOR=1", "PATH="+s.at("bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
	if err := s.build(repo); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *site) close() { os.RemoveAll(s.dir) }

func (s *site) at(path ...string) string { return filepath.Join(append([]string{s.dir}, path...)...) }

func (s *site) build(repo string) error {
	sums, err := os.ReadFile(filepath.Join(repo, "go.sum"))
	if err != nil {
		return err
	}
	files := map[string]string{"go.sum": string(sums),
		"go.mod": fmt.Sprintf("module example.com/torture\n\ngo 1.26\n\nrequire github.com/arithlang/mlc v0.0.0\n\nreplace github.com/arithlang/mlc => %s\n", repo)}
	maps.Copy(files, specs)
	for name, text := range files {
		if err := os.WriteFile(s.at(name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	cmd := exec.Command("go", "build", "-o", s.at("bin", "mlc"), ".")
	cmd.Dir = repo
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build mlc: %w\n%s", err, out)
	}
	return s.must(s.dir, "mlc", "build", "tiny.arith", "staged.arith", "swept.arith")
}

// A said is the outcome of a process.
type said struct {
	code     int // -1: it was killed
	hung     bool
	out, err string
}

// run runs a command in a folder; its program is the site's unless argv has a path. The command
// is killed with its children when ctx ends. It counts as hanging if it reaches the site's limit
// first.
func (s *site) run(ctx context.Context, dir string, argv ...string) (said, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	var out, err bytes.Buffer
	cmd := exec.Command(argv[0], argv[1:]...)
	if filepath.Base(argv[0]) == argv[0] && argv[0] != "strace" {
		cmd.Path, cmd.Err = s.at("bin", argv[0]), nil
	}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, s.env, &out, &err
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return said{}, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var r said
	select {
	case <-ended:
	case <-ctx.Done():
		r.hung = errors.Is(ctx.Err(), context.DeadlineExceeded) && context.Cause(ctx) != errKill
		killTree(cmd.Process.Pid)
		<-ended
	}
	r.code, r.out, r.err = cmd.ProcessState.ExitCode(), out.String(), err.String()
	return r, nil
}

// must runs a command undisturbed.
func (s *site) must(dir string, argv ...string) error {
	r, err := s.run(context.Background(), dir, argv...)
	if err == nil && (r.code != 0 || r.hung) {
		err = fmt.Errorf("%s: exit %d\n%s%s", strings.Join(argv, " "), r.code, r.out, r.err)
	}
	return err
}

// errKill ends a context in order to kill, which does not count as a hang.
var errKill = errors.New("kill")

// killTree kills a process and its descendants.
func killTree(pid int) {
	syscall.Kill(pid, syscall.SIGSTOP) // it starts no more children
	children, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range children {
		text, _ := os.ReadFile(list)
		for _, child := range strings.Fields(string(text)) {
			var n int
			if _, err := fmt.Sscan(child, &n); err == nil {
				killTree(n)
			}
		}
	}
	syscall.Kill(pid, syscall.SIGKILL)
}
