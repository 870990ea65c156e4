package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ours is the contestant that the others are measured by.
const ours = "mlc"

// A contestant is a command that warms up, then reads numbers of steps, one a line,
// and answers each with the seconds that so many steps took.
type contestant struct {
	Title string
	Argv  []string
}

// A result is what was measured of a contestant.
type result struct {
	Title   string
	Start   time.Duration // until the first step after warming up was done
	Steps   int           // a round
	Seconds []float64     // a step, by round
	Base    []float64     // what a step of ours took in the same rounds
	Peak    int64         // bytes, resident; 0: unknown
	Err     error         // why it gave up
}

// median is the middle of a contestant's rounds, the mean of two if there are two.
func median(xs []float64) float64 {
	xs = slices.Sorted(slices.Values(xs))
	n := len(xs)
	return (xs[(n-1)/2] + xs[n/2]) / 2
}

// duels measures one contestant with each of the others in turn: two fit into
// memory where all would not. The first result is that of all its duels.
func duels(ctx context.Context, own contestant, others []contestant, rounds int, length time.Duration) []result {
	if len(others) == 0 {
		return measure(ctx, []contestant{own}, rounds, length)
	}
	var all []result
	for i, other := range others {
		pair := measure(ctx, []contestant{own, other}, rounds, length)
		pair[1].Base = pair[0].Seconds
		if i == 0 {
			all = append(all, pair[0])
		} else {
			all[0].add(pair[0])
		}
		all = append(all, pair[1])
	}
	return all
}

// add makes r the result of both measurements.
func (r *result) add(more result) {
	r.Seconds = append(r.Seconds[:len(r.Seconds):len(r.Seconds)], more.Seconds...)
	r.Peak = max(r.Peak, more.Peak)
	r.Err = cmp.Or(r.Err, more.Err)
}

// measure lets contestants take turns. In a round each is busy for about length,
// and for a step at least. One that fails is out and keeps nobody up.
func measure(ctx context.Context, cs []contestant, rounds int, length time.Duration) []result {
	results := make([]result, len(cs))
	running := make([]*process, len(cs))
	for i, c := range cs {
		r := &results[i]
		r.Title = c.Title
		begin := time.Now()
		p, seconds, err := start(ctx, c)
		if r.Err = err; err != nil {
			logf("  %-28s %v", c.Title, err)
			continue
		}
		defer p.stop()
		running[i], r.Start = p, time.Since(begin)
		r.Steps = max(int(length.Seconds()/seconds+0.5), 1)
		logf("  %-28s ready after %.1f s", c.Title, r.Start.Seconds())
	}
	for range rounds {
		for i, p := range running {
			if r := &results[i]; r.Err == nil && ctx.Err() == nil {
				r.round(p)
			}
		}
	}
	for i := range results {
		if r := &results[i]; r.Err == nil {
			r.Peak = running[i].peak()
		}
	}
	return results
}

// round adds a round of a contestant.
func (r *result) round(p *process) {
	seconds, err := p.run(r.Steps)
	if r.Err = err; err != nil {
		logf("  %-28s %v", r.Title, err)
		return
	}
	r.Seconds = append(r.Seconds, seconds/float64(r.Steps))
	logf("  %-28s %.4f s a step", r.Title, r.Seconds[len(r.Seconds)-1])
}

// A process is a contestant at work.
type process struct {
	cmd       *exec.Cmd
	in        io.WriteCloser
	answers   *bufio.Scanner
	complaint strings.Builder
	ended     bool
}

// start returns a contestant that has done one step since it warmed up, and the
// seconds of that.
func start(ctx context.Context, c contestant) (*process, float64, error) {
	p := &process{cmd: exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)}
	p.cmd.Stderr = &p.complaint
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, 0, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, 0, err
	}
	p.answers = bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		return nil, 0, err
	}
	seconds, err := p.run(1)
	if err != nil {
		p.stop()
		return nil, 0, err
	}
	return p, seconds, nil
}

// run returns the seconds that so many steps take.
func (p *process) run(steps int) (float64, error) {
	// An end of the process shows best in the answer that does not come.
	_, _ = fmt.Fprintln(p.in, steps)
	if !p.answers.Scan() {
		err := cmp.Or(p.stop(), errors.New("it ended"))
		return 0, fmt.Errorf("%w: %s", err, lastLines(p.complaint.String(), 1))
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

// peak is the most memory that the process has had, 0 where the system does not say.
func (p *process) peak() (bytes int64) {
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

// stop ends the process, by itself if it will.
func (p *process) stop() error {
	if p.ended {
		return nil
	}
	p.ended = true
	p.in.Close()
	late := time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
	defer late.Stop()
	return p.cmd.Wait()
}
