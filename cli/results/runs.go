package results

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/plot/list"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/track"
)

// A runOrder is an order of runs.
type runOrder struct {
	name    string
	compare func(a, b *list.Run) int
}

var runOrders = []runOrder{
	{"started", func(a, b *list.Run) int { return a.Started.Compare(b.Started) }},
	{"dir", func(a, b *list.Run) int { return 0 }}, // as they are read
	{"loss", func(a, b *list.Run) int { return -byValue(a.Loss, b.Loss, true) }},
	{"held_out", func(a, b *list.Run) int { return byValue(a.ExactMatch, b.ExactMatch, false) }},
	{eval.ID, func(a, b *list.Run) int { return byValue(a.ID, b.ID, false) }},
	{eval.OOD, func(a, b *list.Run) int { return byValue(a.OOD, b.OOD, false) }},
	{eval.Overall, func(a, b *list.Run) int { return byValue(a.Overall, b.Overall, false) }},
	{bits, func(a, b *list.Run) int { return -byValue(a.Bits(), b.Bits(), true) }},
}

// bits names the tested loss of a model of text.
const bits = "bits"

// byValue compares two values. An unknown value is the smallest, or the largest if last is
// set.
func byValue(a, b *float64, last bool) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil && last, b == nil && !last:
		return 1
	case a == nil || b == nil:
		return -1
	}
	return cmp.Compare(*a, *b)
}

// OrderNames lists the values of --sort.
func OrderNames() string {
	var names []string
	for _, o := range runOrders {
		names = append(names, o.name)
	}
	return strings.Join(names, ",")
}

