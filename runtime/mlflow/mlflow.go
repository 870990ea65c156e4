// Package mlflow tells an MLflow tracking server of a run: its settings as parameters, its
// reports as metrics, by the REST interface, version 2.0. Training never waits for the
// server and never fails because of it. Package runtime/track, whose reports these are,
// comes before it; package runtime calls it.
package mlflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/track"
)

// File is where a run directory keeps the server's name of the run, so that a resumed
// one goes on there.
const File = "mlflow.json"

// A Server is where runs are told of, and who asks.
type Server struct {
	URI        string // http:// or https://
	Experiment string
	Token      string // of a bearer, or:
	User       string
	Password   string
}

// FromEnvironment is the server that MLflow's own variables name, nil if none does. The
// experiment is MLFLOW_EXPERIMENT_NAME, or the one that is given.
func FromEnvironment(experiment string) (*Server, error) {
	uri := os.Getenv("MLFLOW_TRACKING_URI")
	if uri == "" {
		return nil, nil
	}
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("MLFLOW_TRACKING_URI is %q: want the address of a server, such as http://localhost:5000; for a folder, start mlflow server on it, or unset the variable", redacted(uri, u))
	}
	if name := os.Getenv("MLFLOW_EXPERIMENT_NAME"); name != "" {
		experiment = name
	}
	s := &Server{Experiment: experiment, Token: os.Getenv("MLFLOW_TRACKING_TOKEN"), User: os.Getenv("MLFLOW_TRACKING_USERNAME"), Password: os.Getenv("MLFLOW_TRACKING_PASSWORD")}
	if u.User != nil { // which no file and no message is to have
		s.User = u.User.Username()
		s.Password, _ = u.User.Password()
		u.User = nil
	}
	s.URI = strings.TrimSuffix(u.String(), "/")
	return s, nil
}

// redacted is an address without its password.
func redacted(uri string, u *url.URL) string {
	if u == nil {
		return uri
	}
	return u.Redacted()
}

// A Run is one in training.
type Run struct {
	Server
	Dir     string // the run directory
	Name    string
	Params  map[string]string
	Tags    map[string]string
	Started time.Time
	Say     func(format string, args ...any) // tells the person who waits

	client client
	id     string
	queue  chan track.Point
	sent   chan struct{} // closed when the queue is
	failed error         // the first failure of sending
	lost   int           // reports that were not sent
}

// known is mlflow.json.
type known struct {
	URI string `json:"uri"`
	ID  string `json:"run_id"`
}

// waiting is how many reports may wait for the server; those beyond are not sent.
const waiting = 4096

// Begin makes the run on the server, or goes on with it, and begins to send. A server that
// does not answer is said, and training goes on without it.
func (r *Run) Begin(kept []track.Point) error {
	r.client = newClient(r.Server)
	if err := r.open(len(kept) > 0); err != nil {
		r.Say("MLflow: %v; training goes on without it\n", err)
		return nil
	}
	r.queue, r.sent = make(chan track.Point, waiting), make(chan struct{})
	go r.send()
	return nil
}

// open finds the run's name on the server, or gives it one.
func (r *Run) open(resumed bool) error {
	path := filepath.Join(r.Dir, File)
	text, err := damage.At(path).Read()
	var k known
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case json.Unmarshal(text, &k) != nil || k.ID == "":
		return fmt.Errorf("%s is damaged: remove it to begin a new run on the server", path)
	case k.URI == r.URI:
		r.id = k.ID
		return r.client.update(r.id, "RUNNING", time.Time{})
	}
	experiment, err := r.client.experiment(r.Experiment)
	if err != nil {
		return err
	}
	if r.id, err = r.client.create(experiment, r.Name, r.Started, r.Tags); err != nil {
		return err
	}
	if err := r.client.params(r.id, r.Params); err != nil {
		return err
	}
	if text, err = json.Marshal(known{r.URI, r.id}); err != nil {
		return fmt.Errorf("BUG: %w", err)
	}
	return ckpt.WriteFile(path, append(text, '\n'))
}

// send sends what is in the queue, all that is there at a time.
func (r *Run) send() {
	defer close(r.sent)
	for first := range r.queue {
		all := []track.Point{first}
		for more, n := true, len(first.Numbers); more && n < mostMetrics/2; {
			select {
			case next, open := <-r.queue:
				if more = open; open {
					all, n = append(all, next), n+len(next.Numbers)
				}
			default:
				more = false
			}
		}
		if err := r.client.metrics(r.id, r.Started, all); err != nil {
			r.lost += len(all)
			r.failed = err
		}
	}
}

// Report sends a report or a test, in its time.
func (r *Run) Report(p track.Point) error {
	if r.queue == nil {
		return nil
	}
	select {
	case r.queue <- p:
	default: // the server is slower than training
	}
	return nil
}

// End waits until all is sent, for a few seconds, and says how the run has ended.
func (r *Run) End(seconds float64, done bool, failed error) error {
	if r.queue == nil {
		return nil
	}
	close(r.queue)
	select {
	case <-r.sent:
	case <-time.After(patience):
		r.Say("MLflow: the server is slow; not all reports were sent\n")
		return nil
	}
	status := "KILLED" // MLflow's word for an interrupt
	switch {
	case failed != nil:
		status = "FAILED"
	case done:
		status = "FINISHED"
	}
	err := r.failed
	if err == nil {
		err = r.client.update(r.id, status, r.Started.Add(time.Duration(seconds*float64(time.Second))))
	}
	if err != nil {
		r.Say("MLflow: %v; %d reports were not sent (metrics.jsonl has all)\n", err, r.lost)
	}
	return nil
}

// sorted are the keys of a map in order.
func sorted(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
