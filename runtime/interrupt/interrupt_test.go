//go:build unix

package interrupt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// role is the environment variable for this program when a test starts it: it waits for a
// signal, reports it, and waits for another.
const role = "INTERRUPT_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(role) == "" {
		os.Exit(m.Run())
	}
	ctx, release := Context()
	defer release()
	fmt.Println("ready")
	<-ctx.Done()
	fmt.Println(context.Cause(ctx))
	time.Sleep(time.Minute)
}

// TestSecondSignalKills wants the first signal to end the context and the second the process.
func TestSecondSignalKills(t *testing.T) {
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP) // else a child would ignore it under nohup
	defer signal.Stop(hangUps)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGXCPU} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), role+"=waits")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"ready\n", "interrupted\n"} {
			got := make([]byte, len(want))
			if _, err := out.Read(got); err != nil || string(got) != want {
				t.Errorf("%v: says %q: %v", sig, got, err)
			}
			switch sig {
			case syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGXCPU:
				if want == "interrupted\n" {
					cmd.Process.Signal(sig) // a Go program survives the other signals
					sig = syscall.SIGTERM
				}
			}
			cmd.Process.Signal(sig)
		}
		cmd.Wait()
		if got := cmd.ProcessState.Sys().(syscall.WaitStatus); !got.Signaled() || got.Signal() != sig {
			t.Errorf("%v: ended with %v", sig, cmd.ProcessState)
		}
	}
}

// TestIgnoredSignals wants nohup to keep a program running.
func TestIgnoredSignals(t *testing.T) {
	cmd := exec.Command("sh", "-c", "trap '' HUP; exec "+os.Args[0])
	cmd.Env = append(os.Environ(), role+"=waits")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.Read(make([]byte, len("ready\n")))
	cmd.Process.Signal(syscall.SIGHUP)
	cmd.Process.Signal(syscall.SIGTERM)
	said := make([]byte, 100)
	n, _ := out.Read(said)
	cmd.Process.Kill()
	cmd.Wait()
	if got := string(said[:n]); !strings.HasPrefix(got, "interrupted") || !cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled() || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("a hang-up that was ignored counts: says %q and ends with %v", got, cmd.ProcessState)
	}
}

// TestAwait returns a function's result, or the cause if that comes first.
func TestAwait(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	slip := errors.New("a slip")
	if n, err := Await(ctx, func() (int, error) { return 7, slip }); n != 7 || err != slip {
		t.Errorf("returns %d, %v", n, err)
	}
	never := make(chan struct{})
	cancel(Error{syscall.SIGTERM})
	_, err := Await(ctx, func() (int, error) { <-never; return 0, nil })
	if e, ok := In(err); !ok || e.ExitCode() != 143 || err.Error() != "interrupted" {
		t.Errorf("returns %v", err)
	}
}
