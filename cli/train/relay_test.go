package train

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arithlang/mlc/cli/shell"
)

// TestRelayWhileTraining sends each run every two seconds during training, and once more at
// the end, so a long run can be watched from its beginning.
func TestRelayWhileTraining(t *testing.T) {
	for _, c := range []struct {
		name  string
		slow  time.Duration // the server's time for an answer
		after time.Duration // the trainer's time
		end   error
		want  []string
	}{
		{"a quick server", 0, 7 * time.Second, nil, []string{"a at 2s", "b at 2s", "a at 4s", "b at 4s", "a at 6s", "b at 6s", "a at 7s", "b at 7s"}},
		{"a short training", 0, time.Second, nil, []string{"a at 1s", "b at 1s"}},
		{"a broken training", 0, 3 * time.Second, errors.New("no room"), []string{"a at 2s", "b at 2s", "a at 3s, broken", "b at 3s, broken"}},
		{"one that Ctrl-C ended", 0, time.Second, shell.ExitStatus(130), []string{"a at 1s", "b at 1s"}},
		// A server that takes a second for two runs is asked again after fifty seconds.
		{"a slow server", time.Second / 2, 60 * time.Second, nil, []string{"a at 2s", "b at 2.5s", "a at 53s", "b at 53.5s", "a at 1m0s", "b at 1m0.5s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var told []string
				r, err := startRelay(func(text string) { t.Error(text) }, &listener{tell: func(dir string, broken bool) error {
					how := fmt.Sprintf("%s at %v", dir, time.Since(start))
					if broken {
						how += ", broken"
					}
					told = append(told, how)
					time.Sleep(c.slow)
					return nil
				}})
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(r.file, []byte("a\nb\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				time.Sleep(c.after)
				r.end(c.end)
				if !slices.Equal(told, c.want) {
					t.Errorf("told of %q\nwant    %q", told, c.want)
				}
				if _, err := os.Stat(r.file); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the list of runs is left: %v", err)
				}
			})
		})
	}
}

// TestRelaySays passes messages of the relay to the shell, unless it is to be quiet.
func TestRelaySays(t *testing.T) {
	for quiet, want := range map[bool]string{false: "no room\n", true: ""} {
		var said strings.Builder
		r, err := relayOf(&shell.Shell{Err: &said}, quiet)
		if err != nil {
			t.Fatal(err)
		}
		r.say("no room")
		if r.end(nil); said.String() != want {
			t.Errorf("quiet is %v: said %q, want %q", quiet, said.String(), want)
		}
	}
}

// TestRelayOfABadServer reports a failing server once, and does not wait forever for one
// that does not answer.
func TestRelayOfABadServer(t *testing.T) {
	for _, c := range []struct {
		name string
		tell func() error
		want string
		wait time.Duration // at the end
	}{
		{"it refuses", func() error { return errors.New("no") }, "MLflow: no; training goes on without it. Later, this sends what is missing: mlc mlflow a", 0},
		{"it hangs", func() error { time.Sleep(time.Hour); return nil }, "MLflow is slow and did not get all reports; send the rest with mlc mlflow", 10 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var said []string
				r, err := startRelay(func(text string) { said = append(said, text) },
					&listener{name: "MLflow", verb: "mlflow", tell: func(string, bool) error { return c.tell() }})
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(r.file, []byte("a\nb\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				time.Sleep(9 * time.Second)
				start := time.Now()
				r.end(nil)
				if got := time.Since(start); got != c.wait {
					t.Errorf("the end takes %v, want %v", got, c.wait)
				}
				if got := strings.Join(said, "\n"); got != c.want {
					t.Errorf("said\n%s\nwant\n%s", got, c.want)
				}
				time.Sleep(3 * time.Hour) // beyond the end of the test
			})
		})
	}
}
