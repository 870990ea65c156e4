package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/track"
)

// A resultRow is how well one training of several went.
type resultRow struct {
	name    string
	result  *eval.Result
	lengths []int  // that the spec tests; none: all that there are
	missing string // says why there is no result
}

// readResult reads what a run directory says.
func readResult(name, dir string) (resultRow, error) {
	row := resultRow{name: name, missing: "no result"}
	if dir == "" {
		return row, nil
	}
	trained, err := record.Trained(dir)
	if err == nil {
		row.result, err = eval.Load(filepath.Join(trained, "eval"))
	}
	if err != nil {
		row.missing = "unreadable"
	}
	return row, err
}

// maxLengths is how many lengths are columns of a table.
const maxLengths = 12

// columns are the heads of a result's columns and what it has in them: each length
// that the spec tests, or the means where those are too many or make a grid.
func (r resultRow) columns() (heads, cells []string) {
	equal := func(c eval.Cell) bool { return c.J == 0 || c.I == c.J }
	all := slices.Clone(r.result.ByCell)
	if len(r.lengths) > 0 {
		all = slices.DeleteFunc(all, func(c eval.Cell) bool { return !slices.Contains(r.lengths, c.I) })
	}
	if len(all) <= maxLengths && !slices.ContainsFunc(all, func(c eval.Cell) bool { return !equal(c) }) {
		for _, c := range all {
			f := c.Fraction()
			heads, cells = append(heads, fmt.Sprint(c.I)), append(cells, percent(&f))
		}
		return heads, cells
	}
	if r.result.Overall != nil {
		return []string{"all"}, []string{percent(r.result.Overall)}
	}
	return []string{"trained", "longer", "over 100"}, []string{percent(r.result.ID), percent(r.result.OOD), percent(r.result.OOD100)}
}

// writeResults prints results as one table, a training a line. Where the columns
// change, as from digits to bits, heads come again.
func writeResults(w io.Writer, rows []resultRow) error {
	title := "exact match, %"
	wide := len(title)
	for _, r := range rows {
		wide = max(wide, len(r.name))
	}
	var b strings.Builder
	var last []string
	line := func(name string, cells []string) {
		fmt.Fprintf(&b, "%-*s", wide, name)
		for _, c := range cells {
			fmt.Fprintf(&b, "  %8s", c)
		}
		b.WriteByte('\n')
	}
	first := slices.IndexFunc(rows, func(r resultRow) bool { return r.result != nil })
	for n, r := range rows {
		heads, cells := last, []string{r.missing}
		switch {
		case r.result != nil:
			heads, cells = r.columns()
		case n < first:
			heads, _ = rows[first].columns()
		}
		if !slices.Equal(heads, last) {
			line(title, heads)
			title, last = "", heads
		}
		line(r.name, cells)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// percent writes a fraction, "-" if there is none.
func percent(x *float64) string {
	if x == nil {
		return "-"
	}
	return track.Percent(*x)
}