// runsTable returns the list for programs.
func runsTable(runs []*list.Run) table {
	differing := list.Differing(runs)
	heads := []string{"dir", "name", "state", "seed", "started", "device", "budget", "step", "loss", "exact_match", "seconds", eval.ID, eval.OOD, eval.Overall}
	texts := slices.ContainsFunc(runs, func(r *list.Run) bool { return r.Bits() != nil })
	if texts {
		heads = append(heads, bits)
	}
	initial := slices.ContainsFunc(runs, func(r *list.Run) bool { return r.InitSeed != nil })
	if initial {
		heads = append(heads, "init_seed")
	}
	labelled := slices.ContainsFunc(runs, isLabelled)
	if labelled {
		heads = append(heads, "label", "tags", "note")
	}
	t := table{heads: append(heads, differing...)}
	for _, r := range runs {
		started := ""
		if !r.Started.IsZero() {
			started = r.Started.Format("2006-01-02T15:04:05Z07:00")
		}
		row := []any{r.Dir, r.Name, r.State, r.Seed, started, r.Device, r.Budget, r.Step, exactly(r.Loss), exactly(r.ExactMatch), r.Seconds, exactly(r.ID), exactly(r.OOD), exactly(r.Overall)}
		if texts {
			row = append(row, exactly(r.Bits()))
		}
		if initial {
			row = append(row, seedCell(r.InitSeed))
		}
		if labelled {
			row = append(row, r.Label.Name, strings.Join(r.Label.Tags, ","), r.Label.Note)
		}
		for _, name := range differing {
			row = append(row, r.Settings[name])
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// isLabelled reports whether a run has a name, a tag or a note.
func isLabelled(r *list.Run) bool { return !r.Label.Empty() }

// seedCell returns a seed of initial weights, or "".
func seedCell(seed *uint64) any {
	if seed == nil {
		return ""
	}
	return *seed
}

// exactly writes a value with all its digits, or "".
func exactly(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'g', -1, 64)
}

// PrintRuns prints the list for people, and the problems of damaged runs.
func PrintRuns(sh *shell.Shell, runs []*list.Run) error {
	beside := map[string][]*list.Run{} // by the runs' folder
	for _, r := range runs {
		beside[path.Dir(r.Dir)] = append(beside[path.Dir(r.Dir)], r)
	}
	differing := map[string][]string{}
	for dir, some := range beside {
		differing[dir] = list.Differing(some)
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	heads := []string{eval.ID, eval.OOD}
	if slices.ContainsFunc(runs, func(r *list.Run) bool { return r.Overall != nil }) {
		heads = append(heads, eval.Overall)
	}
	texts := slices.ContainsFunc(runs, func(r *list.Run) bool { return r.Bits() != nil })
	if texts {
		heads = append(heads, bits)
	}
	labelled := slices.ContainsFunc(runs, isLabelled)
	tail := "\tsettings"
	if labelled {
		tail = "\tlabel\tsettings"
	}
	fmt.Fprintln(w, "run\tstate\tstep\tloss\theld out\t"+strings.Join(heads, "\t")+tail)
	var damaged []*list.Run
	for _, r := range runs {
		if r.State == list.Damaged {
			damaged = append(damaged, r)
		}
		loss := "-"
		if r.Loss != nil {
			loss = strconv.FormatFloat(*r.Loss, 'g', 3, 64)
		}
		tested := ""
		for _, name := range heads {
			if name == bits {
				tested += number(r.Bits()) + "\t"
				continue
			}
			tested += percent(r.Mean(name)) + "\t"
		}
		heldOut := percent(r.ExactMatch)
		if r.ExactMatch == nil && r.HeldOut != nil {
			heldOut = strconv.FormatFloat(*r.HeldOut, 'g', 3, 64)
		}
		if labelled {
			tested += printable(r.Called()) + "\t"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s%s\n", printable(r.Dir), r.State, r.Step, loss, heldOut, tested, printable(r.Said(differing[path.Dir(r.Dir)])))
	}
	w.Flush()
	for line := range strings.Lines(text.String()) {
		if _, err := fmt.Fprintln(sh.Out, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	for _, r := range damaged {
		sh.Say("%s: %s", printable(r.Dir), printable(r.Problem))
	}
	states := map[list.State]int{}
	for _, r := range runs {
		states[r.State]++
	}
	var counts []string
	for _, s := range []list.State{list.Running, list.Stopped, list.Trained, list.Tested, list.Damaged} {
		if states[s] > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", states[s], s))
		}
	}
	what := "runs"
	if len(runs) == 1 {
		what = "run"
	}
	sh.Say("%s %s: %s", track.Thousands(len(runs)), what, strings.Join(counts, ", "))
	return nil
}

// printable replaces characters that could control the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}

// A Filter chooses runs: those with all tags, and with all words in their directory, label, state
// or settings.
type Filter struct {
	Tags  []string
	Words string
}

// chooses reports whether the list has a run.
func (f *Filter) chooses(r *list.Run) bool {
	for _, t := range f.Tags {
		if !slices.Contains(r.Label.Tags, t) {
			return false
		}
	}
	text := []string{r.Dir, r.Name, string(r.State), r.Called(), r.Label.Note, r.Said(slices.Sorted(maps.Keys(r.Settings)))}
	all := strings.ToLower(strings.Join(text, "\n"))
	for _, word := range strings.Fields(strings.ToLower(f.Words)) {
		if !strings.Contains(all, word) {
			return false
		}
	}
	return true
}

// List prints the runs below a folder that a filter chooses, in the given order. It returns an
// error if the folder does not exist.
func List(sh *shell.Shell, dir string, only Filter, order string, asCSV bool) error {
	runs, err := shell.Await(sh, func() ([]*list.Run, error) { return list.Runs(damage.At(dir)) })
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no folder %s: train a model with mlc train FILE, or name the folder of the runs", dir)
	}
	if err != nil {
		return err
	}
	below := len(runs)
	runs = slices.DeleteFunc(runs, func(r *list.Run) bool { return !only.chooses(r) })
	i := slices.IndexFunc(runOrders, func(o runOrder) bool { return o.name == order })
	slices.SortStableFunc(runs, runOrders[i].compare)
	switch {
	case sh.JSON:
		for _, r := range runs {
			if err := sh.PrintJSON(r); err != nil {
				return err
			}
		}
		return nil
	case asCSV:
		return writeCSV(sh.Out, []table{runsTable(runs)})
	case len(runs) == 0 && below > 0:
		sh.Say("none of the %s runs below %s is chosen by --tag and --find", track.Thousands(below), dir)
		return nil
	case len(runs) == 0:
		sh.Say("no runs below %s", dir)
		return nil
	}
	return PrintRuns(sh, runs)
}
