package serve

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// runsCopy returns a copy of the runs in testdata, which a test may change.
func runsCopy(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "runs")
	if err := os.CopyFS(dir, os.DirFS("testdata/runs")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// put writes a file below a folder.
func put(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// add appends text to a file.
func add(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// reported returns a line of metrics.
func reported(step int, loss float64) string {
	return fmt.Sprintf(`{"step":%d,"examples":%d,"tokens":1,"loss":%g,"lr":0.001,"grad_norm":1,"exact_match":0.5,"seconds":%d,"stage":"train"}`+"\n", step, 128*step, loss, step)
}

// faked returns a configuration with a fake trainer and compiler.
func faked(dir string) Config {
	right := true
	return Config{
		Folder: dir, Version: "0.0.0",
		Solve: func(ctx context.Context, run, problem string, times int, thinking bool, say func(string)) (*Answer, error) {
			say("Building the trainer of this run …")
			switch problem {
			case "wait":
				<-ctx.Done()
				return nil, ctx.Err()
			case "bad":
				return nil, fmt.Errorf("%q is <b>no</b> problem", problem)
			}
			if problem == "12+34" {
				wrong := false
				a := &Answer{Problem: problem, Answer: "34", Expected: "46", Right: &wrong, Settled: 2}
				if thinking { // the last digit first
					a.After = [][]Token{{{"6", true}, {"3", false}}, {{"4", false}, {"3", false}}}
				}
				return a, nil
			}
			a := &Answer{Problem: problem, Answer: "579", Expected: "579", Right: &right, Settled: 2}
			if thinking {
				a.After = [][]Token{{{"9", true}, {"1", false}, {"5", true}}, {{"9", true}, {"7", true}, {"5", true}}}
			}
			return a, nil
		},
		Explain: func(context.Context, string) (*Explanation, error) {
			return &Explanation{
				Lines:   []SpecLine{{Text: "arith 2"}, {Text: "model looped { // <script>hacked = 1</script>", Kernels: []int{0}}},
				Kernels: []Kernel{{Name: "matmul_0 (matmul)", Text: "kernel\n", Values: 1}},
				Page:    []byte("<!DOCTYPE html><title>stages</title><style>b { color: red }</style><b>stages</b><script>document.title = 'ran'</script>"),
			}, nil
		},
		Shorter: func(_ context.Context, spec string) (string, error) {
			if strings.Contains(spec, "<script>") {
				return "", nil
			}
			return "arith 2 // and <b>more</b>\n", nil
		},
		Attention: func(_ context.Context, _, problem string, _ int) (*Attention, error) {
			tokens := strings.Split(problem, "")
			m := make([][]float64, len(tokens))
			for i := range m {
				m[i] = make([]float64, len(tokens))
				m[i][i/2] = 1
			}
			return &Attention{Answer: "<13>", Expected: "13", Rows: tokens, Cols: tokens, Maps: []Map{{Name: "decoder.0.self", Values: m}, {Name: "decoder.0.self", Head: 1, Values: m}}}, nil
		},
		Biases: func(context.Context, string) ([]Bias, error) {
			return []Bias{
				{Name: "decoder.0.self", Kind: "curve", X: []float64{0, 1, 2}, Values: [][]float64{{0, -1, -2}}},
				{Name: "decoder.0.self", Head: 1, Kind: "curve", X: []float64{0, 1, 2}, Values: [][]float64{{0, -2, -4}}},
				{Name: "decoder.0.cross", Kind: "map", Values: [][]float64{{0, -1}, {1, 0}}},
			}, nil
		},
	}
}

// served starts a server.
func served(t testing.TB, c Config) *httptest.Server {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	// Streams end with the server.
	ctx, cancel := context.WithCancel(context.Background())
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		both, end := context.WithCancel(r.Context())
		defer end()
		defer context.AfterFunc(ctx, end)()
		s.ServeHTTP(w, r.WithContext(both))
	}))
	server.Start()
	tokens.Store(strings.TrimPrefix(server.URL, "http://"), s.token)
	t.Cleanup(func() { cancel(); server.CloseClientConnections(); server.Close() })
	return server
}

// tokens holds the tokens of servers, by host and port.
var tokens sync.Map

// withToken adds the token of its server to an address.
func withToken(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	token, known := tokens.Load(u.Host)
	if !known {
		return address
	}
	query := u.Query()
	query.Set(tokenName, token.(string))
	u.RawQuery = query.Encode()
	return u.String()
}

// letIn gives a request the cookie with the token of its server.
func letIn(r *http.Request) {
	if token, known := tokens.Load(r.URL.Host); known {
		r.AddCookie(&http.Cookie{Name: "mlc-" + r.URL.Port(), Value: token.(string)})
	}
}

// got sends a request with the token. headers are pairs of a name and a value.
func got(t testing.TB, method, address string, form url.Values, headers ...string) (int, string, http.Header) {
	t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequest(method, address, body)
	if err != nil {
		t.Fatal(err)
	}
	letIn(r)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text), answer.Header
}
