package results

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/plot"
	"github.com/arithlang/mlc/runtime/calibrate"
	"github.com/arithlang/mlc/runtime/eval"
)

var tableFormats = []string{"text", "markdown", "csv"}

// A table has rows of cells under heads.
type table struct {
	title string
	heads []string
	rows  [][]any
}

// print prints tables. For people a line is a training or a head. For programs, as CSV or
// JSON, it is a cell or a line of attention.
func (c *Figures) print(sh *shell.Shell, runs []*plot.Run) error {
	tested := c.Kind != "attention" && slices.ContainsFunc(runs, func(r *plot.Run) bool { return r.Result != nil })
	var wide, long []table
	if tested {
		wide = append(wide, c.wideResults(runs)...)
		long = append(long, longResults(runs))
		if c.Kind == "all" || c.Kind == "table" {
			long = append(long, longTexts(runs))
		}
	}
	if c.Kind == "all" || c.Kind == "attention" {
		wide = append(wide, wideLines(runs)...)
		long = append(long, longLines(runs))
	}
	long = slices.DeleteFunc(long, func(t table) bool { return len(t.rows) == 0 })
	if len(long) == 0 {
		return c.nothing()
	}
	switch {
	case sh.JSON:
		return printRows(sh, long)
	case c.Format == "csv":
		return writeCSV(sh.Out, long)
	case c.Kind == "grid":
		return writeGrids(sh.Out, runs)
	case c.Format == "markdown":
		return writeMarkdown(sh.Out, wide)
	}
	if tested {
		if err := WriteTable(sh.Out, c.resultRows(runs)); err != nil {
			return err
		}
	}
	if c.Kind == "length" {
		if err := writeCharts(sh.Out, runs); err != nil {
			return err
		}
	}
	return writeText(sh.Out, slices.DeleteFunc(wide, func(t table) bool { return t.title == "" }))
}

// resultRows returns the results of runs, with a different name for each.
func (c *Figures) resultRows(runs []*plot.Run) []Row {
	var rows []Row
	for i, name := range plot.Labels(runs) {
		r := runs[i]
		of := Kin{Kind: r.System(), Name: r.System(), Seed: r.Seeds()}
		rows = append(rows, Row{Name: name, Result: r.Result, Lengths: c.Digits, only: c.Digits != nil, Missing: "no result", Of: of})
	}
	return rows
}

// wideResults returns tables of exact match with a line for each run, and the means over
// seeds. Adjacent runs with the same columns share a table.
func (c *Figures) wideResults(runs []*plot.Run) []table {
	rows := withMeans(c.resultRows(runs))
	// A row without a result is below the heads of the row before, or of the first result.
	first := rows[slices.IndexFunc(rows, func(r Row) bool { return r.Result != nil })]
	columns, _ := first.columns()
	heads := append([]string{first.title()}, columns...)
	var all []table
	for _, r := range rows {
		columns, texts := r.Cells()
		if columns != nil {
			heads = append([]string{r.title()}, columns...)
		}
		cells := []any{r.Name}
		for _, text := range texts {
			cells = append(cells, text)
		}
		if len(all) == 0 || !slices.Equal(all[len(all)-1].heads, heads) {
			all = append(all, table{heads: heads})
		}
		last := &all[len(all)-1]
		last.rows = append(last.rows, cells)
	}
	return all
}

// longResults returns all cells of all runs, one a line.
func longResults(runs []*plot.Run) table {
	t := table{heads: []string{"run", "name", "seed", "i", "j", "samples", "correct"}}
	initial := slices.ContainsFunc(runs, func(r *plot.Run) bool { return r.InitSeed != nil })
	if initial {
		t.heads = append(t.heads, "init_seed")
	}
	for _, r := range runs {
		if r.Result == nil {
			continue
		}
		for _, c := range r.Result.ByCell {
			row := []any{r.Dir, r.Name, r.Seed, c.I, c.J, c.Samples, c.Correct}
			if initial {
				row = append(row, seedCell(r.InitSeed))
			}
			t.rows = append(t.rows, row)
		}
	}
	return t
}

// longTexts returns the losses of all models of text, one a line.
func longTexts(runs []*plot.Run) table {
	t := table{heads: []string{"run", "name", "seed", "characters", "loss", bits}}
	for _, r := range runs {
		if r.Result != nil && r.Result.Text != (eval.Text{}) {
			x := r.Result.Text
			t.rows = append(t.rows, []any{r.Dir, r.Name, r.Seed, x.Tokens, x.Loss, x.Bits})
		}
	}
	return t
}

