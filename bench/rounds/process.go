package rounds

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Process returns the start of a command that warms up. The command then reads numbers of steps,
// one per line, and answers each with the seconds of these steps.
func Process(argv ...string) func(ctx context.Context) (Runner, error) {
	return func(ctx context.Context) (Runner, error) {
		p := &process{cmd: exec.CommandContext(ctx, argv[0], argv[1:]...)}
		p.cmd.Stderr = &p.complaint
		p.cmd.WaitDelay = patience // its children may hold its pipes
		var err error
		if p.in, err = p.cmd.StdinPipe(); err != nil {
			return nil, err
		}
		out, err := p.cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		p.answers = bufio.NewScanner(out)
		if err := p.cmd.Start(); err != nil {
			return nil, err
		}
		return p, nil
	}
}

type process struct {
	cmd       *exec.Cmd
	in        io.WriteCloser
	answers   *bufio.Scanner
	complaint strings.Builder
	ended     bool
}

func (p *process) Run(steps int) (float64, error) {
	// The missing answer shows best that the process has ended.
	_, _ = fmt.Fprintln(p.in, steps)
	if !p.answers.Scan() {
		err := cmp.Or(p.Stop(), errors.New("it ended"))
		return 0, fmt.Errorf("%w: %s", err, LastLines(p.complaint.String(), 1))
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(p.answers.Text()), 64)
	if err == nil && !(seconds > 0) {
		err = fmt.Errorf("%g seconds", seconds)
	}
	if err != nil {
		return 0, fmt.Errorf("answer %q: %w", p.answers.Text(), err)
	}
	return seconds, nil
}

// Peak returns the peak from /proc, or 0 if the file lacks it.
func (p *process) Peak() (bytes int64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &bytes); n == 1 {
			return bytes << 10
		}
	}
	return 0
}

// patience is how long a contestant may take to end.
const patience = 20 * time.Second

// Stop ends the process, if possible by closing its input.
func (p *process) Stop() error {
	if p.ended {
		return nil
	}
	p.ended = true
	p.in.Close()
	late := time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
	defer late.Stop()
	return p.cmd.Wait()
}

// LastLines returns the last n lines of a text.
func LastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}
