package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/runtime/interrupt"
	"github.com/arithlang/mlc/serve"
)

// serveCmd is the verb serve.
type serveCmd struct {
	Dir  string `arg:"" optional:"" name:"DIR" help:"Folder with runs, in it or below. Default: ${default}." default:"runs"`
	Port int    `help:"Port to listen on. Default: 7177, or the next that is free." placeholder:"N"`
	Open bool   `help:"Open the page in a browser."`
}

// Help is printed below the usage.
func (serveCmd) Help() string {
	return `Serves a page of the runs below a folder, to this machine alone, until Ctrl-C. It follows
what is training, has a page for each run, on which the model answers problems, and
compares runs. It writes nothing to the folder. The address that it prints has a secret
token in it: other users of this machine get no page without it.

Examples:
  mlc serve
  mlc serve runs/embeddings --open
  mlc serve --port 8000`
}

// The port where none is asked for, and how many behind it are tried.
const (
	usualPort  = 7177
	portsTried = 20
)

// Run serves until a signal comes.
func (c *serveCmd) Run(a *app) error {
	if c.Port < 0 || c.Port > 65535 {
		return usagef("--port %d: want 1 to 65535", c.Port)
	}
	s, err := serve.New(a.servable(c.Dir))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no folder %s: train something, as with mlc train FILE, or say where the runs are", c.Dir)
	}
	if err != nil {
		return err
	}
	all, port, err := listenHere(c.Port)
	if err != nil {
		return err
	}
	address := s.Address(fmt.Sprintf("http://127.0.0.1:%d", port))
	if a.json {
		err = a.printJSON(map[string]string{"address": address})
	} else {
		_, err = fmt.Fprintln(a.out, address)
	}
	if err != nil {
		return err
	}
	a.say("the runs below %s; Ctrl-C ends it", c.Dir)
	if c.Open {
		remove, err := openBrowser(address)
		if err != nil {
			a.say("cannot open a browser: %v", err)
		}
		defer remove()
	}
	return a.serveAll(s, all)
}

// serveAll serves until a signal comes, which ends all that is under way.
func (a *app) serveAll(h http.Handler, all []net.Listener) error {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    1 << 16,
		BaseContext:       func(net.Listener) context.Context { return a.ctx },
	}
	ended := make(chan error, len(all))
	for _, l := range all {
		go func() { ended <- server.Serve(l) }()
	}
	select {
	case err := <-ended:
		server.Close()
		return err
	case <-a.ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		server.Close()
	}
	return context.Cause(a.ctx)
}

// listenHere listens on the loopback addresses of this machine, at a port or, if that is 0,
// at the first free one from the usual one on.
func listenHere(port int) (all []net.Listener, at int, err error) {
	first, last := port, port
	if port == 0 {
		first, last = usualPort, usualPort+portsTried-1
	}
	for at = first; at <= last; at++ {
		var l net.Listener
		if l, err = net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(at))); err != nil {
			continue
		}
		all = append(all, l)
		if l, err := net.Listen("tcp6", net.JoinHostPort("::1", strconv.Itoa(at))); err == nil {
			all = append(all, l) // for browsers to which localhost is ::1
		}
		return all, at, nil
	}
	switch {
	case port == 0:
		return nil, 0, fmt.Errorf("cannot listen on any of the ports %d to %d: %w: choose another with --port", first, last, err)
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, 0, fmt.Errorf("port %d is taken by another program, or by another mlc serve: choose another, or leave out --port", port)
	}
	return nil, 0, fmt.Errorf("cannot listen on port %d: %w: choose another with --port", port, err)
}

// openBrowser hands a file that leads to an address to the system. Others can read the command
// lines of browsers, and this file only its owner. Remove removes it.
func openBrowser(address string) (remove func(), err error) {
	path, err := leadingTo(address)
	remove = func() {
		if path != "" {
			os.Remove(path)
		}
	}
	if err != nil {
		return remove, err
	}
	tool := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if tool == nil {
		tool = []string{"xdg-open"}
	}
	cmd := exec.Command(tool[0], append(tool[1:], path)...)
	if err := cmd.Start(); err != nil {
		return remove, err
	}
	go cmd.Wait()
	return remove, nil
}

// leadingTo writes a page that leads to an address, for its owner alone.
func leadingTo(address string) (path string, err error) {
	f, err := os.CreateTemp("", "mlc-serve-*.html") // 0600
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n", html.EscapeString(address))
	return f.Name(), errors.Join(err, f.Close())
}

