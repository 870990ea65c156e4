package serve

import (
	"html/template"
	"slices"
	"strings"
)

// panels lists the parts of a run's page, in order. Each has a template of its name. A panel that
// renders to nothing is hidden. A new file in run directories gets a row here and a template.
var panels = []struct {
	name string
	live bool // rendered again when a file of the run changes
}{
	{"facts", true},
	{"ask", false},
	{"test", true},
	{"curves", true},
	{"during", true},
	{"biases-panel", false},
	{"spec", false},
	{"made", false},
}

func (v *view) parts() ([]part, error) {
	var out []part
	for _, p := range panels {
		inner, err := render(p.name, v)
		if err != nil {
			return nil, err
		}
		class := "panel panel-" + p.name
		if strings.TrimSpace(string(inner)) == "" {
			class += " empty"
		}
		out = append(out, newPart(v.Prefix+p.name, "section", class, inner))
	}
	return out, nil
}

func (v *view) page() (template.HTML, error) {
	all, err := v.parts()
	if err != nil {
		return "", err
	}
	var html []template.HTML
	for _, p := range all {
		html = append(html, p.HTML)
	}
	return render("run", runPage{v, html})
}

// Lines returns the lines of the spec.
func (v *view) Lines() []string { return linesOf(v.Spec) }

func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// Loops reports whether the model has a loop, which can run more or fewer times.
func (v *view) Loops() bool {
	times := v.Settings["model.decoder_only.times"]
	return times != "" && times != "1"
}

// Learned draws the biases that are known when the page is rendered, as in a file.
func (v *view) Learned() []figure { return biasFigures(v.Biases) }

// Example is a problem to ask the run; "" for tasks without an example.
func (v *view) Example() string {
	switch v.Runs.Task {
	case "addition":
		return "123+456"
	case "sum":
		return "12+34+56"
	case "multiplication":
		return "12*34"
	case "successor", "parity", "copy":
		return "12399"
	}
	return ""
}

// swatch draws the line of a run for a table.
func swatch(class string) template.HTML {
	return template.HTML(`<svg class="swatch" viewBox="0 0 18 10" aria-hidden="true"><path class="line ` + class + `" d="M0 5H18"/></svg>`)
}

// Swatch draws the line that a run has in figures.
func (c *comparison) Swatch(run int) template.HTML { return swatch(c.Class(run)) }

// A head is the head of a run's column.
type head struct {
	Name, Link string
	Swatch     template.HTML
}

// Heads returns the heads of tables with a column for each run.
func (c *comparison) Heads() (out []head) {
	for i, v := range c.Runs {
		h := head{Name: v.Title(), Link: v.Key, Swatch: c.Swatch(i)}
		if c.Static {
			h.Link = ""
		}
		out = append(out, h)
	}
	return out
}

// A group is a titled group of rows in such a table.
type group struct {
	Title string
	Rows  []setting
}

// Tables returns the groups of the table: results, settings, and other facts.
func (c *comparison) Tables() []group {
	all := []group{{"Results", c.Results()}, {"Settings that differ", c.Settings()}, {"Made with", c.Makes()}}
	if len(all[1].Rows) == 0 {
		all[1].Title = "The settings are the same"
	}
	return slices.DeleteFunc(all, func(g group) bool { return len(g.Rows) == 0 && g.Title == "Made with" })
}
