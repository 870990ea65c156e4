package task

import (
	"math"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/philox"
)

// The most problems that are enumerated to find held-out ones, of a domain and of a set; and an
// expected number of held-out problems at which none exists with probability exp(-40).
const (
	maxCounted = 1 << 20
	maxSet     = 1 << 18
	surely     = 40
)

// Distinct is the number of different problems that training and held-out problems are drawn
// from. For a file it is infinite.
func (t *Task) Distinct() (all float64) {
	for _, u := range t.All() {
		all += u.kind.Family.Distinct(&u.cfg, u.kind.Arity)
	}
	return all
}

// Values is the number of operands of at least so many digits.
func (c *Config) Values(digits int) (all float64) {
	if c.Below > 0 {
		return float64(c.Below)
	}
	for n := digits; n <= c.DigitsHi; n++ {
		all += c.valuesOf(n)
	}
	return all
}

// valuesOf is the number of operands of so many digits.
func (c *Config) valuesOf(digits int) float64 {
	n := float64(float64(c.Base-1) * math.Pow(float64(c.Base), float64(digits-1)))
	if digits == 1 && !c.Sequence {
		n++ // 0
	}
	return n
}

// Domain yields all lists of operands of lo or more digits. The span is the length of a list.
func (t *Task) Domain(lo int, counts config.Span, yield func([][]byte) bool) {
	c := &t.cfg
	var values, factors [][]byte
	for n := lo; n <= c.DigitsHi; n++ {
		for v := range int64(c.valuesOf(n)) {
			if first := c.Smallest(n); n > 1 || c.Sequence {
				v += int64(math.Pow(float64(c.Base), float64(len(first)-1)))
			}
			values = append(values, c.Operand(v))
		}
	}
	for v := range c.Base {
		factors = append(factors, c.Operand(int64(v)))
	}
	for m := counts.Lo; m <= counts.Hi; m++ {
		x := make([][]byte, m)
		var choose func(n int) bool
		choose = func(n int) bool {
			if n == m {
				return yield(x)
			}
			of := values
			if n == 1 && t.single() {
				of = factors
			}
			for _, x[n] = range of {
				if !choose(n + 1) {
					return false
				}
			}
			return true
		}
		if !choose(0) {
			return
		}
	}
}

// A split tells how the hold-out divides problems that are drawn anew.
type split struct {
	both bool       // some are trained on, and some are held out
	held [][]string // operands of all held-out problems, if they are few
}

// bothSides looks for problems on both sides of the hold-out. It reports one side when there
// are too many problems to enumerate and one side's share of them is tiny.
func (t *Task) bothSides() (s split) {
	share, all := t.cfg.Holdout, t.Distinct()
	switch rare := min(share, 1-share); {
	case share == 0:
		return split{}
	case all*rare >= surely:
		return split{both: true}
	case all > maxCounted:
		return split{}
	}
	trained := false
	for x := range func(yield func([][]byte) bool) { t.kind.Family.Domain(t, yield) } {
		if !t.hashed(x) {
			trained = true
			continue
		}
		var operands []string
		for _, n := range x {
			operands = append(operands, string(n))
		}
		s.held = append(s.held, operands)
	}
	if s.both = trained && len(s.held) > 0; !s.both {
		s.held = nil
	}
	return s
}

// fromFew makes held-out problem k when there are few.
func (t *Task) fromFew(d *Draft, k int64, few [][]string) {
	src := t.source(d, philox.Held, uint64(k))
	x := few[src.Intn(len(few))]
	d.Room(len(x))
	for i, n := range x {
		d.Operands[i] = append(d.Operands[i][:0], n...)
	}
	if t.Arrays() {
		d.Start = src.Intn(NumLetters)
	}
	t.solve(d)
	if t.cfg.Sequence {
		t.decorate(d, src, true)
	}
}

// knownInSet returns hashes of the trained problems of a set of Examples.
func (t *Task) knownInSet() map[uint64]bool {
	known := make(map[uint64]bool, t.trained)
	for place := range t.trained {
		known[t.hashInSet(place)] = true
	}
	return known
}

// hashInSet is the hash of the example at a place in the order of the set.
func (t *Task) hashInSet(place int64) uint64 {
	var d Draft
	t.drawInSet(&d, t.orders()[0].at(place))
	return t.hash(d.Operands)
}

// unseenInSet returns the held-out places of a set of Examples whose problems are not trained
// on.
func (t *Task) unseenInSet() (places []int64) {
	known := t.known()
	for place := t.trained; place < t.cfg.Examples; place++ {
		if !known[t.hashInSet(place)] {
			places = append(places, place)
		}
	}
	return places
}

// ExpectedSeen is the expected number of these problems, all of one cell, among so many
// training examples. Problems that are held out or too long count 0.
func (t *Task) ExpectedSeen(problems []Problem, examples int64) (n float64) {
	for _, p := range problems {
		u, of := t.of(p), examples
		if k := int64(len(t.parts)); k > 0 {
			of /= k
		}
		if u.cfg.Examples > 0 {
			of = min(of, u.trained)
		}
		if u.cfg.Below > 0 && u.kind.Arity == 1 { // taken one after another
			n += float64(u.chance(p) * float64(min(of, u.trained)))
			continue
		}
		n += -math.Expm1(-float64(of) * u.chance(p))
	}
	return n
}

// chance is the probability that a training example is the problem.
func (t *Task) chance(p Problem) float64 {
	if t.cfg.Below > 0 {
		return t.chanceBelow(p)
	}
	switch chance := t.kind.Family.Chance(t, p); {
	case chance == 0 || t.cfg.Examples > 0 || !t.HoldsOut():
		return chance
	case t.isHeldOut(t.Draft(p)):
		return 0
	default:
		return chance / (1 - t.cfg.Holdout)
	}
}

// ChanceOf is the probability of drawing x when numbers have lo to hi digits.
func (c *Config) ChanceOf(x string, lo, hi int) float64 {
	if len(x) < lo || len(x) > hi {
		return 0
	}
	return 1 / float64(hi-lo+1) / c.valuesOf(len(x))
}

// chanceBelow is the probability of a problem of numbers below a bound, held out or not.
func (t *Task) chanceBelow(p Problem) float64 {
	chance := 1.0
	for i, x := range p.Operands {
		switch top := t.cfg.Operand(t.cfg.Highest()); {
		case i == 1 && t.single():
			chance /= float64(t.cfg.Base)
		case Compare([]byte(x), top) > 0:
			return 0
		default:
			chance /= float64(t.cfg.Below)
		}
	}
	return chance
}
