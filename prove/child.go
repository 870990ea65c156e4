package prove

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/cuda"
)

// A request tells a process which part to run. It is one line of JSON on the standard input,
// which stays open as long as somebody wants the answer.
type request struct {
	Phase   string
	Part    string
	Place   int   // place of the part in its phase
	Before  []int // places of parts that are running or have passed
	Device  string
	Seed    uint64
	Reduced bool
	Command []string  // that started this process
	Meet    string    // address where rank 0 waits; only for rank 1
	Brief   bool      // as few steps as possible
	Caches  string    // archive of PyTorch's compiled code; "" for none
	End     time.Time // the part should end by itself before this time
	Grace   float64   // seconds that it has for that
	Answer  string    // the file of the Part
}

// Child runs one part. It reads the request from in and writes the part's result to a file. It
// ends the process when in ends, because then nobody waits for the answer.
func Child(in io.Reader) error { return child(in, slices.Concat(phases(), speeds()), &Env{}) }

func child(in io.Reader, table []phase, e *Env) error {
	var req request
	lines := json.NewDecoder(in)
	if err := lines.Decode(&req); err != nil {
		return fmt.Errorf("only mlc prove starts this command: no request on standard input: %w", err)
	}
	go func() {
		io.Copy(io.Discard, in)
		os.Exit(1)
	}()
	i := slices.IndexFunc(table, func(p phase) bool { return p.name == req.Phase })
	if i < 0 {
		return fmt.Errorf("BUG: no phase %q", req.Phase)
	}
	ctx, cancel := context.WithDeadline(context.Background(), req.End)
	defer cancel()
	e.Device, e.Seed, e.dir = req.Device, req.Seed, filepath.Dir(req.Answer)
	e.brief, e.caches = req.Brief, req.Caches
	e.reduced, e.command, e.meet, e.place, e.before = req.Reduced, req.Command, req.Meet, req.Place, req.Before
	done := make(chan *Part, 1)
	go func() {
		p := &Part{Name: req.Part}
		p.conclude(ctx, table[i].run(ctx, e, p))
		done <- p
	}()
	p := await(ctx, done, scale(time.Second, req.Grace))
	p.Name = req.Part
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return ckpt.WriteFile(req.Answer, text)
}

// await returns the result of a part. If its time and the grace have passed, the part is
// abandoned.
func await(ctx context.Context, done <-chan *Part, grace time.Duration) *Part {
	select {
	case p := <-done:
		return p
	case <-ctx.Done():
	}
	select {
	case p := <-done:
		return p
	case <-time.After(grace):
		return &Part{Verdict: Cut, Reason: outOfTime + ": it was still running"}
	}
}

// errSkip marks errors that mean: this cannot be done here, and nothing is wrong.
var errSkip = errors.New("skipped")

// skipf returns an error that wraps errSkip.
func skipf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errSkip, fmt.Sprintf(format, args...))
}

// conclude gives a part its verdict once it has run.
func (p *Part) conclude(ctx context.Context, err error) {
	switch {
	case errors.Is(err, cuda.ErrUnavailable):
		p.Verdict, p.Reason = Unavailable, err.Error()
	case errors.Is(err, errSkip):
		p.Verdict, p.Reason = Skipped, strings.TrimPrefix(err.Error(), errSkip.Error()+": ")
	case err != nil && !errors.Is(err, context.DeadlineExceeded):
		p.Verdict, p.Reason = Fail, err.Error()
	case len(p.Wrong) > 0:
		p.Verdict = Fail
	case err != nil || ctx.Err() != nil && !p.whole:
		p.Verdict = Cut
	default:
		p.Verdict = Pass
	}
	if ctx.Err() != nil && p.Reason == "" && p.Verdict != Pass {
		p.Reason = outOfTime
	}
}

// outOfTime is the reason for work that the budget cut.
const outOfTime = "budget"

// ask starts the process and waits for its end. It returns the end of its output.
func (j *job) ask(ctx context.Context, req request, env []string) (said string, err error) {
	cmd, in, err := j.start(ctx, req, env)
	if err != nil {
		return "", err
	}
	defer in.Close()
	err = cmd.Wait()
	return cmd.Stderr.(*tail).String(), err
}

// start starts the process, which ends when its input is closed.
func (j *job) start(ctx context.Context, req request, env []string) (*exec.Cmd, io.Closer, error) {
	line, err := json.Marshal(req)
	if err != nil {
		return nil, nil, err
	}
	var said tail
	cmd := exec.CommandContext(ctx, j.Command[0], j.Command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = time.Second // another process may hold its output open
	ownGroup(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	in.Write(append(line, '\n')) // if the process has ended already, Wait reports it
	return cmd, in, nil
}

// answer reads and removes the file of a part.
func answer(path string) (*Part, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, errors.New("the file is missing")
	}
	os.Remove(path) // or the next one replaces it
	p := new(Part)
	if err := json.Unmarshal(text, p); err != nil {
		return nil, err
	}
	return p, nil
}

// exitText describes how a process ended.
func exitText(err error) string {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.String()
	}
	if err != nil {
		return err.Error()
	}
	return "exit status 0"
}

// A tail keeps the last bytes written to it.
type tail struct {
	last []byte
	most int // bytes; 0: maxTail
}

const maxTail = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.last = append(t.last, p...)
	if n := len(t.last) - cmp.Or(t.most, maxTail); n > 0 {
		t.last = t.last[n:]
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.ToValidUTF8(string(bytes.TrimSpace(t.last)), "?") }

// end returns the last bytes of a text.
func end(text string) string {
	var t tail
	t.Write([]byte(text))
	return t.String()
}
