package serve

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/arithlang/mlc/runtime/damage"
)

// policy allows pages to load only files from this server.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// A Server shows the runs below a folder to browsers on this machine. It writes nothing.
type Server struct {
	config Config
	folder *folder
	mux    *http.ServeMux
	busy   chan struct{} // full while a trainer or the compiler works
	token  string        // requests must carry it
	short  sync.Map      // specs without their defaults, by whole spec
}

// New returns a server of a folder. It returns an error if the folder does not exist.
func New(c Config) (*Server, error) {
	f, err := openFolder(c.Folder)
	if err != nil {
		return nil, err
	}
	if c.Limit == 0 {
		c.Limit = 5 * time.Minute
	}
	s := &Server{config: c, folder: f, mux: http.NewServeMux(), busy: make(chan struct{}, 1), token: newToken()}
	for pattern, handle := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /{$}":        s.list,
		"GET /run":        s.run,
		"GET /compare":    s.compare,
		"GET /events":     s.events,
		"GET /stages":     s.stages,
		"GET /explain":    s.explain,
		"GET /biases":     s.biases,
		"GET /shorter":    s.shorter,
		"POST /solve":     s.solve,
		"POST /attention": s.attention,
		"GET /style.css":  static("style.css", "text/css; charset=utf-8"),
		"GET /script.js":  static("script.js", "text/javascript; charset=utf-8"),
		"GET /icon.svg":   static("icon.svg", "image/svg+xml"),
	} {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := handle(w, r); err != nil {
				s.fail(w, r, err)
			}
		})
	}
	return s, nil
}

func static(name, kind string) func(http.ResponseWriter, *http.Request) error {
	text := asset(name)
	return func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Type", kind)
		_, err := w.Write([]byte(text))
		return err
	}
}

// ServeHTTP refuses requests for any host name except this machine's local ones: another
// site may have pointed its name here. It also refuses requests without the token, since
// other users of this machine can reach the server.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if why := foreign(r); why != "" {
		http.Error(w, why, http.StatusForbidden)
		return
	}
	if s.enters(w, r) {
		return
	}
	if !s.known(r) {
		http.Error(w, stranger, http.StatusForbidden)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// foreign returns why a request is refused, or "".
func foreign(r *http.Request) string {
	address, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if address == nil {
		return "the server does not know its address"
	}
	_, port, _ := net.SplitHostPort(address.String())
	if !ours(r.Host, port) {
		return "this server answers only at localhost: use the address that mlc serve has printed"
	}
	origin := r.Header.Get("Origin")
	switch {
	case origin == "" && r.Method != http.MethodPost:
	case !ours(strings.TrimPrefix(origin, "http://"), port) || !strings.HasPrefix(origin, "http://"):
		return "this request comes from a page of another site"
	}
	switch r.Header.Get("Sec-Fetch-Site") { // another port of this machine is same-site
	case "cross-site", "same-site":
		if r.Header.Get("Sec-Fetch-Mode") != "navigate" {
			return "this request comes from a page of another site"
		}
	}
	return ""
}

// ours reports whether host is a local name of this machine with the given port.
func ours(host, port string) bool {
	name, p, err := net.SplitHostPort(host)
	if err != nil {
		name, p = strings.Trim(host, "[]"), "80"
	}
	return p == port && (name == "localhost" || name == "127.0.0.1" || name == "::1")
}

// problem is an error in a request, with its HTTP status.
type problem struct {
	status int
	text   string
}

func (p problem) Error() string { return p.text }

// gone is the error for a run that does not exist, or no longer.
type gone string

func (g gone) Error() string {
	return fmt.Sprintf("This run is gone: there is no run %s below the folder. It was deleted or moved.", string(g))
}

// fail answers with an error: as a page, or as a part for the script.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, text := http.StatusInternalServerError, err.Error()
	var p problem
	var g gone
	switch {
	case r.Context().Err() != nil:
		return
	case errors.As(err, &p):
		status = p.status
	case errors.Is(err, errOutside):
		status = http.StatusForbidden
	case errors.As(err, &g):
		status = http.StatusNotFound
	}
	if isPart(r) {
		s.failPart(w, text)
		return
	}
	body, bug := render("error", text)
	if bug != nil {
		http.Error(w, text, status)
		return
	}
	s.write(w, status, page{Title: http.StatusText(status), Body: body})
}

func (s *Server) write(w http.ResponseWriter, status int, p page) error {
	p.Folder, p.Version = shownPath(s.folder.path), s.config.Version
	text, err := render("layout", p)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, err = w.Write([]byte(text))
	return err
}

