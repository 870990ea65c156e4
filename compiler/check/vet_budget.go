package check

// enough is how many examples a digit of the longest operand needs at least before a model
// without windows adds. Models of widths 32 and 64 that were trained on up to 3 and 5 digits
// were right on half of their problems after 34,000 to 39,000, whether they drew offsets from 9
// or from 101, once or sixteen times a step; after 20,000 they were right on short ones at best.
// A progressive loss takes longer: 12 per cent were right where without it 60 per cent were.
const enough = 20_000

// vetBudget finds trainings of a decoder-only model on additions that end before such models
// have learned anything. Windows and biases may show a model where to look, a stage may begin
// with what another has learned, and of a time or an amount of work nobody knows how many
// examples it is for.
func (c *checker) vetBudget(s *Spec) {
	t, l := &s.Task, s.Model.Loop
	if set := c.settings["train.budget"]; set == nil || text(set.value) == c.lang.rows["train.budget"].Default { // a trial: nobody has chosen it
		return
	}
	if t.Kind != "addition" || l == nil || t.DigitsHi < 3 || t.Interleave || !causal(l.Self.Mask) || l.Self.Bias != nil || len(c.earlier) > 0 {
		return
	}
	b := &s.Train.Budget
	examples := b.Examples + int64(b.Steps)*int64(s.Train.Batch)
	least, why := int64(enough*t.DigitsHi), ""
	if s.Train.Progressive {
		least, why = 2*least, " with a progressive loss"
	}
	if examples == 0 || examples >= least {
		return
	}
	c.report("V027", c.at("train.budget"), "%d examples are too few to learn additions of up to %d digits%s", examples, t.DigitsHi, why).
		WithHelp("such models learn from %d examples on: write train.budget = %dsteps or more, or use fewer digits or windows", 2*least, 2*least/int64(s.Train.Batch))
}
