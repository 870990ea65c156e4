package mlflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/runtime/lock"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
)

var started = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// A fake is a server that records requests.
type fake struct {
	sync.Mutex
	Experiment string
	Params     map[string]string
	Metrics    []string // key=value@step,time
	Statuses   []string
	Runs       int
	auth       string // wanted
	down       bool
	server     *httptest.Server
}

func serve(t *testing.T) *fake {
	f := &fake{Params: map[string]string{}}
	f.server = httptest.NewServer(f)
	t.Cleanup(f.server.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	f.Lock()
	defer f.Unlock()
	refuse := func(status int, code string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error_code": %q, "message": "said the server"}`, code)
	}
	if f.down || q.Header.Get("Authorization") != f.auth {
		refuse(http.StatusUnauthorized, "UNAUTHENTICATED")
		return
	}
	var told struct {
		Name       string `json:"name"`
		Experiment string `json:"experiment_id"`
		Run        string `json:"run_id"`
		RunName    string `json:"run_name"`
		Start      int64  `json:"start_time"`
		End        int64  `json:"end_time"`
		Status     string `json:"status"`
		Params     []pair
		Metrics    []metric
	}
	if q.Method == "POST" {
		if err := json.NewDecoder(q.Body).Decode(&told); err != nil {
			refuse(http.StatusBadRequest, "BAD_REQUEST")
			return
		}
	}
	switch verb := strings.TrimPrefix(q.URL.Path, "/api/2.0/mlflow/"); verb {
	case "experiments/get-by-name":
		if name := q.URL.Query().Get("experiment_name"); f.Experiment == "" || name != f.Experiment {
			refuse(http.StatusNotFound, "RESOURCE_DOES_NOT_EXIST")
			return
		}
		fmt.Fprint(w, `{"experiment": {"experiment_id": "7"}}`)
	case "experiments/create":
		f.Experiment = told.Name
		fmt.Fprint(w, `{"experiment_id": "7"}`)
	case "runs/create":
		f.Runs++
		f.Statuses = append(f.Statuses, fmt.Sprintf("created %s in %s at %d", told.RunName, told.Experiment, told.Start))
		fmt.Fprintf(w, `{"run": {"info": {"run_id": "r%d"}}}`, f.Runs)
	case "runs/log-batch":
		if told.Run != "r1" || len(told.Params) > mostParams || len(told.Metrics) > mostMetrics {
			refuse(http.StatusBadRequest, "INVALID_PARAMETER_VALUE")
			return
		}
		for _, p := range told.Params {
			f.Params[p.Key] = p.Value
		}
		for _, m := range told.Metrics {
			f.Metrics = append(f.Metrics, fmt.Sprintf("%s=%g@%d,%d", m.Key, m.Value, m.Step, m.Timestamp-started.UnixMilli()))
		}
	case "runs/update":
		f.Statuses = append(f.Statuses, fmt.Sprintf("%s %s %d", told.Run, told.Status, max(0, told.End-started.UnixMilli())))
	default:
		refuse(http.StatusNotFound, "ENDPOINT_NOT_FOUND")
	}
}

// named returns the server of a fake, from the environment.
func named(t *testing.T, uri string) *Server {
	t.Helper()
	t.Setenv("MLFLOW_TRACKING_URI", uri)
	s, err := FromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// begin makes a run named x with a budget of steps.
func begin(t *testing.T, steps int) string {
	t.Helper()
	dir := t.TempDir()
	rec := record.Record{Name: "tiny", Started: started, Seed: 7, Training: record.Training{Budget: train.Budget{Steps: steps}}}
	spec := "model {\n  width = 64\n  note = " + strings.Repeat("ä", 600) + "\n}\n"
	if err := errors.Join(rec.Write(dir), os.WriteFile(filepath.Join(dir, record.SpecFile), []byte(spec), 0o644)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// reach writes reports of steps from to to.
func reach(t *testing.T, dir string, from, to int) {
	t.Helper()
	log, _, err := track.Open(dir, from, false)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for step := from + 1; step <= to; step++ {
		if err := log.Write(track.Report{Step: step, Loss: 0.5, Seconds: float64(step)}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRun sends a run during training. The run is interrupted and resumed from an earlier
// step; nothing is sent twice.
func TestRun(t *testing.T) {
	dir, f := begin(t, 4), serve(t)
	server := named(t, f.server.URL+"/")
	send := func(broken bool) {
		t.Helper()
		if err := server.Send(dir, broken); err != nil {
			t.Error(err)
		}
	}
	training, err := lock.Try(dir)
	if err != nil {
		t.Fatal(err)
	}
	reach(t, dir, 0, 1)
	send(false)
	reach(t, dir, 1, 3)
	send(false)
	training.Close()
	send(false)
	send(true) // and later it has failed
	if training, err = lock.Try(dir); err != nil {
		t.Fatal(err)
	}
	reach(t, dir, 2, 4)
	tests, _, err := track.OpenTests(dir, 2)
	if err == nil {
		err = errors.Join(tests.Write(track.Test{Step: 4, Lengths: []track.Length{{Length: 9, ExactMatch: 0.25}}}), tests.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	send(false)
	training.Close()
	send(true)
	send(false)
	if f.Runs != 1 || f.Experiment != "tiny" || f.Params["model.width"] != "64" || f.Params["train.seed"] != "7" || f.Params["model.note"] != strings.Repeat("ä", longest-1)+"…" {
		t.Errorf("%d runs of %q with %v", f.Runs, f.Experiment, f.Params)
	}
	want := []string{fmt.Sprintf("created %s in 7 at %d", filepath.ToSlash(dir), started.UnixMilli()),
		"r1 KILLED 3000", "r1 FAILED 3000", "r1 RUNNING 0", "r1 FINISHED 4000"}
	if diff := cmp.Diff(want, f.Statuses); diff != "" {
		t.Error(diff)
	}
	var metrics []string
	for step := 1; step <= 4; step++ {
		for _, m := range []string{"loss=0.5", "lr=0", "grad_norm=0", "examples=0"} {
			metrics = append(metrics, fmt.Sprintf("%s@%d,%d", m, step, 1000*step))
		}
	}
	if diff := cmp.Diff(append(metrics, "test/exact_match/9=0.25@4,4000"), f.Metrics); diff != "" {
		t.Error(diff)
	}
}

// TestStages sends each stage that has begun as a separate run.
func TestStages(t *testing.T) {
	dir, f := begin(t, 2), serve(t)
	server := named(t, f.server.URL)
	whole := record.Record{Name: "tiny", Started: started, Stages: []*record.Stage{
		{Name: "a", Kind: "training", State: record.StageDone}, {Name: "b", Kind: "calibration"}, {Name: "c", Kind: "training"}}}
	in := filepath.Join(dir, "a")
	of, err := record.Read(dir)
	if err == nil {
		of.Stage = "a"
		err = errors.Join(whole.Write(dir), os.Mkdir(in, 0o755), of.Write(in), os.WriteFile(filepath.Join(in, record.SpecFile), nil, 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	reach(t, in, 0, 1)
	if err := server.Send(dir, true); err != nil {
		t.Fatal(err)
	}
	want := []string{fmt.Sprintf("created %s in 7 at %d", filepath.ToSlash(in), started.UnixMilli()), "r1 FINISHED 1000"}
	if diff := cmp.Diff(want, f.Statuses); diff != "" || len(f.Metrics) != 4 {
		t.Error(diff, f.Metrics)
	}
}

// TestNoServer reports a server that does not exist, one that refuses, one that is not
// MLflow, and one that goes away. The next Send delivers the missing reports.
func TestNoServer(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	refusing := serve(t)
	refusing.auth = "Bearer secret"
	for _, c := range []struct{ name, uri, want string }{
		{"nowhere", "http://127.0.0.1:1", "Get \"http://127.0.0.1:1/"},
		{"refusing", refusing.server.URL, "401 Unauthorized: said the server"},
		{"other", other.URL, "answers 404 Not Found"},
	} {
		if err := named(t, c.uri).Send(begin(t, 1), false); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	f, dir := serve(t), begin(t, 2)
	server := named(t, f.server.URL)
	reach(t, dir, 0, 1)
	first := server.Send(dir, false)
	f.down = true
	reach(t, dir, 1, 2)
	err := server.Send(dir, false)
	f.down = false
	if again := server.Send(dir, false); first != nil || again != nil || err == nil || !strings.Contains(err.Error(), "said the server; 1 reports of "+dir+" were not sent") {
		t.Error(first, err, again)
	}
	if len(f.Metrics) != 8 {
		t.Errorf("the server has %v", f.Metrics)
	}
	if err := server.Send(t.TempDir(), false); err != nil { // a folder without a run
		t.Error(err)
	}
}

// TestEnvironment takes names and passwords from MLflow's variables, and shows no password.
func TestEnvironment(t *testing.T) {
	t.Setenv("MLFLOW_EXPERIMENT_NAME", "mine")
	f, dir := serve(t), begin(t, 2)
	f.auth = "Basic bWU6c2VjcmV0" // me:secret
	reach(t, dir, 0, 1)
	if err := named(t, strings.Replace(f.server.URL, "//", "//me:secret@", 1)).Send(dir, true); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, File))
	if err != nil || strings.Contains(string(text), "secret") || f.Experiment != "mine" || f.Statuses[1] != "r1 FAILED 1000" {
		t.Errorf("%s, %v, %+v", text, err, f.Statuses)
	}
	for _, uri := range []string{"file:./mlruns", "localhost:5000", "databricks", "http://", "ht tp://a:b@c"} {
		t.Setenv("MLFLOW_TRACKING_URI", uri)
		if _, err := FromEnvironment(); err == nil || !strings.Contains(err.Error(), "want the address of a server") {
			t.Errorf("%s: %v", uri, err)
		}
	}
	t.Setenv("MLFLOW_TRACKING_URI", "")
	if s, err := FromEnvironment(); s != nil || err != nil {
		t.Error(s, err)
	}
}

// TestDamaged refuses a damaged record of a run's id.
func TestDamaged(t *testing.T) {
	dir, f := begin(t, 1), serve(t)
	if err := os.WriteFile(filepath.Join(dir, File), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := named(t, f.server.URL).Send(dir, false); err == nil || f.Runs > 0 || !strings.Contains(err.Error(), "mlflow.json is damaged") {
		t.Error(err, f.Runs)
	}
}
