package train

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/results"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/runtime/interrupt"
	"github.com/arithlang/mlc/runtime/track"
)

// A crew trains several jobs of a series at a time. One goroutine owns its state; others
// send it functions to call.
type crew struct {
	*series
	flagsOf  func(*job) Flags
	size     int              // trainings at a time
	queue    []int            // numbers of jobs that have not begun
	building int              // the job whose trainer is being built, or none
	at       map[int]*trainee // running jobs, by number
	do       chan func()
	screen   *screen
	asked    shell.ExitStatus // status for the first signal; ExitOK: no signal yet
	fatal    error            // the error that ends the series after the running jobs
}

// none is the number of no job.
const none = -1

// A trainee is a running training of a crew.
type trainee struct {
	cmd   *exec.Cmd
	begun time.Time
	live  string // the status line of its trainer
}

// redrawn is the time between two updates of the terminal.
const redrawn = 100 * time.Millisecond

// beside runs the numbered jobs side by side, with flags for their trainers. An error ends
// the series; a failed training does not. The first signal makes all trainers save and
// stop, and the second kills them.
func (s *series) beside(numbers []int, with func(*job) Flags) error {
	c := &crew{flagsOf: with, size: min(s.jobsAtOnce, len(numbers)), queue: numbers, building: none, at: map[int]*trainee{},
		do: make(chan func()), screen: newScreen(s.Err)}
	own, whole := *s.Shell, s.Builder
	own.Err = c.screen
	s.Builder, c.series = whole.On(&own), s
	defer func() { s.Builder = whole }()
	signals, stop := interrupt.Notify(2)
	defer stop()
	tick := time.NewTicker(redrawn)
	defer tick.Stop()
	for c.next(); len(c.at) > 0 || c.building != none; c.next() {
		select {
		case sig := <-signals:
			c.signal(sig.(syscall.Signal))
		case f := <-c.do:
			f()
		case <-tick.C:
			c.draw()
		}
	}
	c.screen.show(nil)
	if c.asked != shell.ExitOK {
		return c.asked
	}
	return c.fatal
}

// signal passes a signal on. After the first one no job begins.
func (c *crew) signal(sig syscall.Signal) {
	if c.asked == shell.ExitOK {
		c.asked = shell.ExitStatus(interrupt.Error{Signal: sig}.ExitCode())
	}
	for _, t := range c.at {
		t.cmd.Process.Signal(sig) // it may have just ended
	}
}

// over reports whether no further training may begin.
func (c *crew) over() bool { return c.asked != shell.ExitOK || c.fatal != nil }

// next begins the next jobs while there is room.
func (c *crew) next() {
	for c.building == none && len(c.at) < c.size && len(c.queue) > 0 && !c.over() {
		i := c.queue[0]
		c.queue = c.queue[1:]
		if c.elsewhere(i) {
			continue
		}
		c.building = i
		begun, of := time.Now(), c.jobs[i].Training
		go func() {
			p, err := c.Trainer(c.where, of, build.Silent)
			c.do <- func() {
				c.building = none
				switch {
				case err != nil:
					c.fatal = cmp.Or(c.fatal, err)
				case !c.over():
					c.fatal = c.start(i, p, begun)
				}
			}
		}()
	}
}

// start runs the trainer of a job and listens to its messages.
func (c *crew) start(i int, p *build.Product, begun time.Time) error {
	j, out := &c.jobs[i], new(bytes.Buffer)
	say := func(text string) { c.do <- func() { fmt.Fprintf(c.Err, "%s: %s\n", j.Point.Name, text) } }
	r, err := newRelay(say)
	if err != nil {
		return err
	}
	cmd := &exec.Cmd{Path: p.Binary, Args: p.Command("train", c.words(c.ofMany(j))), Stdout: out, SysProcAttr: shell.OwnGroup(),
		Env: append(r.environ(), fmt.Sprintf("%s=%d", track.WidthVariable, max(20, c.screen.width()-c.nameWidth()-2)))}
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		r.end(err)
		return fmt.Errorf("cannot run %s: %w", p.Binary, err)
	}
	if !c.quiet {
		c.Say("training %d of %d: %s%s", i+1, len(c.jobs), j.Point.Name, c.progress())
	}
	t := &trainee{cmd: cmd, begun: begun}
	c.at[i] = t
	go func() {
		listen(said, say, func(line string) { c.do <- func() { t.live = line } })
		err := cmd.Wait()
		r.end(err)
		c.do <- func() { c.end(i, out.Bytes(), err) }
	}()
	return nil
}

// ofMany returns the flags of one of several concurrent jobs: a share of the cores, unless
// a flag sets their number.
func (c *crew) ofMany(j *job) Flags {
	f := c.flagsOf(j)
	if f.Threads == 0 {
		f.Threads = max(1, runtime.GOMAXPROCS(0)/c.size)
	}
	return f
}

// end records the end of a job, and prints its results in one piece.
func (c *crew) end(i int, out []byte, err error) {
	t := c.at[i]
	delete(c.at, i)
	c.draw()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		err = shell.ExitOf(exit)
	}
	if c.asked != shell.ExitOK {
		return
	}
	took := time.Since(t.begun)
	if err := c.ended(i, took, err); err != nil {
		c.fatal = cmp.Or(c.fatal, err)
		return
	}
	j := &c.jobs[i]
	if j.state == done && !c.quiet {
		c.Say("%s: done in %s%s", j.Point.Name, rounded(took), c.matchOf(j))
	}
	c.screen.aside(func() { c.results(j).Write(out) })
}

// matchOf returns the exact match of a finished job, as the end of a sentence.
func (c *crew) matchOf(j *job) string {
	row, err := results.ReadRow("", c.flags.dir(j))
	if err != nil || row.Result == nil {
		return ""
	}
	return ", exact match: " + row.Result.Summary()
}

// draw shows a line for each running job, and a line for all.
func (c *crew) draw() {
	if c.quiet || c.Quiet {
		return
	}
	var lines []string
	for _, i := range slices.Sorted(maps.Keys(c.at)) {
		lines = append(lines, fmt.Sprintf("%-*s  %s", c.nameWidth(), c.jobs[i].Point.Name, c.at[i].live))
	}
	if c.building != none {
		lines = append(lines, fmt.Sprintf("%-*s  %s", c.nameWidth(), c.jobs[c.building].Point.Name, "building its trainer"))
	}
	lines = append(lines, fmt.Sprintf("%d of %d trainings are done%s", c.count(done), len(c.jobs), c.progress()))
	c.screen.show(lines)
}

// nameWidth is the width of the longest name.
func (s *series) nameWidth() int {
	wide := 0
	for i := range s.jobs {
		wide = max(wide, len(s.jobs[i].Point.Name))
	}
	return wide
}

// listen splits a trainer's output into lines. It calls say for permanent lines, and show
// for status lines, which track.Status ends by clearing the rest of the line.
func listen(r io.Reader, say, show func(line string)) {
	const clear, longest = "\x1b[K", 1 << 16
	var line []byte
	buffer := make([]byte, 4096)
	for {
		n, err := r.Read(buffer)
		for _, b := range buffer[:n] {
			switch {
			case b == '\r':
				line = line[:0]
			case b == '\n' || len(line) == longest:
				if text := strings.TrimSpace(string(line)); text != "" {
					say(text)
				}
				line = line[:0]
			default:
				line = append(line, b)
			}
			if text, live := bytes.CutSuffix(line, []byte(clear)); live {
				line = text
				show(string(line))
			}
		}
		if err != nil {
			if len(line) > 0 {
				say(string(line))
			}
			return
		}
	}
}
