package task

// Unseen returns n problems of the lengths i and j, as Cell has them, that training does
// not see, and none of the first so many of Cell. It returns fewer where there are no more,
// and is not particular where nothing is held out or the lengths have few problems.
func (t *Task) Unseen(i, j, first, n int) []Problem {
	first = min(first, maxFirst)
	a, b := t.Extent()
	trained := i <= a && (j <= b || t.Arity() == 1)
	if !trained || t.Listed() || !t.HoldsOut() {
		all := t.Cell(i, j, first+n)
		return all[max(len(all)-n, 0):]
	}
	if t.cfg.Below > 0 || t.cfg.Examples > 0 {
		if found := t.drawUnseen(i, j, n); len(found) > 0 {
			return found
		}
		return t.Cell(i, j, n)
	}
	var found, early []Problem
	k := 0
	for p := range t.Each(i, j, first+int(enough*float64(n)/t.cfg.Holdout)) {
		if k++; t.of(p).isHeldOut(t.draft(p)) {
			if k <= first {
				early = append(early, p)
			} else if found = append(found, p); len(found) == n {
				return found
			}
		}
	}
	found = append(found, early[max(0, len(early)-(n-len(found))):]...)
	if len(found) == 0 {
		return t.Cell(i, j, n)
	}
	return found
}

// How far Unseen looks: beyond how many of the first problems, how many of a set it draws,
// and how many times as many as it takes on average it tries.
const (
	maxFirst = 1 << 16
	maxDrawn = 1 << 18
	enough   = 4
)

// drawUnseen takes those of the wanted lengths among the held-out problems of a set.
func (t *Task) drawUnseen(i, j, n int) []Problem {
	if t.Arrays() { // whose entries have several lengths
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
