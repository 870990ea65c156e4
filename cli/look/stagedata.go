package look

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/train"
)

// The number of problems of each sort in --stage data, and of tokens in a line.
const (
	shownTrained = 8
	shownHeld    = 2
	shownTested  = 2
	lineTokens   = 24
)

// dataText shows problems as the model gets them: as text, as tokens, with places and Abacus
// rows, and with the label of each row. Above them is the scheme of positions.
func dataText(p *compiler.Program, _ string) (string, error) {
	cfg := task.Config(p.Spec.Task.Task)
	t, err := tasks.New(cfg, p.Spec.Train.Seed)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "task %s, %d tokens, seed %d\n", cfg.Kind, t.Vocab(), p.Spec.Train.Seed)
	fmt.Fprintf(&b, "positions: %s\n", positionsText(p.Spec))
	s := sample{task: t, cfg: &cfg, out: &b}
	trained := t.Over((*train.Config)(&p.Spec.Train.Train).Length())
	for k := range int64(shownTrained) {
		s.show(fmt.Sprintf("training example %d", k), trained.Train(k))
	}
	if t.HoldsOut() {
		for k := range int64(shownHeld) {
			s.show(fmt.Sprintf("held-out problem %d", k), t.HeldOut(k))
		}
	}
	i, j := t.Extent()
	if ls := t.Lengths(); len(ls) > 0 {
		i = ls[len(ls)-1]
	}
	tested := t.Cell(i, j, shownTested)
	if t.Reads() {
		tested = nil // they are the held-out ones
	}
	for k, q := range tested {
		s.show(fmt.Sprintf("test problem %d of %s", k, cell(t, i, j)), q)
	}
	if s.err == nil && cfg.Sequence {
		s.err = s.batch(p)
	}
	return b.String(), s.err
}

// positionsText says which numbers the embedding takes as positions, and what training draws.
func positionsText(spec *check.Spec) string {
	p := &spec.Model.Position
	text, to, shared := p.Kind, "digits", fmt.Sprintf("the same for %d examples", spec.DrawGroup())
	if p.Inner != "" && p.Inner != "none" {
		text += " (" + p.Inner + ")"
	}
	switch p.Kind {
	case "none":
		return "none in the embedding"
	case "cyclic":
		return fmt.Sprintf("%s, the place modulo %d", text, p.Period)
	case "random":
		return fmt.Sprintf("%s, in training ascending numbers drawn below %d, %s", text, p.Max, shared)
	case "shifted":
		return text + ", the place and an offset, drawn for each example in training"
	case "abacus":
		text += ", the place of a digit in its number, from 1"
		if p.Coupled {
			to, shared = "all tokens", "drawn for each example"
		}
		if p.MaxOffset == 0 {
			return text
		}
		return fmt.Sprintf("%s; training adds 0 to %d to %s, %s", text, p.MaxOffset, to, shared)
	}
	return text + ", the place"
}

// cell names a cell of the test.
func cell(t *task.Task, i, j int) string {
	first, second := t.Axes()
	if second == "" {
		return fmt.Sprintf("%d %s", i, first)
	}
	return fmt.Sprintf("%d %s, %d %s", i, first, j, second)
}

// A sample prints problems.
type sample struct {
	task *task.Task
	cfg  *task.Config
	out  *strings.Builder
	err  error
}

// show prints a problem. The first error stays.
func (s *sample) show(title string, p task.Problem) {
	w, err := s.task.Width(p)
	if s.err = cmp.Or(s.err, err); s.err != nil {
		return
	}
	b := s.task.NewBatch(1, w)
	s.task.Encode(p, w, b)
	if s.task.Reads() {
		fmt.Fprintf(s.out, "\n%s: %q\n", title, s.task.Text(p))
		s.rows(row{"symbol", s.symbols(b.Target)}, row{"token", numbers(b.Target)}, row{"says", s.symbols(b.Labels)})
		return
	}
	fmt.Fprintf(s.out, "\n%s: %s = %s\n", title, s.task.Text(p), p.Answer)
	if !s.cfg.Sequence {
		s.rows(row{"source", s.symbols(b.Source)}, row{"token", numbers(b.Source)})
		s.rows(row{"target", s.symbols(b.Target)}, row{"token", numbers(b.Target)}, row{"says", s.symbols(b.Labels)})
		return
	}
	fmt.Fprintf(s.out, "  %s\n", s.task.Written(p))
	// The end is only a label, not an input.
	ids := append(slices.Clone(b.Target), s.task.EOS())
	var places []int32
	for i := range ids {
		places = append(places, int32(i))
	}
	s.rows(row{"symbol", s.symbols(ids)}, row{"token", numbers(ids)}, row{"place", numbers(places)}, row{"abacus", numbers(s.task.Runs(ids))}, row{"says", s.symbols(b.Labels)})
}

// A row is a name and an entry for each token.
type row struct {
	name    string
	entries []string
}

// rows prints rows below each other, folded to the width of a line. Columns are as wide as
// the longest entry.
func (s *sample) rows(rows ...row) {
	n, wide := len(rows[0].entries), 3
	for _, r := range rows {
		for _, e := range r.entries {
			wide = max(wide, utf8.RuneCountInString(e))
		}
	}
	for lo := 0; lo < n; lo += lineTokens {
		for _, r := range rows {
			line := fmt.Sprintf("  %-7s", r.name)
			for _, e := range r.entries[min(lo, len(r.entries)):min(lo+lineTokens, len(r.entries))] {
				line += strings.Repeat(" ", 1+wide-utf8.RuneCountInString(e)) + e
			}
			s.out.WriteString(line + "\n")
		}
	}
}

// symbols shows tokens. A row without a label has a dot.
func (s *sample) symbols(ids []int32) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = "."
		if id >= 0 {
			out[i] = s.task.Symbol(id)
			if strings.ContainsFunc(out[i], unicode.IsControl) {
				out[i] = strings.Trim(strconv.Quote(out[i]), `"`)
			}
		}
	}
	return out
}

func numbers(ids []int32) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = fmt.Sprint(id)
	}
	return out
}

// batch describes the layout of the sequences of the first step.
func (s *sample) batch(p *compiler.Program) error {
	n := p.Spec.Train.Batch
	d, launches := s.task.NewDrawer(p.Batches.Group, p.Batches.Micro), "launches"
	if p.Lowered.Packed {
		d.Pack()
		launches = "packed launches"
	}
	b, err := d.Train(0, n)
	if err != nil {
		return err
	}
	tokens := 0
	for k := range int64(n) {
		w, err := s.task.Width(s.task.Train(k))
		if err != nil {
			return err
		}
		tokens += w
	}
	fmt.Fprintf(s.out, "\nThe first %d examples, in %s of %d, have %d to %d rows each; %.1f %% of the rows are tokens, %.1f %% have a label.\n",
		n, launches, p.Batches.Micro, slices.Min(b.Parts.Rows), slices.Max(b.Parts.Rows), share(tokens, b), share(b.Kept(), b))
	return nil
}

// share returns a number of rows of a batch in per cent.
func share(n int, b task.Batch) float64 { return 100 * float64(n) / float64(len(b.Labels)) }
