package serve

import (
	"context"
	"encoding/json"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"github.com/arithlang/mlc/runtime/damage"
)

// Limits of a request: the bytes of a problem, and the runs of a loop.
const (
	longestProblem = 4096
	mostTimes      = 1024
)

// asked is a problem that a request asks a run.
type asked struct {
	run     *view
	name    string
	problem string
	times   int
}

// asked reads the form of a request.
func (s *Server) asked(w http.ResponseWriter, r *http.Request) (*asked, error) {
	r.Body = http.MaxBytesReader(w, r.Body, 4*longestProblem)
	if err := r.ParseForm(); err != nil {
		return nil, problem{http.StatusRequestEntityTooLarge, "The request is too long or not a form."}
	}
	v, name, err := s.view(r)
	if err != nil {
		return nil, err
	}
	a := &asked{run: v, name: name, problem: strings.TrimSpace(r.PostForm.Get("problem"))}
	switch {
	case a.problem == "":
		return nil, problem{http.StatusBadRequest, "Type a problem first."}
	case len(a.problem) > longestProblem || strings.ContainsFunc(a.problem, unicode.IsControl):
		return nil, problem{http.StatusBadRequest, "A problem is one line of at most " + strconv.Itoa(longestProblem) + " characters."}
	}
	if text := strings.TrimSpace(r.PostForm.Get("times")); text != "" {
		if a.times, err = strconv.Atoi(text); err != nil || a.times < 1 || a.times > mostTimes {
			return nil, problem{http.StatusBadRequest, "The loop can run 1 to " + strconv.Itoa(mostTimes) + " times."}
		}
	}
	return a, nil
}

// isPart reports whether a request comes from the script, which puts the answer into the page.
func isPart(r *http.Request) bool { return r.Header.Get("X-Part") != "" }

// partKind is the type of answers to the script: lines of JSON. The first lines describe
// the work, and the last has the part.
const partKind = "application/x-ndjson"

// failPart sends the script an error.
func (s *Server) failPart(w http.ResponseWriter, text string) {
	html, err := render("failed", text)
	if err != nil {
		http.Error(w, text, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", partKind)
	json.NewEncoder(w).Encode(map[string]string{"html": string(html)})
}

// part answers with a part of a page that takes a while to make. The script gets it as
// lines of JSON, other clients as a page.
func (s *Server) part(w http.ResponseWriter, r *http.Request, v *view, name string, make func(ctx context.Context, say func(string)) (template.HTML, error)) error {
	script := isPart(r)
	out := json.NewEncoder(w)
	say := func(text string) {
		if script {
			out.Encode(map[string]string{"say": text})
			http.NewResponseController(w).Flush()
		}
	}
	if script {
		w.Header().Set("Content-Type", partKind)
	}
	html, err := s.made(r.Context(), say, make)
	if err != nil && r.Context().Err() != nil {
		return nil
	}
	if err != nil {
		if now := s.folder.run(name, func(damage.Path) {}); errors.Is(now, fs.ErrNotExist) {
			err = gone(name) // the cause does not matter
		}
		return err
	}
	if script {
		return out.Encode(map[string]string{"html": string(html)})
	}
	return s.write(w, http.StatusOK, page{Title: v.Title(), Place: name, Body: html})
}

func (s *Server) made(ctx context.Context, say func(string), make func(ctx context.Context, say func(string)) (template.HTML, error)) (template.HTML, error) {
	ctx, done, err := s.turn(ctx, say)
	if err != nil {
		return "", err
	}
	defer done()
	html, err := make(ctx, say)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = problem{http.StatusGatewayTimeout, "This took longer than " + short(s.config.Limit) + " and was stopped."}
	}
	return html, err
}

func (s *Server) solve(w http.ResponseWriter, r *http.Request) error {
	if s.config.Solve == nil {
		return errNotHere
	}
	a, err := s.asked(w, r)
	if err != nil {
		return err
	}
	return s.part(w, r, a.run, a.name, func(ctx context.Context, say func(string)) (template.HTML, error) {
		answer, err := s.config.Solve(ctx, a.run.Dir, a.problem, a.times, a.run.Loops(), say)
		if err != nil {
			return "", err
		}
		return render("answer", answer)
	})
}

func (s *Server) attention(w http.ResponseWriter, r *http.Request) error {
	if s.config.Attention == nil {
		return errNotHere
	}
	a, err := s.asked(w, r)
	if err != nil {
		return err
	}
	return s.part(w, r, a.run, a.name, func(ctx context.Context, say func(string)) (template.HTML, error) {
		say("Reading the attention for this problem …")
		found, err := s.config.Attention(ctx, a.run.Dir, a.problem, a.times)
		if err != nil {
			return "", err
		}
		return render("attention", attentionPart{attentionLayers(found), found})
	})
}

func (s *Server) biases(w http.ResponseWriter, r *http.Request) error {
	if s.config.Biases == nil {
		return errNotHere
	}
	v, name, err := s.view(r)
	if err != nil {
		return err
	}
	return s.part(w, r, v, name, func(ctx context.Context, say func(string)) (template.HTML, error) {
		say("Reading the learned biases …")
		found, err := s.config.Biases(ctx, v.Dir)
		if err != nil {
			return "", err
		}
		return render("biases", biasFigures(found))
	})
}

func (s *Server) explain(w http.ResponseWriter, r *http.Request) error {
	if s.config.Explain == nil {
		return errNotHere
	}
	v, name, err := s.view(r)
	if err != nil {
		return err
	}
	return s.part(w, r, v, name, func(ctx context.Context, say func(string)) (template.HTML, error) {
		say("Compiling the spec …")
		e, err := s.config.Explain(ctx, v.Dir)
		if err != nil {
			return "", err
		}
		return render("explained", explainedPart{e, name})
	})
}

// shorter answers with the spec of a run without its defaults. The spec is cached, since
// every page of a run asks for it.
func (s *Server) shorter(w http.ResponseWriter, r *http.Request) error {
	if s.config.Shorter == nil {
		return errNotHere
	}
	v, name, err := s.view(r)
	if err != nil {
		return err
	}
	return s.part(w, r, v, name, func(ctx context.Context, say func(string)) (template.HTML, error) {
		text, known := s.short.Load(v.Spec)
		if !known {
			say("Removing the defaults from the spec …")
			found, err := s.config.Shorter(ctx, v.Spec)
			if err != nil {
				return "", err
			}
			s.short.Store(v.Spec, found)
			text = found
		}
		if text == "" {
			return "", problem{http.StatusNotFound, "The spec without defaults is not available: the spec is from another version of mlc, describes a pipeline, or reads problems from a file."}
		}
		return render("shorter", linesOf(text.(string)))
	})
}
