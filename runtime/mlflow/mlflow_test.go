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

	"github.com/arithlang/mlc/runtime/track"
)

var started = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// A fake is a server that keeps what it is told.
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

// run is a run in dir that is told to a server, and what is said of it.
func run(t *testing.T, dir, uri string) (*Run, *strings.Builder) {
	t.Helper()
	t.Setenv("MLFLOW_TRACKING_URI", uri)
	server, err := FromEnvironment("tiny")
	if err != nil {
		t.Fatal(err)
	}
	said := new(strings.Builder)
	return &Run{Server: *server, Dir: dir, Name: "runs/x", Started: started, Params: map[string]string{"model.width": "64", "note": strings.Repeat("ä", 600)},
		Say: func(format string, args ...any) { fmt.Fprintf(said, format, args...) }}, said
}

// TestRun is a run that is interrupted and goes on under the same name.
func TestRun(t *testing.T) {
	dir, f := t.TempDir(), serve(t)
	var kept []track.Point
	for _, last := range []int{2, 3} {
		r, said := run(t, dir, f.server.URL+"/")
		if err := r.Begin(kept); err != nil {
			t.Fatal(err)
		}
		for step := len(kept) + 1; step <= last; step++ {
			report := track.Report{Step: step, Loss: 0.5, Seconds: float64(step)}.Point()
			r.Report(report)
			kept = append(kept, report)
		}
		r.End(float64(last), last == 3, nil)
		if said.Len() > 0 {
			t.Errorf("said %s", said)
		}
	}
	if f.Runs != 1 || f.Experiment != "tiny" || f.Params["model.width"] != "64" || f.Params["note"] != strings.Repeat("ä", longest-1)+"…" {
		t.Errorf("%d runs of %q with %v", f.Runs, f.Experiment, f.Params)
	}
	want := []string{fmt.Sprintf("created runs/x in 7 at %d", started.UnixMilli()), "r1 KILLED 2000", "r1 RUNNING 0", "r1 FINISHED 3000"}
	if diff := cmp.Diff(want, f.Statuses); diff != "" {
		t.Error(diff)
	}
	var metrics []string
	for step := 1; step <= 3; step++ {
		for _, m := range []string{"loss=0.5", "lr=0", "grad_norm=0", "examples=0"} {
			metrics = append(metrics, fmt.Sprintf("%s@%d,%d", m, step, 1000*step))
		}
	}
	if diff := cmp.Diff(metrics, f.Metrics); diff != "" {
		t.Error(diff)
	}
}

// TestNoServer trains on without a server: one that is not there, one that refuses, one
// that is none, and one that goes away; and says so once.
func TestNoServer(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	gone, refusing := serve(t), serve(t)
	refusing.auth = "Bearer secret"
	for _, c := range []struct {
		name, uri, want string
		during          func()
	}{
		{"nowhere", "http://127.0.0.1:1", "MLflow: Get \"http://127.0.0.1:1/", nil},
		{"refusing", refusing.server.URL, "401 Unauthorized: said the server; training goes on without it", nil},
		{"other", other.URL, "answers 404 Not Found; training goes on without it", nil},
		{"gone", gone.server.URL, "said the server; 1 reports were not sent (metrics.jsonl has all)", func() {
			gone.Lock()
			defer gone.Unlock()
			gone.down = true
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, said := run(t, t.TempDir(), c.uri)
			if err := r.Begin(nil); err != nil {
				t.Error(err)
			}
			if c.during != nil {
				c.during()
			}
			if err := errors.Join(r.Report(track.Report{Step: 1}.Point()), r.End(1, true, nil)); err != nil {
				t.Error(err)
			}
			if got := said.String(); !strings.Contains(got, c.want) || strings.Count(got, "\n") != 1 {
				t.Errorf("said %q, want %q", got, c.want)
			}
		})
	}
}

// TestEnvironment takes names and passwords from where MLflow has them, and keeps
// passwords to itself.
func TestEnvironment(t *testing.T) {
	t.Setenv("MLFLOW_EXPERIMENT_NAME", "mine")
	f := serve(t)
	f.auth = "Basic bWU6c2VjcmV0" // me:secret
	dir := t.TempDir()
	r, said := run(t, dir, strings.Replace(f.server.URL, "//", "//me:secret@", 1))
	if err := errors.Join(r.Begin(nil), r.End(1, false, errors.New("no memory"))); err != nil || said.Len() > 0 {
		t.Fatal(err, said)
	}
	text, err := os.ReadFile(filepath.Join(dir, File))
	if err != nil || strings.Contains(string(text), "secret") || f.Experiment != "mine" || f.Statuses[1] != "r1 FAILED 1000" {
		t.Errorf("%s, %v, %+v", text, err, f.Statuses)
	}
	for _, uri := range []string{"file:./mlruns", "localhost:5000", "databricks", "http://", "ht tp://a:b@c"} {
		t.Setenv("MLFLOW_TRACKING_URI", uri)
		if _, err := FromEnvironment("x"); err == nil || !strings.Contains(err.Error(), "want the address of a server") {
			t.Errorf("%s: %v", uri, err)
		}
	}
	t.Setenv("MLFLOW_TRACKING_URI", "")
	if s, err := FromEnvironment("x"); s != nil || err != nil {
		t.Error(s, err)
	}
}

// TestDamaged does not take a damaged name for one of a run.
func TestDamaged(t *testing.T) {
	dir, f := t.TempDir(), serve(t)
	if err := os.WriteFile(filepath.Join(dir, File), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, said := run(t, dir, f.server.URL)
	if err := r.Begin(nil); err != nil || f.Runs > 0 || !strings.Contains(said.String(), "mlflow.json is damaged") {
		t.Error(err, f.Runs, said)
	}
}
