package cli

import (
	"bufio"
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/arithlang/mlc/runtime/interrupt"
)

const shownRuns = "../serve/testdata/runs"

// TestServe asks for pages, and ends while a stream is open.
func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	out, in := io.Pipe()
	a := &app{ctx: ctx, out: in, err: io.Discard, source: sourceTree()}
	ended := make(chan error, 1)
	go func() { ended <- (&serveCmd{Dir: shownRuns}).Run(a) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	address, token, ok := strings.Cut(strings.TrimSpace(line), "?token=")
	if raw, err := base64.RawURLEncoding.DecodeString(token); !ok || err != nil || len(raw) != 32 {
		t.Fatalf("it prints %q", line)
	}
	for path, want := range map[string]int{"": 403, "run?run=successor": 403, "?token=" + token[1:]: 403, "?token=" + token: 200} {
		answer, err := http.Get(address + path) // without the cookies of client
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s without a cookie: %d, want %d", path, answer.StatusCode, want)
		}
	}
	if answer, err := client.Get(address + "?token=" + token); err != nil {
		t.Fatal(err)
	} else {
		answer.Body.Close()
	}
	for path, want := range map[string]string{"": "embeddings/abacus-1", "run?run=successor": "train it again", "events?run=successor": "event: swap"} {
		answer, err := client.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text := make([]byte, 1<<20)
		n := 0
		for n < len(text) && !strings.Contains(string(text[:n]), want) {
			k, err := answer.Body.Read(text[n:])
			if n += k; err != nil {
				break
			}
		}
		if !strings.Contains(string(text[:n]), want) {
			t.Errorf("%s does not say %q", path, want)
		}
	}
	cancel(interrupt.Error{Signal: syscall.SIGINT})
	select {
	case err := <-ended:
		if e, ok := interrupt.In(err); !ok || e.ExitCode() != 130 {
			t.Errorf("interrupted: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it does not end while a stream is open")
	}
}

// TestPortTaken wants a port that is asked for, or else the next one.
func TestPortTaken(t *testing.T) {
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	if _, _, err := listenHere(port); err == nil || !strings.Contains(err.Error(), "is taken by another program") {
		t.Errorf("a port that is taken: %v", err)
	}
	first, at, err := listenHere(0)
	if err != nil {
		t.Fatal(err)
	}
	second, next, err := listenHere(0)
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

// TestAnswer asks a trainer that a script plays, where that of a run is.
func TestAnswer(t *testing.T) {
	if exeSuffix != "" {
		t.Skip("there are no scripts")
	}
	t.Setenv(cacheVariable, t.TempDir())
	a := &app{ctx: context.Background(), out: io.Discard, err: io.Discard, source: sourceTree()}
	run, err := filepath.Abs(shownRuns + "/successor")
	if err != nil {
		t.Fatal(err)
	}
	rec, err := recordOf(run)
	if err != nil {
		t.Fatal(err)
	}
	home, err := a.home()
	if err != nil {
		t.Fatal(err)
	}
	play := func(script string) {
		t.Helper()
		path := filepath.Join(home, "bin", cacheName(rec.Name, rec.SpecHash))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
		sum, err := fileSum(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(sealPath(path), []byte(sum+" program\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	solve := a.servable(shownRuns).Solve
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
	play("sleep 60")
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := solve(ctx, run, "1", 0, false, silent); err == nil || time.Since(start) > 30*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
}

// TestExplanation has kernels beside the lines that they come from.
func TestExplanation(t *testing.T) {
	a := &app{ctx: context.Background(), out: io.Discard, err: io.Discard, source: sourceTree()}
	e, err := a.servable(shownRuns).Explain(context.Background(), shownRuns+"/successor")
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

// TestLeadingTo writes the address with its token where its owner alone can read it.
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
