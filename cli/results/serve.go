package results

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/look"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/runtime/interrupt"
	"github.com/arithlang/mlc/serve"
)

// The default port, and the number of ports that are tried from there.
const (
	usualPort  = 7177
	portsTried = 20
)

// ServeAll serves until a signal comes, and ends pending requests then.
func ServeAll(sh *shell.Shell, h http.Handler, all []net.Listener) error {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    1 << 16,
		BaseContext:       func(net.Listener) context.Context { return sh.Context },
	}
	ended := make(chan error, len(all))
	for _, l := range all {
		go func() { ended <- server.Serve(l) }()
	}
	select {
	case err := <-ended:
		server.Close()
		return err
	case <-sh.Context.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		server.Close()
	}
	return context.Cause(sh.Context)
}

// ListenHere listens on the loopback addresses of this machine at a port. Port 0 means the
// first free one from the default port on.
func ListenHere(port int) (all []net.Listener, at int, err error) {
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
		return nil, 0, fmt.Errorf("port %d is taken by another program or another mlc serve: choose another, or leave out --port", port)
	}
	return nil, 0, fmt.Errorf("cannot listen on port %d: %w: choose another with --port", port, err)
}

// OpenBrowser opens an address in a browser, through a file that leads to it. Other users
// can read the command lines of browsers, but only the owner can read this file. remove
// deletes the file.
func OpenBrowser(address string) (remove func(), err error) {
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

// leadingTo writes a page that leads to an address. Only its owner can read it.
func leadingTo(address string) (path string, err error) {
	f, err := os.CreateTemp("", "mlc-serve-*.html") // 0600
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n", html.EscapeString(address))
	return f.Name(), errors.Join(err, f.Close())
}

// Servable returns the configuration of pages for the runs below a folder.
func Servable(b *build.Builder, dir string) serve.Config {
	return serve.Config{
		Folder:  dir,
		Version: shell.Version,
		Solve: func(ctx context.Context, run, problem string, times int, thinking bool, say func(string)) (*serve.Answer, error) {
			return within(ctx, func(sh *shell.Shell) (*serve.Answer, error) {
				return answerOf(b.On(sh), run, problem, times, thinking, say)
			})
		},
		Explain: func(ctx context.Context, run string) (*serve.Explanation, error) {
			return within(ctx, func(sh *shell.Shell) (*serve.Explanation, error) { return look.Explain(sh, run) })
		},
		Shorter: func(ctx context.Context, spec string) (string, error) {
			text := look.Shorter(ctx, spec)
			return text, context.Cause(ctx)
		},
		Attention: func(ctx context.Context, run, problem string, times int) (*serve.Attention, error) {
			return within(ctx, func(sh *shell.Shell) (*serve.Attention, error) { return attentionOf(sh, run, problem, times) })
		},
		Biases: func(ctx context.Context, run string) ([]serve.Bias, error) {
			return within(ctx, func(sh *shell.Shell) ([]serve.Bias, error) { return biasesOf(sh, run) })
		},
	}
}

// within calls do for a page. do ends with ctx, as if by a signal. If do prints findings,
// they become its error.
func within[T any](ctx context.Context, do func(*shell.Shell) (T, error)) (T, error) {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(interrupt.Error{Signal: syscall.SIGTERM}) })()
	var said bytes.Buffer
	value, err := do(&shell.Shell{Context: own, Release: func() {}, In: strings.NewReader(""), Out: &said, Err: &said, Quiet: true})
	if errors.Is(err, shell.ErrShown) {
		err = errors.New(strings.TrimSpace(said.String()))
	}
	return value, err
}

// answerOf lets the trainer of a run answer a problem.
func answerOf(b *build.Builder, run, problem string, times int, thinking bool, say func(string)) (*serve.Answer, error) {
	binary, built, err := b.TrainerOf(run, build.Silent, func() {
		say("Building the trainer of this run, once. This takes some seconds …")
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
		return solved(b.Shell, binary, append(solve, args...))
	}
	found, err := solved(b.Shell, binary, slices.Concat(solve, []string{"--thinking"}, args))
	if errors.As(err, new(shell.UsageError)) { // for example if the right answer is not known
		found, err = solved(b.Shell, binary, append(solve, args...))
	}
	return found, err
}

// solved runs a trainer that answers one problem.
func solved(sh *shell.Shell, binary string, args []string) (*serve.Answer, error) {
	cmd := sh.Command(binary, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := sh.Ended(cmd.Run())
	if text := lastLine(said.String()); err != nil && text != "" && sh.Context.Err() == nil {
		err = errors.New(text)
		if cmd.ProcessState.ExitCode() == shell.ExitUsage {
			err = shell.Misused(err)
		}
	}
	if err != nil {
		return nil, err
	}
	return serve.ParseAnswer(out.Bytes())
}

// lastLine returns the last line of a trainer's messages, without the trainer's name.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	line := lines[len(lines)-1]
	if _, what, ok := strings.Cut(line, ": "); ok {
		return cmp.Or(what, line)
	}
	return line
}
