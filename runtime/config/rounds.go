package config

// Rounds extend training to longer problems by the model's own answers. In each round the model
// answers problems that are a few digits longer than the last ones. It is then trained on the
// answers that pass a filter, together with true ones of the task's own lengths. The zero
// Rounds are no rounds.
type Rounds struct {
	Until   int     // digits of the operands in the last round; 0: no rounds
	Step    int     // digits that a round adds
	Samples int     // problems that a round asks
	Votes   int     // answers to each problem; more than half must agree
	Length  int     // most digits by which an answer's length may differ from the usual length for its operands; -1: any
	Newest  float64 // share of training examples from the last round
}

// Any reports whether there are rounds.
func (r Rounds) Any() bool { return r.Until > 0 }

// Count returns how many rounds follow problems of the given number of digits.
func (r Rounds) Count(digits int) int {
	if !r.Any() {
		return 0
	}
	return (r.Until - digits + r.Step - 1) / r.Step
}

// Lengths returns the digits of the operands that a round asks for, after problems of the given
// number of digits. The first round is round 0.
func (r Rounds) Lengths(digits, round int) Span {
	lo := digits + round*r.Step
	return Span{lo + 1, min(lo+r.Step, r.Until)}
}

// Begin returns the first step of a round, in a training of the given number of steps. All
// rounds are equally long.
func (r Rounds) Begin(digits, round, steps int) int {
	n := r.Count(digits)
	return (round*steps + n - 1) / n
}

// At returns the round that a training of the given number of steps is in at a step.
func (r Rounds) At(digits, step, steps int) int {
	round := 0
	for round+1 < r.Count(digits) && r.Begin(digits, round+1, steps) <= step {
		round++
	}
	return round
}
