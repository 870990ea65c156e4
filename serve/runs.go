package serve

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"html/template"
	"math"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/plot/list"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/serve/chart"
)

// A column is a column of the list of runs. sort returns the key to order by: a number if
// Numeric is set; an empty key is last.
type column struct {
	Key, Name string
	Numeric   bool
	text      func(*row) string
	sort      func(*row) string
}

// bits is the key of the tested loss of a model of text.
const bits = "bits"

// labelled is the key of names, tags and notes.
const labelled = "label"

// columns are the columns of every list. The column Overall, for problems of files, the column of
// texts and the column of labels are only shown where a run has them.
var columns = []column{
	{"run", "run", false, func(r *row) string { return r.Dir }, func(r *row) string { return r.Dir }},
	{"state", "state", false, func(r *row) string { return string(r.State) }, func(r *row) string { return string(r.State) }},
	{"step", "step", true, func(r *row) string { return track.Thousands(r.Step) }, func(r *row) string { return strconv.Itoa(r.Step) }},
	{"loss", "loss", true, func(r *row) string {
		return orNothing(r.Loss, lossText)
	}, func(r *row) string { return orNothing(r.Loss, exactly) }},
	{"held_out", "held out", true, func(r *row) string { return percent(r.ExactMatch) + orNothing(r.HeldOut, lossText) }, func(r *row) string { return orNothing(r.ExactMatch, exactly) }},
	{eval.ID, eval.ID, true, func(r *row) string { return percent(r.ID) }, func(r *row) string { return orNothing(r.ID, exactly) }},
	{eval.OOD, eval.OOD, true, func(r *row) string { return percent(r.OOD) }, func(r *row) string { return orNothing(r.OOD, exactly) }},
	{eval.Overall, eval.Overall, true, func(r *row) string { return percent(r.Overall) }, func(r *row) string { return orNothing(r.Overall, exactly) }},
	{bits, "bits a character", true, func(r *row) string { return orNothing(r.Bits(), lossText) }, func(r *row) string { return orNothing(r.Bits(), exactly) }},
	{labelled, "label", false, func(r *row) string { return r.Called() }, func(r *row) string { return r.Called() }},
	{"started", "started, UTC", false, func(r *row) string { return started(r, "2006-01-02 15:04") }, func(r *row) string { return started(r, "2006-01-02T15:04:05") }},
}

func orNothing(x *float64, write func(float64) string) string {
	if x == nil {
		return ""
	}
	return write(*x)
}

func started(r *row, layout string) string {
	if r.Started.IsZero() {
		return ""
	}
	return r.Started.UTC().Format(layout)
}

// mostSettings is the largest number of differing settings with a column each. If more
// differ, one column lists the settings that differ within a folder.
const mostSettings = 3

// settingColumns returns the columns for the settings that differ.
func settingColumns(runs []*list.Run) (out []column) {
	differing := list.Differing(runs)
	if len(differing) <= mostSettings {
		names := list.Names(differing)
		for _, path := range differing {
			value := func(r *row) string { return r.Settings[path] }
			out = append(out, column{path, names[path], true, value, value})
		}
		return out
	}
	beside := map[string][]*list.Run{} // by the runs' folder
	for _, r := range runs {
		beside[path.Dir(r.Dir)] = append(beside[path.Dir(r.Dir)], r)
	}
	within := map[string][]string{}
	for dir, some := range beside {
		within[dir] = list.Differing(some)
	}
	text := func(r *row) string { // no line break next to an equals sign
		return strings.ReplaceAll(r.Said(within[path.Dir(r.Dir)]), " = ", "\u00a0=\u00a0")
	}
	return []column{{"settings", "settings that differ", false, text, text}}
}

type line struct {
	*row
	ID    string
	Spark template.HTML
	Cells []cell
	Wide  int // columns that the problem of a damaged run covers
}

type cell struct {
	Key, Name, Text, Sort string
	Numeric               bool
}

// rowID is the id of a run's element in the list.
func rowID(dir string) string {
	h := fnv.New64a()
	h.Write([]byte(dir))
	return fmt.Sprintf("run-%x", h.Sum64())
}

