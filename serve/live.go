package serve

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"html/template"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/arithlang/mlc/runtime/lock"
)

// pause is the time between two looks at the files of a run.
const pause = time.Second

// beat is the longest silence of a stream, in looks: a dead connection is noticed by it.
const beat = 15

// events sends the parts of a page that have changed, as long as it is open: of a run, or of
// the list of all. Each event is HTML whose elements replace those with their ids.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	look := s.listNews
	if r.URL.Query().Has("run") {
		v, name, err := s.view(r)
		if err != nil {
			return err
		}
		look = s.runNews(v.Dir, name)
	}
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	sent := map[string]string{} // by id
	for n := 0; ; n++ {
		parts, err := look()
		if err != nil {
			return nil // the folder is gone; the page says that the connection is
		}
		var news []map[string]string
		for _, p := range parts {
			if sent[p.id] != p.version {
				sent[p.id] = p.version
				news = append(news, map[string]string{"id": p.id, "html": string(p.html)})
			}
		}
		switch {
		case len(news) > 0:
			var text []byte
			if text, err = json.Marshal(news); err == nil {
				_, err = fmt.Fprintf(w, "event: swap\ndata: %s\n\n", text)
			}
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

// A part is an element of a page that may change.
type part struct {
	id, version string
	html        template.HTML
}

// newPart puts the content of a part into its element, which says which version it is.
func newPart(id, element, class string, inner template.HTML) part {
	h := fnv.New64a()
	h.Write([]byte(inner))
	version := fmt.Sprintf("%x", h.Sum64())
	html := fmt.Sprintf(`<%s id="%s" class="%s" data-version="%s">%s</%s>`, element, id, class, version, inner, element)
	return part{id, version, template.HTML(html)}
}

// listNews are the rows of the list. It is read at most as often as folder.runs says,
// whoever asks.
func (s *Server) listNews() ([]part, error) {
	rows, err := s.folder.runs()
	if err != nil {
		return nil, err
	}
	return listParts(rows)
}

// runNews are the live parts of a run, which are made when one of its files has changed.
func (s *Server) runNews(dir, name string) func() ([]part, error) {
	var last string
	var parts []part
	return func() ([]part, error) {
		now := stamp(dir)
		if now == last {
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

// stamp changes when a file of a run does, or when it begins or ends to be trained.
func stamp(dir string) string {
	var b strings.Builder
	fmt.Fprint(&b, lock.Held(dir))
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
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
