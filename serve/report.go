package serve

import (
	"context"
	"fmt"
	"html/template"
	"path/filepath"

	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/record"
)

// Report returns the page of a run, or of several with their comparison, as one HTML file.
// The file refers to nothing outside and is complete without its script. dirs are run
// directories. Report returns an error if one is not a run directory or if ctx ends; a
// damaged run is shown with its problems.
func Report(ctx context.Context, c Config, dirs []string) ([]byte, error) {
	var runs []*view
	for i, dir := range dirs {
		v, err := opened(dir, &c)
		if err != nil {
			return nil, err
		}
		v.Prefix = fmt.Sprintf("run-%d-", i+1)
		runs = append(runs, v)
		if c.Biases == nil {
			continue
		}
		if v.Biases, err = c.Biases(ctx, v.Dir); err != nil {
			v.Problems = append(v.Problems, "its learned biases are not shown: "+err.Error())
		}
	}
	for _, v := range runs {
		v.Seeds = v.among(runs)
	}
	var html []template.HTML
	for _, v := range runs {
		one, err := v.page()
		if err != nil {
			return nil, err
		}
		html = append(html, one)
	}
	body, title := html[0], runs[0].Title()
	if len(runs) > 1 {
		of := compare(runs, false, &c)
		of.Static = true
		title = fmt.Sprintf("%d runs", len(runs))
		var err error
		if body, err = render("report", reportPage{of, html}); err != nil {
			return nil, err
		}
	}
	return whole(page{Title: title, Place: "report", Version: c.Version, Body: body})
}

// opened loads a run for a report.
func opened(dir string, c *Config) (*view, error) {
	if _, err := record.Read(dir); record.Missing(err) {
		return nil, record.NoRun(dir)
	}
	full, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	v := load(damage.At(full), c)
	v.Key, v.Static = filepath.ToSlash(dir), true
	return v, nil
}

// among returns those runs that differ from v only in the seed.
func (v *view) among(runs []*view) (out []*view) {
	for _, o := range runs {
		if len(siblings(v.Run, []*row{{Run: o.Run}})) > 0 {
			out = append(out, o)
		}
	}
	return out
}

// whole returns a page with its style and script in it, and a policy that allows only these.
func whole(p page) ([]byte, error) {
	p.Style, p.Script = template.CSS(asset("style.css")), template.JS(asset("script.js"))
	text, err := render("layout", p)
	if err != nil {
		return nil, err
	}
	p.Policy = policyOf(string(text))
	text, err = render("layout", p)
	return []byte(text), err
}
