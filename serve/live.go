package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"html/template"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/lock"
)

// pause is the time between two checks of a run's files.
const pause = time.Second

// beat is the longest silence of a stream, counted in checks. A write reveals a dead connection.
const beat = 15

// events sends the changed parts of a page while it is open: the page of a run, or the
// list. Each event has HTML elements that replace the elements with their ids.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	look := s.listNews
	if r.URL.Query().Has("run") {
		_, name, err := s.view(r)
		var g gone
		if errors.As(err, &g) {
			w.Header().Set("Content-Type", "text/event-stream")
			return s.sayGone(w, g)
		}
		if err != nil {
			return err
		}
		look = s.runNews(name)
	}
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	sent := map[string]string{} // by id
	for n := 0; ; n++ {
		parts, err := look()
		var g gone
		if errors.As(err, &g) {
			return s.sayGone(w, g)
		}
		if err != nil {
			return nil // the folder is gone, and the page shows that the connection is
		}
		var news []part
		for _, p := range parts {
			if sent[p.ID] != p.version {
				sent[p.ID] = p.version
				news = append(news, p)
			}
		}
		switch {
		case len(news) > 0:
			err = event(w, "swap", news)
		case n%beat == 0:
			_, err = fmt.Fprint(w, ": still here\n\n")
		}
		if err == nil {
			err = out.Flush()
		}
		if err != nil {
			return nil
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// event writes a server-sent event with data as JSON.
func event(w http.ResponseWriter, name string, data any) error {
	text, err := json.Marshal(data)
	if err == nil {
		_, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, text)
	}
	return err
}

// sayGone ends a stream because the run was deleted. The page keeps its content, and shows
// the message in place of the run's state.
func (s *Server) sayGone(w http.ResponseWriter, g gone) error {
	inner, err := render("gone", g.Error())
	if err == nil {
		event(w, "gone", []part{newPart("status", "div", "status", inner)})
	}
	return err
}

// A part is an element of a page that may change. Only lists the ids of all elements that
// the element still contains.
type part struct {
	ID      string        `json:"id"`
	HTML    template.HTML `json:"html,omitempty"`
	Only    []string      `json:"only,omitempty"`
	version string
}

// newPart puts content into the element of a part, with a version that changes with the content.
func newPart(id, element, class string, inner template.HTML) part {
	h := fnv.New64a()
	h.Write([]byte(inner))
	version := fmt.Sprintf("%x", h.Sum64())
	html := fmt.Sprintf(`<%s id="%s" class="%s" data-version="%s">%s</%s>`, element, id, class, version, inner, element)
	return part{ID: id, HTML: template.HTML(html), version: version}
}

// listNews returns the rows of the list. All callers share the reading of folder.runs.
func (s *Server) listNews() ([]part, error) {
	rows, err := s.folder.runs()
	if err != nil {
		return nil, err
	}
	parts, err := listParts(rows)
	if err != nil {
		return nil, err
	}
	left := part{ID: "rows", Only: []string{}}
	for _, p := range parts {
		left.Only = append(left.Only, p.ID)
	}
	left.version = strings.Join(left.Only, " ")
	return append(parts, left), nil
}

// runNews returns a function that returns the live parts of a run. It renders them again
// when one of the run's files has changed.
func (s *Server) runNews(name string) func() ([]part, error) {
	var last string
	var parts []part
	return func() ([]part, error) {
		var now string
		err := s.folder.run(name, func(dir damage.Path) { now = stamp(dir) })
		if err == nil && now == last {
			return parts, nil
		}
		v, err := s.open(name)
		if err != nil {
			return nil, err
		}
		if err := s.withSeeds(v); err != nil {
			return nil, err
		}
		all, err := v.parts()
		if err != nil {
			return nil, err
		}
		last, parts = now, nil
		for i, p := range panels {
			if p.live {
				parts = append(parts, all[i])
			}
		}
		return parts, nil
	}
}

// stamp changes when a file of a run changes, and when a process begins or ends training it.
func stamp(dir damage.Path) string {
	var b strings.Builder
	fmt.Fprint(&b, lock.Held(dir))
	fs.WalkDir(dir.FS(), ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			fmt.Fprintf(&b, " %s %d %d", d.Name(), info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	return b.String()
}
