package train

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/arithlang/mlc/board"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/mlflow"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/record"
)

// A relay passes the runs of a trainer on to other programs during training. Training does not
// wait for them, and does not fail because of them.
type relay struct {
	file string // the file in which the trainer lists its runs
	say  func(text string)
	to   []*listener
}

// A listener is a program that learns of runs.
type listener struct {
	name string                              // of the program
	verb string                              // of mlc that tells what the program has missed
	tell func(dir string, broken bool) error // passes a run on

	said bool // an error was reported
	over chan bool
	done chan struct{}
}

// How often runs are passed on, the share of the time that it may take, and how long the end
// waits for it.
const (
	relayEvery = 2 * time.Second
	relayShare = 50 // one part in 50
	relayWaits = 10 * time.Second
)

// newRelay starts a relay to TensorBoard's files, and to a server of MLflow if one is named.
func newRelay(say func(text string)) (*relay, error) {
	server, err := mlflow.FromEnvironment()
	if err != nil {
		return nil, shell.Misused(err)
	}
	to := []*listener{{name: "TensorBoard", verb: "tensorboard", tell: board.Write}}
	if server != nil {
		to = append(to, &listener{name: "MLflow", verb: "mlflow", tell: server.Send})
	}
	return startRelay(say, to...)
}

// startRelay passes runs on until the relay's end.
func startRelay(say func(text string), to ...*listener) (*relay, error) {
	f, err := os.CreateTemp("", "mlc-runs-")
	if err != nil {
		return nil, err
	}
	r := &relay{file: f.Name(), say: say, to: to}
	for _, l := range to {
		l.over, l.done = make(chan bool, 1), make(chan struct{})
		go r.run(l)
	}
	return r, f.Close()
}

// environ returns the environment for the trainer.
func (r *relay) environ() []string { return append(os.Environ(), record.TellVariable+"="+r.file) }

// run passes the runs on from time to time, and once more at the end.
func (r *relay) run(l *listener) {
	defer close(l.done)
	for wait := relayEvery; ; {
		select {
		case broken := <-l.over:
			r.pass(l, broken)
			return
		case <-time.After(wait):
		}
		start := time.Now()
		r.pass(l, false)
		wait = max(relayEvery, relayShare*time.Since(start))
	}
}

// pass passes all runs so far on. It reports only the first error, since the next attempt may
// succeed.
func (r *relay) pass(l *listener, broken bool) {
	f, err := os.Open(r.file)
	if err != nil {
		return
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		dir := lines.Text()
		if err := l.tell(dir, broken); err != nil && !l.said {
			l.said = true
			r.say(fmt.Sprintf("%s: %v; training goes on without it. Later, this sends what is missing: %s", l.name, err, flag.Line([]string{"mlc", l.verb, dir})))
		}
	}
}

// end passes the rest on and waits some seconds for it. err is the error of the trainer.
func (r *relay) end(err error) {
	defer os.Remove(r.file)
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		err = shell.ExitOf(exit)
	}
	for _, l := range r.to {
		l.over <- err != nil && !shell.Interrupted(err)
	}
	late := time.After(relayWaits)
	for _, l := range r.to {
		select {
		case <-l.done:
		case <-late:
			r.say(fmt.Sprintf("%s is slow and did not get all reports; send the rest with mlc %s", l.name, l.verb))
			return
		}
	}
}

// replaced runs a trainer that does a verb. If the verb trains, the trainer is a child whose runs
// are passed on; if it tests, a child whose result is. For other verbs this process becomes the
// trainer.
func replaced(sh *shell.Shell, path string, argv []string, verb string, quiet bool) error {
	switch verb {
	case "train":
		r, err := relayOf(sh, quiet)
		if err != nil {
			return err
		}
		sh.Release()
		err = attend(path, argv, r.environ(), os.Stdout)
		r.end(err)
		return err
	case "eval":
		sh.Release()
		return attend(path, argv, os.Environ(), os.Stdout)
	}
	sh.Release()
	return shell.Replace(path, argv, os.Environ())
}

// relayOf is newRelay with messages to a shell, unless quiet.
func relayOf(sh *shell.Shell, quiet bool) (*relay, error) {
	return newRelay(func(text string) {
		if !quiet {
			sh.Say("%s", text)
		}
	})
}