// view reads the run that a request names.
func (s *Server) view(r *http.Request) (*view, string, error) {
	name := r.FormValue("run")
	if name == "" {
		return nil, "", problem{http.StatusBadRequest, "which run? The address has no run=…"}
	}
	v, err := s.open(name)
	return v, name, err
}

func (s *Server) open(name string) (*view, error) {
	var v *view
	err := s.folder.run(name, func(dir damage.Path) { v = load(dir, &s.config) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil, gone(name)
	}
	if err != nil {
		return nil, err
	}
	v.Key = name
	return v, nil
}

// mostSeeds is the largest number of runs with other seeds that are read.
const mostSeeds = 30

// withSeeds reads the runs that differ from v only in the seed.
func (s *Server) withSeeds(v *view) error {
	rows, err := s.folder.runs()
	if err != nil {
		return err
	}
	for i, other := range siblings(v.Run, rows) {
		if i == mostSeeds {
			break
		}
		if o, err := s.open(other.Dir); err == nil {
			v.Seeds = append(v.Seeds, o)
		}
	}
	return nil
}

func (s *Server) run(w http.ResponseWriter, r *http.Request) error {
	v, name, err := s.view(r)
	if err != nil {
		return err
	}
	if err := s.withSeeds(v); err != nil {
		return err
	}
	body, err := v.page()
	if err != nil {
		return err
	}
	return s.write(w, http.StatusOK, page{Title: v.Title(), Place: name, Live: "/events?run=" + url.QueryEscape(name), Body: body})
}

// mostCompared is the largest number of runs in a comparison.
const mostCompared = 40

func (s *Server) compare(w http.ResponseWriter, r *http.Request) error {
	names := r.URL.Query()["run"]
	switch {
	case len(names) == 1:
		http.Redirect(w, r, "/run?run="+url.QueryEscape(names[0]), http.StatusSeeOther)
		return nil
	case len(names) == 0:
		return problem{http.StatusBadRequest, "which runs? Choose two or more in the list of runs."}
	case len(names) > mostCompared:
		return problem{http.StatusBadRequest, fmt.Sprintf("these are %d runs: choose at most %d", len(names), mostCompared)}
	}
	var runs []*view
	for _, name := range names {
		v, err := s.open(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		runs = append(runs, v)
	}
	body, err := render("compare", comparePage{compare(runs, r.URL.Query().Has("each"), &s.config), r.URL.Query()})
	if err != nil {
		return err
	}
	return s.write(w, http.StatusOK, page{Title: fmt.Sprintf("%d runs compared", len(runs)), Place: "comparison", Body: body})
}

var inlineParts = regexp.MustCompile(`(?s)<(style|script)>(.*?)</(?:style|script)>`)

// policyOf allows exactly the styles and scripts within a page.
func policyOf(html string) string {
	allowed := map[string]string{}
	for _, m := range inlineParts.FindAllStringSubmatch(html, -1) {
		sum := sha256.Sum256([]byte(m[2]))
		allowed[m[1]] += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	policy := "default-src 'none'; base-uri 'none'; form-action 'none'"
	for _, kind := range []string{"style", "script"} {
		if allowed[kind] != "" {
			policy += "; " + kind + "-src" + allowed[kind]
		}
	}
	return policy
}

// stages answers with the page of every stage of a run's compilation.
func (s *Server) stages(w http.ResponseWriter, r *http.Request) error {
	v, _, err := s.view(r)
	if err != nil {
		return err
	}
	if s.config.Explain == nil {
		return errNotHere
	}
	ctx, done, err := s.turn(r.Context(), func(string) {})
	if err != nil {
		return err
	}
	defer done()
	e, err := s.config.Explain(ctx, v.Dir)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policyOf(string(e.Page))+"; frame-ancestors 'none'")
	_, err = w.Write(e.Page)
	return err
}

// errNotHere is the answer for a function that is nil.
var errNotHere = problem{http.StatusNotImplemented, "This is not available here."}

// turn waits until no other request runs a trainer or the compiler. It returns a context
// that ends with the request or after the limit, and a function to call when done.
func (s *Server) turn(ctx context.Context, say func(string)) (_ context.Context, done func(), err error) {
	select {
	case s.busy <- struct{}{}:
	default:
		say("Waiting for an earlier request …")
		select {
		case s.busy <- struct{}{}:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.Limit)
	return ctx, func() { cancel(); <-s.busy }, nil
}
