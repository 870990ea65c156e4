package serve

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/url"
	"reflect"
	"strings"
	"sync"

	"github.com/arithlang/mlc/serve/chart"
)

//go:embed pages/*.html pages/style.css pages/script.js pages/icon.svg
var files embed.FS

func asset(name string) string {
	text, err := files.ReadFile("pages/" + name)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return string(text)
}

// functions are the functions that templates may call.
var functions = template.FuncMap{
	"soft":    soft,
	"softRun": softRun,
	"bar":     chart.Bar,
	"add":     func(a, b int) int { return a + b },
}

// pages returns the templates of pages and of their parts.
var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(functions).ParseFS(files, "pages/*.html"))
})

// shapes gives the type of each template's data. A template called only by others is not listed:
// its caller gives the data. A test checks the fields that templates name against these types.
var shapes = withPanels(map[string]reflect.Type{
	"layout":    reflect.TypeFor[page](),
	"error":     reflect.TypeFor[string](),
	"failed":    reflect.TypeFor[string](),
	"gone":      reflect.TypeFor[string](),
	"enter":     reflect.TypeFor[string](),
	"runs":      reflect.TypeFor[runsPage](),
	"counts":    reflect.TypeFor[[]count](),
	"line":      reflect.TypeFor[line](),
	"run":       reflect.TypeFor[runPage](),
	"compare":   reflect.TypeFor[comparePage](),
	"report":    reflect.TypeFor[reportPage](),
	"answer":    reflect.TypeFor[*Answer](),
	"attention": reflect.TypeFor[attentionPart](),
	"biases":    reflect.TypeFor[[]figure](),
	"shorter":   reflect.TypeFor[[]string](),
	"explained": reflect.TypeFor[explainedPart](),
})

// withPanels adds the panels of a run, whose data is the run.
func withPanels(all map[string]reflect.Type) map[string]reflect.Type {
	for _, p := range panels {
		all[p.name] = reflect.TypeFor[*view]()
	}
	return all
}

// page is the data of the layout.
type page struct {
	Title   string
	Place   string // in the header, after the name of the folder
	Folder  string
	Version string
	Live    string // the address of the page's events; "": none
	Body    template.HTML

	Style  template.CSS // of a page that is one file
	Script template.JS
	Policy string
}

// A runsPage is the data of the list of all runs.
type runsPage struct {
	Columns []column
	Lines   []template.HTML
	Counts  template.HTML
	Sort    string
	Down    bool
	Folder  string
}

// A runPage is a run with its panels.
type runPage struct {
	*view
	Parts []template.HTML
}

// A comparePage is a comparison, and the query that asked for it.
type comparePage struct {
	*comparison
	Query url.Values
}

// A reportPage is a comparison, and the pages of its runs.
type reportPage struct {
	*comparison
	Parts []template.HTML
}

// An explainedPart is the spec of a run with its kernels.
type explainedPart struct {
	*Explanation
	Run string
}

// soft writes the path of a setting, which may break after its dots.
func soft(path string) template.HTML {
	return template.HTML(strings.ReplaceAll(template.HTMLEscapeString(path), ".", ".<wbr>"))
}

// softRun writes the name of a run, which may break after its slashes.
func softRun(name string) template.HTML {
	return template.HTML(strings.ReplaceAll(template.HTMLEscapeString(name), "/", "/<wbr>"))
}

// render executes a template. data must have the type in shapes.
func render(name string, data any) (template.HTML, error) {
	if want, got := shapes[name], reflect.TypeOf(data); want != got {
		return "", fmt.Errorf("BUG: the template %s gets a %v, and is written for a %v", name, got, want)
	}
	var b bytes.Buffer
	err := pages().ExecuteTemplate(&b, name, data)
	return template.HTML(b.String()), err
}
