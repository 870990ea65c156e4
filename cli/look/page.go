package look

import (
	"bytes"

	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/project"

	_ "embed"
	"fmt"
	"html/template"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler"
)

//go:embed page.html
var pageText string

// pageTemplate returns the page of explain --format html. It contains its style and script and
// refers to no other file.
var pageTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(pageText)) })

// WritePage writes the page of a compiled spec to a file.
func WritePage(sh *shell.Shell, p *compiler.Program, of project.Training, file string) error {
	page, err := shell.Await(sh, func() ([]byte, error) {
		t, err := newTraceOf(p, of)
		if err != nil {
			return nil, err
		}
		return t.page(of.Name, "mlc "+shell.Version)
	})
	if err != nil {
		return err
	}
	if err := paths.Put(sh.Context, file, page); err != nil {
		return fmt.Errorf("cannot write the page: %w: choose another file with -o", err)
	}
	sh.Say("%s  %s", filepath.ToSlash(file), shell.Scaled(float64(len(page)), 1024, "B"))
	return nil
}

// pageColumn, pageSection and pageLine are a trace whose places are numbers: the lines of
// the spec, counted through all of its files.
type pageColumn struct {
	Name, Doc string
	Sections  []pageSection
}

type pageSection struct {
	Head  string
	From  string // the numbers of its places, if it is a unit
	Lines []pageLine
}

type pageLine struct {
	Text string
	From string
}

// page renders a trace as an HTML page.
func (t *trace) page(title, version string) ([]byte, error) {
	numbers := map[place]int{}
	for _, s := range t.columns[0].sections {
		for _, l := range s.lines {
			numbers[l.from[0]] = len(numbers) + 1
		}
	}
	from := func(places []place) string {
		var out []string
		for _, p := range places {
			if n, ok := numbers[p]; ok {
				out = append(out, strconv.Itoa(n))
			}
		}
		return strings.Join(out, " ")
	}
	var columns []pageColumn
	for _, c := range t.columns {
		pc := pageColumn{Name: c.name, Doc: c.doc}
		for _, s := range c.sections {
			ps := pageSection{Head: s.head, From: from(s.from)}
			for _, l := range s.lines {
				ps.Lines = append(ps.Lines, pageLine{l.text, from(l.from)})
			}
			pc.Sections = append(pc.Sections, ps)
		}
		columns = append(columns, pc)
	}
	var b bytes.Buffer
	err := pageTemplate().Execute(&b, struct {
		Title, Version string
		Columns        []pageColumn
	}{title, version, columns})
	return b.Bytes(), err
}
