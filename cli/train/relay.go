package train

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/mlflow"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/record"
)

// A relay sends the runs of a trainer to a server during training. Training does not wait
// for the server, and does not fail because of it.
type relay struct {
	tell func(dir string, broken bool) error // sends a run to the server
	file string                              // the file in which the trainer lists its runs
	say  func(text string)
	said bool // an error was reported
	over chan bool
	done chan struct{}
}

// How often runs are sent, the share of the time that sending may take, and how long the
// end waits for the server.
const (
	relayEvery = 2 * time.Second
	relayShare = 50 // one part in 50
	relayWaits = 10 * time.Second
)

// newRelay starts a relay for a trainer that gets its environment. It returns nil if no
// server is named.
func newRelay(say func(text string)) (*relay, error) {
	server, err := mlflow.FromEnvironment()
	if err != nil {
		return nil, shell.Misused(err)
	}
	if server == nil {
		return nil, nil
	}
	return startRelay(server.Send, say)
}

// startRelay sends runs until the relay's end.
func startRelay(tell func(dir string, broken bool) error, say func(text string)) (*relay, error) {
	f, err := os.CreateTemp("", "mlc-runs-")
	if err != nil {
		return nil, err
	}
	r := &relay{tell: tell, file: f.Name(), say: say, over: make(chan bool, 1), done: make(chan struct{})}
	go r.run()
	return r, f.Close()
}

// environ returns the environment for the trainer.
func (r *relay) environ() []string {
	if r == nil {
		return os.Environ()
	}
	return append(os.Environ(), record.TellVariable+"="+r.file)
}

// here prepares this process as the trainer.
func (r *relay) here() {
	if r != nil {
		os.Setenv(record.TellVariable, r.file)
	}
}

// run sends the runs from time to time, and once more at the end.
func (r *relay) run() {
	defer close(r.done)
	for wait := relayEvery; ; {
		select {
		case broken := <-r.over:
			r.send(broken)
			return
		case <-time.After(wait):
		}
		start := time.Now()
		r.send(false)
		wait = max(relayEvery, relayShare*time.Since(start))
	}
}

// send sends all runs so far. It reports only the first error, since the next attempt may
// succeed.
func (r *relay) send(broken bool) {
	f, err := os.Open(r.file)
	if err != nil {
		return
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		dir := lines.Text()
		if err := r.tell(dir, broken); err != nil && !r.said {
			r.said = true
			r.say(fmt.Sprintf("MLflow: %v; training goes on without it. Later, this sends what is missing: %s", err, flag.Line([]string{"mlc", "mlflow", dir})))
		}
	}
}

// end sends the rest and waits some seconds for it. err is the error of the trainer.
func (r *relay) end(err error) {
	if r == nil {
		return
	}
	defer os.Remove(r.file)
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		err = shell.ExitOf(exit)
	}
	r.over <- err != nil && !shell.Interrupted(err)
	select {
	case <-r.done:
	case <-time.After(relayWaits):
		r.say("MLflow: the server is slow and did not get all reports; send the rest with mlc mlflow")
	}
}

// replaced becomes a trainer that does a verb. If the verb trains and a server is named, it
// runs the trainer as a child and sends its runs to the server.
func replaced(sh *shell.Shell, path string, argv []string, verb string, quiet bool) error {
	r, err := relayOf(sh, verb, quiet)
	if err != nil {
		return err
	}
	sh.Release()
	if r == nil {
		return shell.Replace(path, argv, os.Environ())
	}
	err = attend(path, argv, r.environ(), os.Stdout)
	r.end(err)
	return err
}

// relayOf is newRelay for a verb. It returns nil if the verb does not train.
func relayOf(sh *shell.Shell, verb string, quiet bool) (*relay, error) {
	if verb != "train" {
		return nil, nil
	}
	return newRelay(func(text string) {
		if !quiet {
			sh.Say("%s", text)
		}
	})
}
