package results

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/runtime/interrupt"
)

const shownRuns = "../../serve/testdata/runs"

// TestCancelledShorter returns an error when its request is cancelled.
func TestCancelledShorter(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := build.New(&shell.Shell{Context: ctx, Err: t.Output()}, nil, build.Maker{})
	if _, err := Servable(b, shownRuns).Shorter(ctx, "arith 2\n\ntask successor {}\n"); err == nil {
		t.Error("it ends as if it had not been cancelled")
	}
}

// TestPortTaken listens at the requested port, or else at the next free one.
func TestPortTaken(t *testing.T) {
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	if _, _, err := ListenHere(port); err == nil || !strings.Contains(err.Error(), "is taken by another program") {
		t.Errorf("a port that is taken: %v", err)
	}
	first, at, err := ListenHere(0)
	if err != nil {
		t.Fatal(err)
	}
	second, next, err := ListenHere(0)
	if err != nil || next <= at {
		t.Errorf("while %d is taken, %d: %v", at, next, err)
	}
	for _, l := range append(first, second...) {
		if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
			t.Errorf("it listens at %v, where other machines are heard", l.Addr())
		}
		l.Close()
	}
}

// TestAnswer asks a script in the place of a run's trainer.
func TestAnswer(t *testing.T) {
	if shell.ExeSuffix != "" {
		t.Skip("there are no scripts")
	}
	t.Setenv("MLC_CACHE", t.TempDir())
	b := build.New(&shell.Shell{Context: context.Background(), Out: io.Discard, Err: io.Discard}, os.DirFS("../.."), build.Maker{})
	run, err := filepath.Abs(shownRuns + "/successor")
	if err != nil {
		t.Fatal(err)
	}
	rec, err := project.RecordOf(run)
	if err != nil {
		t.Fatal(err)
	}
	home, err := b.Home()
	if err != nil {
		t.Fatal(err)
	}
	play := func(script string) {
		t.Helper()
		path := filepath.Join(home, "bin", build.CacheName(rec.Name, rec.SpecHash))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		seal := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".sha256")
		if err := os.WriteFile(seal, fmt.Appendf(nil, "%x program\n", sha256.Sum256(text)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	solve := Servable(b, shownRuns).Solve
	silent := func(text string) { t.Errorf("a trainer that is there is not built: %s", text) }
	play(`printf '{"problem":"%s","answer":"%s"}\n' "$8" "$1 $3 $4 $5 $6 $7"`)
	got, err := solve(context.Background(), run, "-1+2", 3, true, silent)
	if err != nil || got.Problem != "-1+2" || got.Answer != "solve --json --thinking --times 3 --" {
		t.Errorf("%+v, %v", got, err)
	}
	play("echo 'mlc: it is no number' >&2; exit 2")
	if _, err := solve(context.Background(), run, "x", 0, false, silent); err == nil || err.Error() != "it is no number" {
		t.Errorf("what the trainer says: %v", err)
	}
	play(`case "$*" in *--thinking*) echo 'mlc: no answer is known' >&2; exit 2;; esac
printf '{"problem":"12","answer":"%s"}\n' "$*"`)
	if got, err = solve(context.Background(), run, "12", 3, true, silent); err != nil || got.Answer != "solve "+run+" --json --times 3 -- 12" {
		t.Errorf("a trainer that cannot show thinking: %+v, %v", got, err)
	}
	if got, err = solve(context.Background(), run, "12", 0, false, silent); err != nil || got.Answer != "solve "+run+" --json -- 12" {
		t.Errorf("without thinking: %+v, %v", got, err)
	}
	play(`echo '{"answer":"'"$*"'"}'`)
	if got, err = solve(context.Background(), run, "12", 0, false, silent); err != nil || got.Answer != "solve "+run+" --json -- 12" {
		t.Errorf("thinking that nobody asks for: %+v, %v", got, err)
	}
	play("sleep 60")
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := solve(ctx, run, "1", 0, false, silent); err == nil || time.Since(start) > 30*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
}

// TestExplanation has kernels at the lines that they come from.
func TestExplanation(t *testing.T) {
	b := build.New(&shell.Shell{Context: context.Background(), Out: io.Discard, Err: io.Discard}, os.DirFS("../.."), build.Maker{})
	e, err := Servable(b, shownRuns).Explain(context.Background(), shownRuns+"/successor")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range e.Lines {
		if strings.Contains(l.Text, "relu(hidden") {
			for _, k := range l.Kernels {
				if strings.Contains(e.Kernels[k].Text, "256") {
					return
				}
			}
		}
	}
	t.Errorf("no kernel with 256 elements is beside ffn = relu(hidden = 256), of %d lines", len(e.Lines))
}

// TestLeadingTo writes the address with its token so that only its owner can read it.
func TestLeadingTo(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	path, err := leadingTo("http://127.0.0.1:1/?token=a&b")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(path) })
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v", info.Mode())
	}
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), `url=http://127.0.0.1:1/?token=a&amp;b"`) {
		t.Errorf("%s, %v", text, err)
	}
}

