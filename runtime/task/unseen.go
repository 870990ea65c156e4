package task

import "slices"

// Unseen returns up to n problems of the lengths i and j that training does not see. If it can,
// it skips the first problems of Cell. Without a Holdout it returns any problems. With one, it
// returns none of lengths whose problems are all trained on.
func (t *Task) Unseen(i, j, first, n int) []Problem {
	first = min(first, maxFirst)
	a, b := t.Extent()
	trained := i <= a && (j <= b || t.Arity() == 1)
	if trained && t.cfg.Holdout > 0 && !t.Listed() && !t.HoldsOut() {
		return nil
	}
	if !trained || t.Listed() || !t.HoldsOut() {
		all := t.Cell(i, j, first+n)
		return all[max(len(all)-n, 0):]
	}
	if t.cfg.Below > 0 || t.cfg.Examples > 0 {
		found := t.drawUnseen(i, j, n)
		if len(found) == 0 && t.cfg.Examples > 0 { // a large domain is hardly in the set
			all := t.Cell(i, j, n)
			if t.cfg.Examples <= maxSet {
				return slices.DeleteFunc(all, func(p Problem) bool { u := t.of(p); return u.known()[u.hash(t.Draft(p).Operands)] })
			}
			if t.ExpectedSeen(all, t.cfg.Examples) < rarely*float64(len(all)) {
				return all
			}
		}
		return found
	}
	var found, early []Problem
	k := 0
	for p := range t.Each(i, j, first+int(enough*float64(n)/t.cfg.Holdout)) {
		if k++; t.of(p).isHeldOut(t.Draft(p)) {
			if k <= first {
				early = append(early, p)
			} else if found = append(found, p); len(found) == n {
				return found
			}
		}
	}
	return append(found, early[max(0, len(early)-(n-len(found))):]...)
}

// HasUnseen reports whether Unseen finds a problem of the lengths i and j.
func (t *Task) HasUnseen(i, j int) bool { return len(t.Unseen(i, j, 0, 1)) > 0 }

// Limits of Unseen: the most first problems that it skips, the most problems of a set that it
// draws, and its tries as a multiple of the expected number.
const (
	maxFirst = 1 << 16
	maxDrawn = 1 << 18
	enough   = 4
	rarely   = 0.01 // the greatest expected share of problems in a set too large to search
)

// drawUnseen takes problems of these lengths from the held-out problems of a set.
func (t *Task) drawUnseen(i, j, n int) []Problem {
	if t.Arrays() { // their entries differ in length
		return nil
	}
	var found []Problem
	known := map[string]bool{}
	for k := range min(t.Set(true), maxDrawn) {
		p := t.HeldOut(k)
		p.Fillers = nil
		fits := len(p.Operands[0]) == i && (j == 0 || len(p.Operands[1]) == j)
		if text := t.Text(p); fits && !known[text] {
			known[text] = true
			if found = append(found, p); len(found) == n {
				break
			}
		}
	}
	return found
}
