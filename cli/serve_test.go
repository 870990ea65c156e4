package cli

import (
	"bufio"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/runtime/interrupt"
)

const servedRuns = "../serve/testdata/runs"

// TestServe requests pages, and ends while a stream is open.
func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	out, in := io.Pipe()
	sh := &shell.Shell{Context: ctx, Out: in, Err: io.Discard}
	ended := make(chan error, 1)
	go func() { ended <- (&serveCmd{Dir: servedRuns}).Run(sh, build.New(sh, sourceTree(), build.Maker{})) }()
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
		answer, err := http.Get(address + path) // without the client's cookies
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