// TestServeAll serves on all listeners until the context or one of them ends.
func TestServeAll(t *testing.T) {
	ended := errors.New("ended")
	ctx, end := context.WithCancelCause(t.Context())
	all, at, err := ListenHere(0)
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Err() != nil {
			t.Error("the request has ended before it is answered")
		}
		io.WriteString(w, "text")
	})
	go func() { over <- ServeAll(&shell.Shell{Context: ctx}, h, all) }()
	for range 2 {
		answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/", at))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if string(text) != "text" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
	}
	end(ended)
	if err := <-over; err != ended {
		t.Errorf("it ends with %v", err)
	}
	if _, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/", at)); err == nil {
		t.Error("it serves after its end")
	}
	if all, _, err = ListenHere(0); err != nil {
		t.Fatal(err)
	}
	all[0].Close()
	if err := ServeAll(&shell.Shell{Context: t.Context()}, h, all); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a listener has ended, and it ends with %v", err)
	}
}

// TestWithin turns findings into an error, and ends with the request as with a signal.
func TestWithin(t *testing.T) {
	_, err := within(t.Context(), func(sh *shell.Shell) (int, error) {
		fmt.Fprintln(sh.Err, "x.arith:1:1: error")
		return 0, shell.ErrShown
	})
	if err == nil || err.Error() != "x.arith:1:1: error" {
		t.Error(err)
	}
	ctx, end := context.WithCancel(t.Context())
	n, err := within(ctx, func(sh *shell.Shell) (int, error) {
		end()
		<-sh.Context.Done()
		sh.Say("nobody hears this")
		return 7, context.Cause(sh.Context)
	})
	if _, signal := interrupt.In(err); n != 7 || !signal {
		t.Errorf("%d, %v", n, err)
	}
}

// TestBrowser opens a file that leads to the address, and removes it.
func TestBrowser(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the browser of another system is not a script")
	}
	dir, temp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("PATH", dir)
	remove, err := OpenBrowser("http://127.0.0.1:1/")
	if err == nil {
		t.Error("a browser that is not there is opened")
	}
	remove()
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\necho $1 >"+dir+"/opened.tmp; /bin/mv "+dir+"/opened.tmp "+dir+"/opened\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if remove, err = OpenBrowser("http://127.0.0.1:1/"); err != nil {
		t.Fatal(err)
	}
	opened := ""
	for start := time.Now(); opened == "" && time.Since(start) < 10*time.Second; time.Sleep(time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(dir, "opened"))
		opened = strings.TrimSpace(string(text))
	}
	if left, err := os.ReadDir(temp); len(left) != 1 || err != nil || opened != filepath.Join(temp, left[0].Name()) {
		t.Errorf("it opens %q; there are %v, %v", opened, left, err)
	}
	remove()
	if left, err := os.ReadDir(temp); len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}
