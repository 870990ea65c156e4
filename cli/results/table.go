// Package results shows the results of runs: tables, figures, pages, and exports of trained
// models.
package results

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/arithlang/mlc/plot/list"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/track"
)

// A Row is the result of one training in a table.
type Row struct {
	Name    string
	Result  *eval.Result
	Lengths []int  // that the spec tests; empty: all lengths
	only    bool   // show exactly Lengths, without means
	Missing string // text for a missing result
	Of      Kin
	mean    []*Row // the rows that it is the mean of; empty: it is a training
}

// A Kin groups trainings that differ only in their seeds: their Kind is equal.
type Kin struct {
	Kind, Name string // Name is their common name in tables; "": they are all rows
	Seed       string
}

// ReadRow reads the result of a run directory. If the directory is damaged, it returns an
// error and a row that says so.
func ReadRow(name, dir string) (Row, error) {
	row := Row{Name: name, Missing: "no result"}
	if dir == "" {
		return row, nil
	}
	trained, err := list.TrainedIn(dir)
	if err == nil {
		row.Result, err = eval.Load(damage.At(record.Results(trained, "")))
	}
	if err != nil {
		row.Missing = "unreadable"
	}
	return row, err
}

// maxLengths is the largest number of lengths with a column each.
const maxLengths = 12

// columns returns the heads of a result's columns and their fractions; nil is a missing
// value. The means come first. Then come the lengths that the spec tests, unless they are
// many or make a grid. If lengths are requested, each has a column, tested or not.
func (r *Row) columns() (heads []string, values []*float64) {
	if t := &r.Result.Text; *t != (eval.Text{}) {
		return []string{"nats", bits}, []*float64{&t.Loss, &t.Bits}
	}
	equal := func(c eval.Cell) bool { return c.J == 0 || c.I == c.J }
	all := slices.Clone(r.Result.ByCell)
	if len(r.Lengths) > 0 {
		all = slices.DeleteFunc(all, func(c eval.Cell) bool { return !slices.Contains(r.Lengths, c.I) })
		for _, n := range r.Lengths {
			if !slices.ContainsFunc(all, func(c eval.Cell) bool { return c.I == n }) {
				all = append(all, eval.Cell{Pair: eval.Pair{I: n}})
			}
		}
		slices.SortStableFunc(all, func(a, b eval.Cell) int { return cmp.Compare(a.I, b.I) })
	}
	if !r.only {
		for _, m := range r.Result.Means() {
			heads, values = append(heads, m.Name), append(values, m.Value)
		}
	}
	if len(all) > maxLengths || slices.ContainsFunc(all, func(c eval.Cell) bool { return !equal(c) }) {
		all = nil
	}
	for _, c := range all {
		heads, values = append(heads, fmt.Sprint(c.I)), append(values, nil)
		if c.Samples > 0 {
			f := c.Fraction()
			values[len(values)-1] = &f
		}
	}
	if heads == nil { // too many lengths, and no means
		return []string{eval.ID, eval.OOD}, []*float64{nil, nil}
	}
	return heads, values
}

// Cells returns the heads of a row's columns and its texts. A row without a result has no
// heads.
func (r *Row) Cells() (heads, texts []string) {
	switch {
	case len(r.mean) > 0:
		return r.means()
	case r.Result == nil:
		return nil, []string{r.Missing}
	}
	heads, values := r.columns()
	for _, v := range values {
		texts = append(texts, r.write()(v))
	}
	return heads, texts
}

// title heads the column of names: it says what the values of the row are.
func (r *Row) title() string {
	if len(r.mean) > 0 {
		r = r.mean[0]
	}
	if r.Result != nil && r.Result.Text != (eval.Text{}) {
		return "loss a character"
	}
	return "exact match, %"
}

// write returns how a row's values are written: losses of a text, or fractions.
func (r *Row) write() func(*float64) string {
	if r.Result.Text != (eval.Text{}) {
		return number
	}
	return percent
}

// number writes a loss, or "-" for nil.
func number(x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf("%.4f", *x)
}

// means returns the columns of the first seed, with the mean over all seeds and the sample
// standard deviation in each.
func (r *Row) means() (heads, texts []string) {
	heads, _ = r.mean[0].columns()
	for i := range heads {
		var values []float64
		for _, m := range r.mean {
			if _, all := m.columns(); all[i] != nil {
				values = append(values, *all[i])
			}
		}
		text := "-"
		if len(values) == len(r.mean) {
			mean, deviation := list.Spread(values)
			write := r.mean[0].write()
			text = write(&mean) + " ± " + write(&deviation)
		}
		texts = append(texts, text)
	}
	return heads, texts
}

