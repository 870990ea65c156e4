package serve

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
)

// TestSaid wants the script told about slow work before it is done, and about functions
// that are not available.
func TestSaid(t *testing.T) {
	dir := runsCopy(t)
	ask := func(t *testing.T, address, path string) (int, string) {
		t.Helper()
		path, form, post := strings.Cut(path, " ")
		headers := []string{"X-Part", "1", "Origin", address}
		if !post {
			status, text, _ := got(t, "GET", address+path, nil, headers...)
			return status, text
		}
		values, err := url.ParseQuery(form)
		if err != nil {
			t.Fatal(err)
		}
		status, text, _ := got(t, "POST", address+path, values, headers...)
		return status, text
	}
	broken := faked(dir)
	failed := errors.New("out of order")
	broken.Solve = func(context.Context, string, string, int, bool, func(string)) (*Answer, error) { return nil, failed }
	broken.Explain = func(context.Context, string) (*Explanation, error) { return nil, failed }
	broken.Shorter = func(context.Context, string) (string, error) { return "", failed }
	broken.Attention = func(context.Context, string, string, int) (*Attention, error) { return nil, failed }
	broken.Biases = func(context.Context, string) ([]Bias, error) { return nil, failed }
	whole, out, bare := served(t, faked(dir)), served(t, broken), served(t, Config{Folder: dir})
	for path, say := range map[string]string{
		"/solve run=successor&problem=12":     "Building the trainer of this run …",
		"/attention run=successor&problem=12": "Reading the attention for this problem …",
		"/biases?run=successor":               "Reading the learned biases …",
		"/explain?run=successor":              "Compiling the spec …",
		"/shorter?run=successor":              "Removing the defaults from the spec …",
	} {
		if _, text := ask(t, whole.URL, path); !strings.HasPrefix(text, `{"say":"`+say+`"}`+"\n"+`{"html":"`) {
			t.Errorf("%s does not begin with %q: %.300s", path, say, text)
		}
		if _, text := ask(t, out.URL, path); !strings.Contains(text, "out of order") {
			t.Errorf("%s does not say that it failed: %.300s", path, text)
		}
		if _, text := ask(t, bare.URL, path); !strings.Contains(text, "This is not available here.") {
			t.Errorf("%s does not say that it is not here: %.300s", path, text)
		}
	}
	// Answers are cached, also for a spec whose short form is not known.
	if _, text := ask(t, whole.URL, "/shorter?run=successor"); !strings.HasPrefix(text, `{"html":"`) {
		t.Errorf("asked again: %.300s", text)
	}
	put(t, dir, "odd/run.json", ofSteps)
	put(t, dir, "odd/spec.arith", "arith 2 // <script>\n")
	for range 2 {
		if _, text := ask(t, whole.URL, "/shorter?run=odd"); !strings.Contains(text, "is not available: the spec is from another version of mlc") {
			t.Errorf("of a spec that nothing is known of: %.300s", text)
		}
	}
}

// TestBadAddresses answers addresses that name no run, a missing run, or too many runs.
func TestBadAddresses(t *testing.T) {
	server := served(t, faked(runsCopy(t)))
	for path, c := range map[string]struct {
		status int
		says   string
	}{
		"/run":                 {400, "which run? The address has no run=…"},
		"/run?run=nobody":      {404, "there is no run nobody below the folder"},
		"/run?run=../x":        {403, ""},
		"/stages":              {400, "which run?"},
		"/stages?run=nobody":   {404, "This run is gone"},
		"/biases":              {400, "which run?"},
		"/shorter?run=nobody":  {404, "This run is gone"},
		"/explain?run=":        {400, "which run?"},
		"/compare":             {400, "which runs? Choose two or more in the list of runs."},
		"/compare?run=a":       {303, ""},
		"/compare?run=a&run=b": {404, "there is no run a below the folder"},
		"/compare?run=a" + strings.Repeat("&run=a", mostCompared):   {400, "these are 41 runs: choose at most 40"},
		"/compare?run=a" + strings.Repeat("&run=a", mostCompared-1): {404, "there is no run a"},
		"/compare?run=successor&run=embeddings/abacus-2":            {200, "2 runs compared"},
		"/nothing":   {404, ""},
		"/style.css": {200, "{"},
	} {
		if status, text, _ := got(t, "GET", server.URL+path, nil); status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%.60s: %d %.300s, want %d with %q", path, status, plain(text), c.status, c.says)
		}
	}
	for path, kind := range map[string]string{"/style.css": "text/css; charset=utf-8", "/script.js": "text/javascript; charset=utf-8", "/icon.svg": "image/svg+xml", "/": "text/html; charset=utf-8"} {
		if _, _, headers := got(t, "GET", server.URL+path, nil); headers.Get("Content-Type") != kind {
			t.Errorf("%s is %s, want %s", path, headers.Get("Content-Type"), kind)
		}
	}
	s := &Server{token: "a+b"}
	if got, want := s.Address("http://127.0.0.1:7177"), "http://127.0.0.1:7177/?token=a%2Bb"; got != want {
		t.Errorf("the address is %s, want %s", got, want)
	}
}
