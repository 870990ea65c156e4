package check

// enough is the least number of examples, per digit of the longest operand, before a
// model without windows adds. Models of widths 32 and 64 were trained on up to 3 and 5
// digits. They solved half of the problems after 34,000 to 39,000 examples per digit,
// with 9 or 101 offsets, drawn once or sixteen times a step. After 20,000 they solved
// only short problems at best. A progressive loss takes longer: 12 per cent were right
// instead of 60.
const enough = 20_000

// vetBudget warns of additions for which a decoder-only model is trained too briefly. It
// skips models with windows or biases, which show where to look. It skips stages that
// begin with trained weights. It skips budgets of time or FLOP, whose number of examples
// is unknown.
func (c *checker) vetBudget(s *Spec) {
	t, l := &s.Task, s.Model.Loop
	if set := c.settings["train.budget"]; set == nil || text(set.value) == c.lang.rows["train.budget"].Default { // the default is for a trial run
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
		WithHelp("such models need about %d examples: write train.budget = %dsteps or more, or use fewer digits or windows", 2*least, 2*least/int64(s.Train.Batch))
}