// wideLines returns, for each calibration, a table of the lines that heads keep.
func wideLines(runs []*plot.Run) []table {
	var all []table
	for _, r := range runs {
		for _, c := range r.Calibrations {
			t := table{heads: []string{"head"}, title: fmt.Sprintf("%s, %s: lines that %s keeps of %s, decoder layer %d, mean of %d problems",
				r.Name, r.Seeds(), c.Stage, c.From, c.Layer, c.Samples)}
			for _, s := range c.Sites {
				for h, head := range s.Heads {
					if h == len(t.rows) {
						t.rows = append(t.rows, []any{h})
					}
					for _, f := range head.Directions {
						if h == 0 {
							t.heads = append(t.heads, s.Name+" "+f.Formula)
						}
						t.rows[h] = append(t.rows[h], keptLines(head, f))
					}
				}
			}
			all = append(all, t)
		}
	}
	return all
}

// keptLines lists the kept lines along a direction: 61 (1.65), 123 (1.00).
func keptLines(h calibrate.Head, f calibrate.Family) string {
	var all []string
	for _, l := range f.Lines {
		if l.Kept {
			all = append(all, fmt.Sprintf("%d (%.2f)", l.Number, l.Value))
		}
	}
	switch {
	case h.Transparent:
		return "transparent"
	case len(all) == 0:
		return "-"
	}
	return strings.Join(all, ", ")
}

// longLines returns every line of attention that calibrations have measured.
func longLines(runs []*plot.Run) table {
	t := table{heads: []string{"run", "stage", "site", "head", "a", "b", "line", "value", "cells", "kept"}}
	for _, r := range runs {
		for _, c := range r.Calibrations {
			for _, s := range c.Sites {
				for h, head := range s.Heads {
					for _, f := range head.Directions {
						for _, l := range f.Lines {
							t.rows = append(t.rows, []any{r.Dir, c.Stage, s.Name, h, f.Direction[0], f.Direction[1], l.Number, l.Value, l.Cells, l.Kept})
						}
					}
				}
			}
		}
	}
	return t
}

// printRows prints each row as a JSON object.
func printRows(sh *shell.Shell, tables []table) error {
	for _, t := range tables {
		for _, row := range t.rows {
			object := map[string]any{}
			for i, cell := range row {
				object[t.heads[i]] = cell
			}
			if err := sh.PrintJSON(object); err != nil {
				return err
			}
		}
	}
	return nil
}

// texts returns the cells of a row as texts, one for each head.
func (t *table) texts(row []any) []string {
	out := make([]string, len(t.heads))
	for i, cell := range row {
		out[i] = fmt.Sprint(cell)
	}
	return out
}

// writeCSV writes tables, separated by empty lines.
func writeCSV(w io.Writer, tables []table) error {
	for i, t := range tables {
		if i > 0 {
			fmt.Fprintln(w)
		}
		out := csv.NewWriter(w)
		out.Write(t.heads)
		for _, row := range t.rows {
			out.Write(t.texts(row))
		}
		out.Flush()
		if err := out.Error(); err != nil {
			return err
		}
	}
	return nil
}

// writeMarkdown writes tables under their titles.
func writeMarkdown(w io.Writer, tables []table) error {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	for i, t := range tables {
		if i > 0 {
			b.WriteByte('\n')
		}
		if t.title != "" {
			fmt.Fprintf(&b, "%s\n\n", t.title)
		}
		line(t.heads)
		b.WriteString(strings.Repeat("|---", len(t.heads)) + "|\n")
		for _, row := range t.rows {
			line(t.texts(row))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeText writes tables under their titles, with aligned columns.
func writeText(w io.Writer, tables []table) error {
	var b strings.Builder
	for _, t := range tables {
		fmt.Fprintln(&b, t.title)
		lines := [][]string{t.heads}
		for _, row := range t.rows {
			lines = append(lines, t.texts(row))
		}
		wide := make([]int, len(t.heads))
		for _, l := range lines {
			for i, cell := range l {
				wide[i] = max(wide[i], len(cell))
			}
		}
		for _, l := range lines {
			text := ""
			for i, cell := range l {
				text += fmt.Sprintf("  %-*s", wide[i], cell)
			}
			b.WriteString(strings.TrimRight(text, " ") + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// gridWidth is the largest width of a grid, in characters.
const gridWidth = 100

// writeGrids draws each run's grid in characters.
func writeGrids(w io.Writer, runs []*plot.Run) error {
	for _, r := range runs {
		if r.Result == nil {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s, %s\n%s", r.Name, r.Seeds(), r.Result.Table(gridWidth)); err != nil {
			return err
		}
	}
	return nil
}

// writeCharts draws exact match by length for each run, in characters.
func writeCharts(w io.Writer, runs []*plot.Run) error {
	labels := plot.Labels(runs)
	for i, r := range runs {
		if r.Result == nil {
			continue
		}
		if chart := r.Result.Chart(gridWidth); chart != "" {
			if _, err := fmt.Fprintf(w, "\n%s\n%s", labels[i], chart); err != nil {
				return err
			}
		}
	}
	return nil
}