// withMeans appends the means of rows that differ only in their seeds and have the same
// columns.
func withMeans(rows []Row) []Row {
	var kinds []Kin
	seeds := map[Kin][]*Row{}
	for i := range rows {
		r := &rows[i]
		if r.Result == nil || r.Of.Kind == "" {
			continue
		}
		heads, _ := r.columns()
		kind := Kin{Kind: r.Of.Kind + "\n" + strings.Join(heads, "\n"), Name: r.Of.Name}
		if len(seeds[kind]) == 0 {
			kinds = append(kinds, kind)
		}
		if !slices.ContainsFunc(seeds[kind], func(o *Row) bool { return o.Of.Seed == r.Of.Seed }) {
			seeds[kind] = append(seeds[kind], r)
		}
	}
	out := slices.Clone(rows)
	for _, kind := range kinds {
		if n := len(seeds[kind]); n > 1 {
			name := fmt.Sprintf("mean ± deviation, n = %d", n)
			if kind.Name != "" {
				name = kind.Name + ": " + name
			}
			out = append(out, Row{Name: name, mean: seeds[kind]})
		}
	}
	return out
}

// aligned gives rows that differ only in their seeds the same lengths, if they show all of
// them. Two seeds may hold out problems of different lengths from a file.
func aligned(rows []Row) []Row {
	lengths := map[string][]int{}
	for _, r := range rows {
		if r.Result != nil && r.Of.Kind != "" {
			for _, c := range r.Result.ByCell {
				lengths[r.Of.Kind] = append(lengths[r.Of.Kind], c.I)
			}
		}
	}
	for kind, all := range lengths {
		slices.Sort(all)
		lengths[kind] = slices.Compact(all)
	}
	rows = slices.Clone(rows)
	for i := range rows {
		if len(rows[i].Lengths) == 0 {
			rows[i].Lengths = lengths[rows[i].Of.Kind]
		}
	}
	return rows
}

// WriteTable writes results as a table with a line for each training. It repeats the heads
// where columns change, as from digits to bits. At the end come the means over seeds, and a
// legend of the means over lengths.
func WriteTable(w io.Writer, rows []Row) error {
	rows = withMeans(aligned(rows))
	title, width := new(Row).title(), 8
	for i := range rows {
		if rows[i].Result != nil {
			title = rows[i].title()
			break
		}
	}
	wide := len(title)
	for i := range rows {
		wide = max(wide, utf8.RuneCountInString(rows[i].Name))
		if heads, texts := rows[i].Cells(); heads != nil {
			for _, text := range texts {
				width = max(width, utf8.RuneCountInString(text))
			}
		}
	}
	var b strings.Builder
	var last, names []string
	line := func(name string, cells []string) {
		fmt.Fprintf(&b, "%-*s", wide, name)
		for _, c := range cells {
			fmt.Fprintf(&b, "  %*s", width, c)
		}
		b.WriteByte('\n')
	}
	first := slices.IndexFunc(rows, func(r Row) bool { return r.Result != nil })
	for n := range rows {
		heads, cells := rows[n].Cells()
		switch {
		case heads == nil && n < first:
			heads, _ = rows[first].Cells()
		case heads == nil:
			heads = last
		}
		if !slices.Equal(heads, last) {
			line(title, heads)
			title, last = "", heads
			names = append(names, heads...)
		}
		line(rows[n].Name, cells)
	}
	var results []*eval.Result
	for _, r := range rows {
		if r.Result != nil {
			results = append(results, r.Result)
		}
	}
	if legend := legend(names, results); legend != "" {
		fmt.Fprintf(&b, "%s\n", legend)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// legend describes the named means that exist. It gives the number of lengths if that is the
// same in all results.
func legend(names []string, of []*eval.Result) string {
	var parts []string
	for _, name := range []string{eval.ID, eval.OOD, eval.OOD100, eval.Overall} {
		if !slices.Contains(names, name) {
			continue
		}
		what, general := "", new(eval.Result).What(name)
		for _, r := range of {
			switch over := r.What(name); {
			case r.Mean(name) == nil:
			case what == "":
				what = over
			case what != over:
				what = general
			}
		}
		parts = append(parts, name+": "+cmp.Or(what, general))
	}
	return strings.Join(parts, "; ")
}

// percent writes a fraction in per cent, or "-" for nil.
func percent(x *float64) string {
	if x == nil {
		return "-"
	}
	return track.Percent(*x)
}

// ranked lists the means by which results are compared: problems unlike those of training
// first.
var ranked = []string{eval.OOD, eval.OOD100, eval.ID, eval.Overall}

// Compare orders results by their means, the better one last: by ood, then by ood100, id
// and overall; of a text by the loss.
func Compare(a, b *eval.Result) int {
	if none := (eval.Text{}); a.Text != none && b.Text != none {
		return cmp.Compare(b.Text.Loss, a.Text.Loss)
	}
	for _, name := range ranked {
		value := func(r *eval.Result) float64 {
			if m := r.Mean(name); m != nil {
				return *m
			}
			return -1
		}
		if c := cmp.Compare(value(a), value(b)); c != 0 {
			return c
		}
	}
	return 0
}
