package check

import (
	"fmt"
	"slices"
	"strings"
)

// Bounds on the cells of attention that vetWindows evaluates, which take about 40 ns
// each. A training gets half of the cells that are left for the sweep, but at least
// fewCells.
const (
	cellsOfSweep = 1 << 21
	fewCells     = 1 << 15
	cellsBeside  = 200     // take as long as creating a problem
	cellsFurther = 1 << 16 // after a finding, to look for a simpler one
)

// vetWindows looks for two problems that no model with these masks and positions can both
// answer. A row of each knows the same after all layers, but must predict different
// tokens. It looks only at some problems.
func (c *checker) vetWindows(s *Spec) {
	v := newView(s)
	if v == nil {
		return
	}
	key := v.key(s)
	what, known := c.hidden[key]
	if !known {
		var cells int
		what, cells = v.search(s, max((cellsOfSweep-c.looked)/2, fewCells))
		c.hidden[key] = what
		c.looked += cells
	}
	if what != "" {
		c.report("V014", c.atFirst("model.decoder.cross.mask", "model.decoder_only.self.mask", "model.embed.position", "model"), "%s", what).
			WithHelp("no model that sees only this can answer both: open more to each row, or use positions or layers that tell them apart")
	}
}

// A seen is a row of a problem.
type seen struct {
	*exercise
	row int
}

// search describes a row that cannot tell two problems apart, or else two different rows,
// or returns "". It evaluates at most the given number of cells, and returns how many it
// did.
func (v *view) search(s *Spec, most int) (what string, cells int) {
	rows, any, prompts := make(map[uint64]seen), make(map[uint64]seen), make(map[string]bool)
	for p := range s.shortProblems() {
		cost := cellsBeside + v.cost(p)
		if cells+cost > most {
			break
		}
		cells += cost
		if prompts[p.prompt] { // a file may answer a prompt twice
			continue
		}
		prompts[p.prompt] = true
		for row, known := range v.rows(p) {
			this := seen{p, row}
			if p.labels[row] < 0 {
				continue
			}
			if other, ok := other(rows, mixed(known, uint64(row)), this); ok {
				return v.describe(other, this), cells
			}
			if other, ok := other(any, known, this); ok && what == "" {
				what, most = v.describe(other, this), min(most, cells+cellsFurther)
			}
		}
	}
	return what, cells
}

// other returns an earlier row that knows the same but must predict another token.
func other(first map[uint64]seen, known uint64, x seen) (seen, bool) {
	other, ok := first[known]
	if !ok {
		first[known] = x
	}
	return other, ok && other.says() != x.says()
}

// describe states what two rows see, and what each must predict.
func (v *view) describe(a, b seen) string {
	what := "the same tokens"
	if symbols := v.symbols(a); len(symbols) <= fewSymbols {
		what = listed(symbols) + " alone"
	}
	switch {
	case a.row == b.row:
		return fmt.Sprintf("row %d%s sees %s, and must say %s for %s, %s for %s", a.row, a.answers(), what, a.says(), a.text, b.says(), b.text)
	case a.exercise == b.exercise:
		return fmt.Sprintf("row %d and row %d of %s see %s, and must say %s and %s", a.row, b.row, a.text, what, a.says(), b.says())
	}
	return fmt.Sprintf("row %d of %s and row %d of %s see %s, and must say %s and %s", a.row, a.text, b.row, b.text, what, a.says(), b.says())
}

// fewSymbols is how many tokens a message lists.
const fewSymbols = 12

// listed joins names as in "a, b and c".
func listed(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// answers names the token of the answer that a row predicts, if the row's number differs.
func (x seen) answers() string {
	if x.asked == 0 {
		return ""
	}
	return fmt.Sprintf(", which says token %d of the answer,", x.row-x.asked)
}

func (x seen) says() string { return x.of.Symbol(x.labels[x.row]) }

// symbols lists the distinct tokens that a row sees, directly and through other rows.
func (v *view) symbols(x seen) (list []string) {
	add := func(ids []int32, places []int) {
		for _, i := range places {
			if symbol := x.of.Symbol(ids[i]); !slices.Contains(list, symbol) {
				list = append(list, symbol)
			}
		}
	}
	v.look(x.exercise)
	rows := v.self.reach([]int{x.row}, len(x.target), v.layers)
	add(x.target, rows)
	for _, a := range v.cross {
		places := a.read(rows, len(x.target), len(x.source))
		add(x.source, v.encoder.reach(places, len(x.source), v.encoders))
	}
	return list
}
