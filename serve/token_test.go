package serve

import (
	"context"
	"net/http"
	"strings"
	"testing"
)

// TestToken wants the token in each request: in the cookie, or once in the address.
func TestToken(t *testing.T) {
	c := faked(runsCopy(t))
	c.Solve = func(context.Context, string, string, int, bool, func(string)) (*Answer, error) {
		t.Error("a stranger has a trainer work")
		return nil, nil
	}
	server := served(t, c)
	address := withToken(server.URL + "/run?run=successor")
	token := address[strings.LastIndex(address, "=")+1:]
	port := server.URL[strings.LastIndex(server.URL, ":")+1:]
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ask := func(method, path, cookie string) *http.Response {
		r, err := http.NewRequest(method, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if cookie != "" {
			r.Header.Set("Cookie", cookie)
		}
		r.Header.Set("Origin", server.URL)
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer
	}
	for _, path := range []string{"/", "/run?run=successor", "/events", "/style.css", "/script.js", "/stages?run=successor", "/nothing", "/?token=", "/?token=" + token[:42], "/?token=" + token + "A"} {
		for _, cookie := range []string{"", "mlc-" + port + "=", "mlc-" + port + "=" + token[1:], "mlc-1=" + token, "token=" + token} {
			if answer := ask("GET", path, cookie); answer.StatusCode != http.StatusForbidden || len(answer.Cookies()) > 0 {
				t.Errorf("%s with the cookie %q: %d", path, cookie, answer.StatusCode)
			}
		}
	}
	for _, path := range []string{"/solve?run=successor&problem=1", "/solve?run=successor&problem=1&token=" + token, "/attention"} {
		if answer := ask("POST", path, ""); answer.StatusCode != http.StatusForbidden {
			t.Errorf("POST %s: %d", path, answer.StatusCode)
		}
	}
	if answer := ask("GET", "/run?run=successor", "mlc-"+port+"="+token); answer.StatusCode != 200 {
		t.Errorf("with the cookie: %d", answer.StatusCode)
	}
	answer := ask("GET", "/run?run=successor&token="+token, "")
	if len(answer.Cookies()) != 1 {
		t.Fatalf("the address with the token: %d, %d cookies", answer.StatusCode, len(answer.Cookies()))
	}
	if k := answer.Cookies()[0]; k.Name != "mlc-"+port || k.Value != token || !k.HttpOnly || k.SameSite != http.SameSiteStrictMode || k.Path != "/" || k.Domain != "" {
		t.Errorf("the cookie is %+v", k)
	}
	_, text, _ := got(t, "GET", address, nil)
	if strings.Contains(text, token) || !strings.Contains(text, `url=/run?run=successor"`) {
		t.Errorf("the way in is %s", text)
	}
	other, err := New(Config{Folder: c.Folder})
	if err != nil {
		t.Fatal(err)
	}
	if other.token == token || len(other.token) != 43 {
		t.Errorf("the token of another server is %q", other.token)
	}
}
