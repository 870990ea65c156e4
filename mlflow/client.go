package mlflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/arithlang/mlc/plot/list"
)

// Limits of the interface for one request, and of the wait for an answer.
const (
	mostMetrics = 1000
	mostParams  = 100
	longest     = 500 // characters of a parameter; older servers take no more
	patience    = 10 * time.Second
)

// A client sends requests to a server.
type client struct {
	Server
	http *http.Client
}

func newClient(s Server) client { return client{s, &http.Client{Timeout: patience}} }

// pair is a parameter or a tag.
type pair struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// metric is a number at a step.
type metric struct {
	Key       string  `json:"key"`
	Value     float64 `json:"value"`
	Timestamp int64   `json:"timestamp"` // milliseconds since 1970
	Step      int     `json:"step"`
}

// experiment returns the id of an experiment, and creates the experiment if it does not
// exist.
func (c client) experiment(name string) (string, error) {
	var found struct {
		Experiment struct {
			ID string `json:"experiment_id"`
		} `json:"experiment"`
	}
	err := c.ask("GET", "experiments/get-by-name?experiment_name="+url.QueryEscape(name), nil, &found)
	if missing(err) {
		var made struct {
			ID string `json:"experiment_id"`
		}
		err = c.ask("POST", "experiments/create", map[string]string{"name": name}, &made)
		return made.ID, err
	}
	return found.Experiment.ID, err
}

// create makes a run.
func (c client) create(experiment, name string, started time.Time, tags map[string]string) (string, error) {
	request := map[string]any{"experiment_id": experiment, "run_name": name, "start_time": started.UnixMilli(), "tags": pairs(tags)}
	var made struct {
		Run struct {
			Info struct {
				ID string `json:"run_id"`
			} `json:"info"`
		} `json:"run"`
	}
	err := c.ask("POST", "runs/create", request, &made)
	if err == nil && made.Run.Info.ID == "" {
		err = fmt.Errorf("%s does not answer as MLflow does", c.URI)
	}
	return made.Run.Info.ID, err
}

// params sets parameters of a run.
func (c client) params(run string, params map[string]string) error {
	all := pairs(params)
	for len(all) > 0 {
		n := min(len(all), mostParams)
		if err := c.ask("POST", "runs/log-batch", map[string]any{"run_id": run, "params": all[:n]}, nil); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

// metrics sends the numbers of points.
func (c client) metrics(run string, started time.Time, points []list.Point) error {
	var all []metric
	for _, p := range points {
		at := started.Add(time.Duration(p.Seconds * float64(time.Second))).UnixMilli()
		for _, n := range p.Numbers {
			all = append(all, metric{n.Name, n.Value, at, p.Step})
		}
	}
	for part := range slices.Chunk(all, mostMetrics) {
		if err := c.ask("POST", "runs/log-batch", map[string]any{"run_id": run, "metrics": part}, nil); err != nil {
			return err
		}
	}
	return nil
}

// update sets the status of a run, and the time of its end unless end is zero.
func (c client) update(run, status string, end time.Time) error {
	request := map[string]any{"run_id": run, "status": status}
	if !end.IsZero() {
		request["end_time"] = end.UnixMilli()
	}
	return c.ask("POST", "runs/update", request, nil)
}

func pairs(m map[string]string) []pair {
	all := []pair{}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		value := m[key]
		if r := []rune(value); len(r) > longest {
			value = string(r[:longest-1]) + "…"
		}
		all = append(all, pair{key, value})
	}
	return all
}

// A refusal is an error that the server answers with.
type refusal struct {
	Code    string `json:"error_code"`
	Message string `json:"message"`
	status  string
	uri     string
}

func (r *refusal) Error() string {
	if r.Message == "" {
		return fmt.Sprintf("%s answers %s", r.uri, r.status)
	}
	return fmt.Sprintf("%s answers %s: %s", r.uri, r.status, r.Message)
}

// missing reports whether the server does not have the thing asked for.
func missing(err error) bool {
	r, ok := err.(*refusal)
	return ok && r.Code == "RESOURCE_DOES_NOT_EXIST"
}

// ask sends a request and decodes the answer into answer, unless that is nil.
func (c client) ask(method, path string, request, answer any) error {
	var body io.Reader
	if request != nil {
		text, err := json.Marshal(request)
		if err != nil {
			return fmt.Errorf("BUG: %w", err)
		}
		body = bytes.NewReader(text)
	}
	q, err := http.NewRequest(method, c.URI+"/api/2.0/mlflow/"+path, body)
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/json")
	switch {
	case c.Token != "":
		q.Header.Set("Authorization", "Bearer "+c.Token)
	case c.User != "":
		q.SetBasicAuth(c.User, c.Password)
	}
	got, err := c.http.Do(q)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	const most = 1 << 20
	text, err := io.ReadAll(io.LimitReader(got.Body, most))
	if err != nil {
		return err
	}
	if got.StatusCode != http.StatusOK {
		r := &refusal{status: got.Status, uri: c.URI}
		json.Unmarshal(text, r) // an answer that is not JSON has no message
		return r
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("%s does not answer as MLflow does: %v", c.URI, err)
	}
	return nil
}
