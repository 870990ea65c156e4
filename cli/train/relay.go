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

// A relay tells a server of the runs of a trainer while that trains. Training does not wait
// for the server, and does not fail because of it.
type relay struct {
	tell func(dir string, broken bool) error // the server of a run
	file string                              // where the trainer says which runs it trains
	say  func(text string)
	said bool // that something is wrong
	over chan bool
	done chan struct{}
}

// How often runs are looked at, how much of the time that may take, and how long the end waits
// for the server.
const (
	relayEvery = 2 * time.Second
	relayShare = 50 // one part in so many
	relayWaits = 10 * time.Second
)

// newRelay begins to look at what a trainer does that is started with its environment; nil: no
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

// startRelay tells a server of runs until the relay's end.
func startRelay(tell func(dir string, broken bool) error, say func(text string)) (*relay, error) {
	f, err := os.CreateTemp("", "mlc-runs-")
	if err != nil {
		return nil, err
	}
	r := &relay{tell: tell, file: f.Name(), say: say, over: make(chan bool, 1), done: make(chan struct{})}
	go r.run()
	return r, f.Close()
}

// environ is the environment of the trainer.
func (r *relay) environ() []string {
	if r == nil {
		return os.Environ()
	}
	return append(os.Environ(), record.TellVariable+"="+r.file)
}

// here is for a trainer that is this process.
func (r *relay) here() {
	if r != nil {
		os.Setenv(record.TellVariable, r.file)
	}
}

// run sends what there is now and then, and once more in the end.
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

// send tells the server of all runs so far. What goes wrong is said once: the next time may be
// better.
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

// end sends the rest, as of a trainer that has ended with an error, and waits for that for some
// seconds.
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
		r.say("MLflow: the server is slow, and not all reports were sent; mlc mlflow sends them")
	}
}

// replaced becomes a trainer that does a verb. One that trains, where a server is named, is run
// to its end, and the server is told of what it trains.
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

// relayOf is newRelay for a trainer that does a verb; nil: it does not train.
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