// servable is what pages of the runs below a folder need of mlc.
func (a *app) servable(dir string) serve.Config {
	return serve.Config{
		Folder:  dir,
		Version: Version,
		Solve: func(ctx context.Context, run, problem string, times int, thinking bool, say func(string)) (*serve.Answer, error) {
			return within(a, ctx, func(b *app) (*serve.Answer, error) { return b.answer(run, problem, times, thinking, say) })
		},
		Explain: func(ctx context.Context, run string) (*serve.Explanation, error) {
			return within(a, ctx, func(b *app) (*serve.Explanation, error) { return b.explanation(run) })
		},
		Shorter: func(ctx context.Context, spec string) (string, error) {
			text := shorter(ctx, spec)
			return text, context.Cause(ctx)
		},
		Attention: func(ctx context.Context, run, problem string, times int) (*serve.Attention, error) {
			return within(a, ctx, func(b *app) (*serve.Attention, error) { return b.attention(b.ctx, run, problem, times) })
		},
		Biases: func(ctx context.Context, run string) ([]serve.Bias, error) {
			return within(a, ctx, func(b *app) ([]serve.Bias, error) { return b.biases(run) })
		},
	}
}

// within does something for a page: it ends with the context, as by a signal, and what it
// would print is the text of its error.
func within[T any](a *app, ctx context.Context, do func(*app) (T, error)) (T, error) {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(interrupt.Error{Signal: syscall.SIGTERM}) })()
	var said bytes.Buffer
	b := *a
	b.ctx, b.out, b.err, b.in, b.color, b.json, b.quiet, b.verbose = own, &said, &said, strings.NewReader(""), false, false, true, false
	value, err := do(&b)
	if errors.Is(err, errShown) {
		err = errors.New(strings.TrimSpace(said.String()))
	}
	return value, err
}

// answer asks the trainer of a run.
func (a *app) answer(run, problem string, times int, thinking bool, say func(string)) (*serve.Answer, error) {
	binary, built, err := a.trainerOf(run, silent, func() {
		say("Building the trainer of this run. That is done once, and takes some seconds …")
	})
	if err != nil {
		return nil, err
	}
	if built {
		say("Solving …")
	}
	args := []string{"--", problem}
	if times > 0 {
		args = append([]string{"--times", strconv.Itoa(times)}, args...)
	}
	solve := []string{"solve", run, "--json"}
	if !thinking {
		return a.solved(binary, append(solve, args...))
	}
	found, err := a.solved(binary, slices.Concat(solve, []string{"--thinking"}, args))
	if errors.As(err, new(usageError)) { // as where nobody knows the right answer
		found, err = a.solved(binary, append(solve, args...))
	}
	return found, err
}

// solved runs a trainer that answers one problem.
func (a *app) solved(binary string, args []string) (*serve.Answer, error) {
	cmd := a.command(binary, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := a.ended(cmd.Run())
	if text := lastLine(said.String()); err != nil && text != "" && a.ctx.Err() == nil {
		err = errors.New(text)
		if cmd.ProcessState.ExitCode() == exitUsage {
			err = usageError{err}
		}
	}
	if err != nil {
		return nil, err
	}
	return serve.ParseAnswer(out.Bytes())
}

// lastLine is the last line of what a trainer says, without its name.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	line := lines[len(lines)-1]
	if _, what, ok := strings.Cut(line, ": "); ok {
		return cmp.Or(what, line)
	}
	return line
}

// explanation compiles the spec of a run.
func (a *app) explanation(run string) (*serve.Explanation, error) {
	rec, err := recordOf(run)
	if err != nil {
		return nil, err
	}
	t, err := a.trainingOf(run, rec.Name)
	if err != nil {
		return nil, err
	}
	p, err := a.compile(t)
	if err != nil {
		return nil, err
	}
	if len(p.Stages) > 0 { // the last one speaks for the run
		trained, _ := rec.Trained(run)
		if p, err = only(p, filepath.Base(trained)); err != nil {
			return nil, err
		}
	}
	return await(a, func() (*serve.Explanation, error) { return explain(p, t) })
}

// explain is a compiled spec with its kernels beside each line.
func explain(p *compiler.Program, of training) (*serve.Explanation, error) {
	t, err := newTraceOf(p, of)
	if err != nil {
		return nil, err
	}
	e := &serve.Explanation{}
	if e.Page, err = t.page(of.name, "mlc "+Version); err != nil {
		return nil, err
	}
	kernels := map[place][]int{}
	for _, s := range t.sections("kernel") {
		for _, from := range s.from {
			kernels[from] = append(kernels[from], len(e.Kernels))
		}
		k := serve.Kernel{Name: s.head, Values: len(s.lines)}
		for _, l := range s.lines {
			k.Text += l.text + "\n"
		}
		e.Kernels = append(e.Kernels, k)
	}
	for _, s := range t.sections("spec") {
		for _, l := range s.lines {
			e.Lines = append(e.Lines, serve.SpecLine{Text: l.text, Kernels: kernels[l.from[0]]})
		}
	}
	return e, nil
}

// sections are those of a column.
func (t *trace) sections(name string) []section {
	for _, c := range t.columns {
		if c.name == name {
			return c.sections
		}
	}
	panic("BUG: a trace has no column " + name)
}
