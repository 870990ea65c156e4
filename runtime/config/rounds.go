package config

// Rounds say how a training goes on to longer problems by its own answers: in each round
// the model answers problems that are a few digits longer than those before, and is
// trained on the answers that are kept, beside true ones of the task's own lengths. The
// zero Rounds are none.
type Rounds struct {
	Until   int     // digits of the operands of the last round; 0: there are no rounds
	Step    int     // digits that a round adds
	Samples int     // problems that are asked in a round
	Votes   int     // answers to each of them, of which more than half are to be the same
	Length  int     // most digits that an answer is longer or shorter than most to operands as long; -1: any
	Newest  float64 // share of the examples of training that are of the last round
}

// Any reports whether there are rounds.
func (r Rounds) Any() bool { return r.Until > 0 }

// Count is how many rounds follow problems of so many digits.
func (r Rounds) Count(digits int) int {
	if !r.Any() {
		return 0
	}
	return (r.Until - digits + r.Step - 1) / r.Step
}

// Lengths are the digits of the operands that a round asks for, the first of which is
// number 0, behind problems of so many digits.
func (r Rounds) Lengths(digits, round int) Span {
	lo := digits + round*r.Step
	return Span{lo + 1, min(lo+r.Step, r.Until)}
}

// Begin is the step that a round begins before, of a training of so many: all rounds
// have an equal share.
func (r Rounds) Begin(digits, round, steps int) int {
	n := r.Count(digits)
	return (round*steps + n - 1) / n
}

// At is the round that a training of so many steps is in after some of them.
func (r Rounds) At(digits, step, steps int) int {
	round := 0
	for round+1 < r.Count(digits) && r.Begin(digits, round+1, steps) <= step {
		round++
	}
	return round
}