func newLine(r *row, all []column) line {
	l := line{row: r, ID: rowID(r.Dir), Wide: len(all) - 2}
	logs := make([]float64, len(r.Losses))
	for i, x := range r.Losses {
		logs[i] = math.Log(x)
	}
	l.Spark = chart.Spark("loss of training", logs)
	for _, c := range all {
		l.Cells = append(l.Cells, cell{c.Key, c.Name, c.text(r), c.sort(r), c.Numeric})
	}
	return l
}

// listed returns the columns of a list and its lines.
func listed(rows []*row) (all []column, lines []line) {
	var runs []*list.Run
	for _, r := range rows {
		if r.State != list.Damaged {
			runs = append(runs, r.Run)
		}
	}
	all = slices.Concat(columns, settingColumns(runs))
	if !slices.ContainsFunc(runs, func(r *list.Run) bool { return r.Overall != nil }) {
		all = slices.DeleteFunc(all, func(c column) bool { return c.Key == eval.Overall })
	}
	if !slices.ContainsFunc(runs, func(r *list.Run) bool { return r.Bits() != nil }) {
		all = slices.DeleteFunc(all, func(c column) bool { return c.Key == bits })
	}
	if !slices.ContainsFunc(runs, func(r *list.Run) bool { return !r.Label.Empty() }) {
		all = slices.DeleteFunc(all, func(c column) bool { return c.Key == labelled })
	}
	for _, r := range rows {
		lines = append(lines, newLine(r, all))
	}
	return all, lines
}

// order sorts lines by a column. Lines with an empty key are last.
func order(lines []line, all []column, key string, down bool) {
	at := slices.IndexFunc(all, func(c column) bool { return c.Key == key })
	if at < 0 {
		return
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		x, y := a.Cells[at].Sort, b.Cells[at].Sort
		if x == "" || y == "" {
			return cmp.Compare(y, x) // "" is last
		}
		c := cmp.Compare(x, y)
		if v, err := strconv.ParseFloat(x, 64); err == nil {
			if w, err := strconv.ParseFloat(y, 64); err == nil {
				c = cmp.Compare(v, w)
			}
		}
		if down {
			return -c
		}
		return c
	})
}

// A count is the number of runs in a state.
type count struct {
	State list.State
	N     int
}

func counted(rows []*row) (out []count) {
	for _, s := range []list.State{list.Running, list.Stopped, list.Trained, list.Tested, list.Damaged} {
		n := 0
		for _, r := range rows {
			if r.State == s {
				n++
			}
		}
		if n > 0 {
			out = append(out, count{s, n})
		}
	}
	return out
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) error {
	rows, err := s.folder.runs()
	if err != nil {
		return err
	}
	all, lines := listed(rows)
	key, down := r.FormValue("sort"), r.FormValue("down") != ""
	if key == "" {
		key, down = "started", true
	}
	order(lines, all, key, down)
	parts, err := listParts(rows)
	if err != nil {
		return err
	}
	var body []template.HTML
	byID := map[string]template.HTML{}
	for _, p := range parts {
		byID[p.ID] = p.HTML
	}
	for _, l := range lines {
		body = append(body, byID[l.ID])
	}
	html, err := render("runs", runsPage{all, body, byID["counts"], key, down, shownPath(s.folder.path)})
	if err != nil {
		return err
	}
	return s.write(w, http.StatusOK, page{Title: "Runs", Live: "/events", Body: html})
}

// listParts renders the counts of runs by state, and the lines of a list.
func listParts(rows []*row) ([]part, error) {
	_, lines := listed(rows)
	inner, err := render("counts", counted(rows))
	if err != nil {
		return nil, err
	}
	parts := []part{newPart("counts", "p", "counts", inner)}
	for _, l := range lines {
		inner, err := render("line", l)
		if err != nil {
			return nil, err
		}
		parts = append(parts, newPart(l.ID, "tr", "run "+string(l.State), inner))
	}
	return parts, nil
}
