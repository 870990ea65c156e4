package records

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/arithlang/mlc/bench/peers"
	"github.com/arithlang/mlc/prove"
	"github.com/arithlang/mlc/prove/beside"
	"github.com/arithlang/mlc/prove/probe"
	"github.com/arithlang/mlc/prove/timing"
	"github.com/arithlang/mlc/runtime/profile"
)

// A record is the speeds of a card in a committed file.
type record struct {
	Name    string // of the file, for the page
	Started string // RFC 3339, or its beginning
	Parts   []*prove.Part
}

// speedTables returns the tables of speeds in docs/gpu-speeds.md: training steps next to PyTorch's, the
// kernels of a step, and rates. Among parts of one name, the newest counts.
func speedTables(records []record) string {
	records = slices.Clone(records)
	slices.SortStableFunc(records, func(a, b record) int { return strings.Compare(a.Started, b.Started) })
	newest := map[string]record{}
	for _, r := range records {
		for _, p := range r.Parts {
			newest[p.Name] = record{Name: r.Name, Parts: []*prove.Part{p}}
		}
	}
	names := slices.SortedFunc(maps.Keys(newest), compareParts)
	var contests []contested
	var kernels, rates strings.Builder
	for _, name := range names {
		r := newest[name]
		switch p := r.Parts[0]; {
		case p.Peer != nil:
			contests = append(contests, contested{name, r.Name, p.Peer})
		case p.Timed != nil:
			kernelRows(&kernels, name, r.Name, p.Timed)
		default:
			rateRows(&rates, r.Name, p.Figures)
		}
	}
	var b strings.Builder
	b.WriteString(contestTable(contests))
	if kernels.Len() > 0 {
		b.WriteString("\nThe kernels of a step that take most of it, each launch timed:\n\n" +
			"| spec | kernel | launches | ms a step | of the kernels | of the peak | bound by | record |\n|---|---|---:|---:|---:|---:|---|---|\n" + kernels.String())
	}
	if rates.Len() > 0 {
		b.WriteString("\nRates and single operations, the best of five rounds:\n\n| what | value | record |\n|---|---:|---|\n" + rates.String())
	}
	return b.String()
}

// compareParts sorts by the place in the table of measurements, then by name.
func compareParts(a, b string) int {
	return cmp.Or(cmp.Compare(prove.SpeedPhase(a), prove.SpeedPhase(b)), strings.Compare(a, b))
}

// A contested part is a contest with the name of its record.
type contested struct {
	name, record string
	*beside.Result
}

// ways are the columns of the table of contests.
var ways = []string{"eager", "compile", "cudagraph", "packed"}

// contestTable has a row for each case and precision, and a column for each of PyTorch's ways:
// its time, and that time divided by mlc's.
func contestTable(all []contested) string {
	type row struct {
		title   string
		cells   map[string]string
		ours    float64
		records []string
	}
	var rows []*row
	for _, c := range all {
		f := strings.Fields(c.name) // case, way, precision
		title := fmt.Sprintf("%s, %d examples, %s", specOf(f[0]), c.Batch, precisions(f[0], f[2]))
		i := slices.IndexFunc(rows, func(r *row) bool { return r.title == title })
		if i < 0 {
			rows, i = append(rows, &row{title: title, cells: map[string]string{}}), len(rows)
		}
		r := rows[i]
		r.ours = c.Ours
		r.cells[f[1]] = fmt.Sprintf("%.2f ms, %.2f", 1e3*c.Peers, c.Ratio)
		if c.Graphs != nil && c.Graphs.Recompiled > 0 {
			r.cells[f[1]] += fmt.Sprintf(" (%d graphs compiled meanwhile)", c.Graphs.Recompiled)
		}
		if !slices.Contains(r.records, c.record) {
			r.records = append(r.records, c.record)
		}
	}
	if rows == nil {
		return ""
	}
	b := strings.Builder{}
	b.WriteString("A training step, alternating with PyTorch's: its time, and PyTorch's time divided by mlc's. Above 1 mlc is faster, below 1 it is slower.\n\n")
	b.WriteString("| spec | mlc | " + strings.Join(ways, " | ") + " | record |\n|---|---:|" + strings.Repeat("---:|", len(ways)) + "---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %.2f ms |", r.title, 1e3*r.ours)
		for _, way := range ways {
			fmt.Fprintf(&b, " %s |", cmp.Or(r.cells[way], "not measured"))
		}
		fmt.Fprintf(&b, " `%s` |\n", strings.Join(r.records, "`, `"))
	}
	return b.String()
}

// specOf returns the spec of a case and its changes.
func specOf(name string) string {
	all := peers.Cases()
	i := slices.IndexFunc(all, func(c peers.Case) bool { return c.Name == name })
	if i < 0 {
		return name
	}
	spec := "`" + strings.TrimSuffix(strings.TrimPrefix(all[i].Spec, "specs/"), ".arith") + "`"
	if strings.HasSuffix(name, "-no-dropout") {
		spec += " without dropout"
	}
	return spec
}

// precisions returns the precisions that both sides of a contest compute in.
func precisions(name, theirs string) string {
	ours := "fp32"
	if strings.HasSuffix(name, "-bf16") {
		ours = "bf16"
	}
	if ours == theirs {
		return "both in " + ours
	}
	return fmt.Sprintf("mlc in %s, PyTorch in %s", ours, theirs)
}

// kernelRows writes a row of the whole step, then rows of the kernels that take most of it.
func kernelRows(b *strings.Builder, name, record string, t *timing.Timing) {
	step := t.Timed
	if t.Ahead > 0 {
		step = t.Ahead
	}
	fmt.Fprintf(b, "| %s | *a step of %d examples* | %.0f | %.2f | | | | `%s` |\n", name, t.Batch, t.Kernels, 1e3*step, record)
	rows := t.Working()
	slices.SortStableFunc(rows, func(a, b profile.Row) int { return cmp.Compare(b.Seconds, a.Seconds) })
	for _, r := range rows[:min(prove.WorstKernels, len(rows))] {
		peak := ""
		if r.Bound != "" {
			peak = fmt.Sprintf("%.0f %%", 100*r.OfPeak)
		}
		fmt.Fprintf(b, "| | `%s` | %.0f | %.2f | %.1f %% | %s | %s | |\n", r.Name, r.OnGPU, 1e3*r.Seconds, 100*r.Share, peak, r.Bound)
	}
}

// rateRows writes figures, or why they are missing.
func rateRows(b *strings.Builder, record string, figures []probe.Figure) {
	for _, f := range figures {
		value := cmp.Or(f.Missing, "not measured")
		if f.Value > 0 {
			value = fmt.Sprintf("%.4g %s", f.Value, f.Unit)
		}
		plain := strings.NewReplacer("|", "\\|")
		fmt.Fprintf(b, "| %s | %s | `%s` |\n", plain.Replace(f.Name), plain.Replace(value), record)
	}
}
