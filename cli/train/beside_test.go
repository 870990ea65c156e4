package train

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/runtime/track"
)

// TestListen tells permanent lines from status lines, in any split of the input.
func TestListen(t *testing.T) {
	const text = "training\n\rstep 1\x1b[K\rstep 2\x1b[K\r\x1b[Kstopped\n\rstep 3\x1b[K\n\n no newline"
	want := []string{"say training", "show step 1", "show step 2", "show ", "say stopped", "show step 3", "say step 3", "say  no newline"}
	for name, in := range map[string]io.Reader{"at once": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text))} {
		var got []string
		listen(in, func(s string) { got = append(got, "say "+s) }, func(s string) { got = append(got, "show "+s) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestStatusIsHeard reads a trainer's status line.
func TestStatusIsHeard(t *testing.T) {
	t.Setenv(track.WidthVariable, "40")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := track.NewStatus(w, false)
	s.Testing(track.Testing{What: "length 2", Done: 1, Total: 3})
	s.Erase()
	fmt.Fprintln(w, "done")
	w.Close()
	var live, stays []string
	listen(r, func(s string) { stays = append(stays, s) }, func(s string) { live = append(live, s) })
	if diff := cmp.Diff([][]string{{"testing length 2  cells 1/3", ""}, {"done"}}, [][]string{live, stays}); diff != "" {
		t.Error(diff)
	}
}

// A display interprets the output to a terminal.
type display struct {
	lines []string
	row   int
}

// sequence matches a control sequence that moves or clears, or one character.
var sequence = regexp.MustCompile(`(?s)\x1b\[(\d*)([AJK])|.`)

func (d *display) Write(text []byte) (int, error) {
	column := 0
	for _, m := range sequence.FindAllStringSubmatch(string(text), -1) {
		for d.row >= len(d.lines) {
			d.lines = append(d.lines, "")
		}
		line := d.lines[d.row]
		switch {
		case m[2] == "A":
			n, _ := strconv.Atoi(m[1])
			d.row -= n
		case m[2] == "K":
			d.lines[d.row] = line[:column]
		case m[2] == "J":
			d.lines = d.lines[:d.row]
		case m[0] == "\r":
			column = 0
		case m[0] == "\n":
			d.row++
			column = 0
		default:
			line += strings.Repeat(" ", max(0, column+1-len(line)))
			d.lines[d.row] = line[:column] + m[0] + line[column+1:]
			column++
		}
	}
	return len(text), nil
}

// TestScreen shows status lines below permanent ones, within the size of the terminal.
func TestScreen(t *testing.T) {
	d := new(display)
	s := &screen{out: d, size: func() (int, int) { return 11, 5 }}
	for _, step := range []struct {
		do   func()
		want []string
	}{
		{func() { s.show([]string{"a 1", "all"}) }, []string{"a 1", "all"}},
		{func() { fmt.Fprintln(s, "message") }, []string{"message", "a 1", "all"}},
		{func() { s.show([]string{"a 2", "b longer than the line", "all"}) }, []string{"message", "a 2", "b longer t", "all"}},
		{func() { s.show([]string{"b"}) }, []string{"message", "b"}},
		{func() { s.show([]string{"a", "b", "c", "d", "e", "f", "all"}) }, []string{"message", "a", "b", "and 4 more", "all"}},
		{func() { s.aside(func() { fmt.Fprint(d, "one\ntwo\n") }) }, []string{"message", "one", "two", "a", "b", "and 4 more", "all"}},
		{func() { s.show(nil) }, []string{"message", "one", "two"}},
	} {
		step.do()
		if diff := cmp.Diff(step.want, d.lines); diff != "" {
			t.Fatalf("want %q: %s", step.want, diff)
		}
	}
	var b bytes.Buffer
	file := newScreen(&b)
	file.show([]string{"a 1"})
	fmt.Fprintln(file, "message")
	if b.String() != "message\n" {
		t.Errorf("a file gets %q", b.String())
	}
}

// TestCrewEnds begins no training after a signal or an error.
func TestCrewEnds(t *testing.T) {
	for name, c := range map[string]*crew{
		"a signal":          {asked: 130},
		"an error":          {fatal: errors.New("no room")},
		"a signal after it": {asked: 130, fatal: errors.New("no room")},
	} {
		c.series, c.size, c.queue, c.building = &series{}, 1, []int{0}, none
		c.next()
		if c.building != none || len(c.queue) != 1 {
			t.Errorf("after %s training %d is begun", name, c.building)
		}
	}
	if c := new(crew); c.over() {
		t.Error("it is over before it begins")
	}
}

// TestCrewPrintsResults prints the results of a training that ends, with its name, unless a
// signal has stopped all.
func TestCrewPrintsResults(t *testing.T) {
	for _, c := range []struct {
		asked shell.ExitStatus
		err   error
		want  []string
		state jobState
	}{
		{0, nil, []string{"lr=1", "length 3"}, done},
		{0, shell.ExitStatus(1), []string{"lr=1", "length 3"}, failed},
		{130, nil, nil, waiting},
	} {
		var out bytes.Buffer
		s := &series{Builder: build.New(&shell.Shell{Out: &out, Err: t.Output()}, nil, build.Maker{}), jobs: make([]job, 1)}
		s.jobs[0].Point.Name = "lr=1"
		w := &crew{series: s, at: map[int]*trainee{0: {}}, screen: newScreen(t.Output()), asked: c.asked}
		w.end(0, []byte("length 3\n"), c.err)
		if s.jobs[0].state != c.state || len(w.at) > 0 {
			t.Errorf("%v: state %v, %d are being made", c.err, s.jobs[0].state, len(w.at))
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%v: %q, without %s", c.err, out.String(), want)
			}
		}
		if c.want == nil && out.Len() > 0 {
			t.Errorf("asked to end, it prints %q", out.String())
		}
	}
}

// TestDraw shows a line for each training that runs or is built, in their order, and a line for all.
func TestDraw(t *testing.T) {
	d := new(display)
	s := &series{Builder: build.New(&shell.Shell{Out: d, Err: d}, nil, build.Maker{}), jobs: make([]job, 4)}
	for i, name := range []string{"lr=1", "lr=10", "lr=100", "lr=1000"} {
		s.jobs[i].Point.Name = name
	}
	s.jobs[0].state = done
	w := &crew{series: s, building: 0, at: map[int]*trainee{2: {live: "step 7"}, 1: {live: "step 9"}}, screen: &screen{out: d, size: func() (int, int) { return 80, 24 }}}
	w.draw()
	if diff := cmp.Diff([]string{"lr=10    step 9", "lr=100   step 7", "lr=1     building its trainer"}, d.lines[:min(3, len(d.lines))]); diff != "" || len(d.lines) != 4 || !strings.HasPrefix(d.lines[3], "1 of 4 trainings are done") {
		t.Errorf("%q: %s", d.lines, diff)
	}
	w.building = none
	w.draw()
	if len(d.lines) != 3 {
		t.Errorf("nothing is built: %q", d.lines)
	}
	w.at[1].live = "step 10"
	for _, quiet := range []*bool{&w.quiet, &w.Quiet} {
		*quiet = true
		if w.draw(); d.lines[0] != "lr=10    step 9" {
			t.Errorf("quiet, it draws %q", d.lines)
		}
		*quiet = false
	}
}

// TestCrewStarts runs a script in the place of a trainer. It shows what the trainer says with the
// name of the training, and gives it a share of the cores.
func TestCrewStarts(t *testing.T) {
	if shell.ExeSuffix != "" {
		t.Skip("there are no scripts")
	}
	t.Setenv("MLFLOW_TRACKING_URI", "")
	script := filepath.Join(t.TempDir(), "trainer")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nprintf '\\rstep 7\\033[K' >&2\nprintf '\\r\\033[Ka warning\\n' >&2\necho \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	s := &series{Builder: build.New(&shell.Shell{Context: t.Context(), Out: &out, Err: &said}, nil, build.Maker{}), flags: flagsGiven(t, "--out o"), jobs: make([]job, 2)}
	s.jobs[0].Point.Name, s.jobs[0].Point.Slug = "lr=1", "a"
	w := &crew{series: s, flagsOf: s.flags.of, size: 10 * runtime.GOMAXPROCS(0), building: none, at: map[int]*trainee{}, do: make(chan func()), screen: newScreen(&said)}
	if err := w.start(0, &build.Product{Binary: script}, time.Now()); err != nil {
		t.Fatal(err)
	}
	live := ""
	for len(w.at) > 0 {
		(<-w.do)()
		if trains := w.at[0]; trains != nil {
			live += trains.live + ","
		}
	}
	if !strings.HasPrefix(live, "step 7,") {
		t.Errorf("its line is %q", live)
	}
	if want := "training 1 of 2: lr=1\nlr=1: a warning\nlr=1: done in 0s\n"; said.String() != want {
		t.Errorf("it says %q, want %q", said.String(), want)
	}
	if want := "lr=1:\ntrain --threads 1 --out o/a\n"; out.String() != want || s.jobs[0].state != done {
		t.Errorf("it prints %q, want %q", out.String(), want)
	}
	if err := w.start(1, &build.Product{Binary: script + "s"}, time.Now()); err == nil || !strings.HasPrefix(err.Error(), "cannot run ") || len(w.at) > 0 {
		t.Errorf("a trainer that is not there: %v", err)
	}
}

// TestCrewSignals passes a signal on to all trainers, and remembers the first.
func TestCrewSignals(t *testing.T) {
	sleeps := exec.Command("sleep", "60")
	if err := sleeps.Start(); err != nil {
		t.Skip(err)
	}
	w := &crew{at: map[int]*trainee{3: {cmd: sleeps}}}
	w.signal(syscall.SIGTERM)
	if err := sleeps.Wait(); err == nil || err.Error() != "signal: terminated" {
		t.Errorf("the trainer ends with %v", err)
	}
	w.signal(syscall.SIGINT)
	if w.asked != 143 || !w.over() {
		t.Errorf("the exit code is %d", w.asked)
	}
}
