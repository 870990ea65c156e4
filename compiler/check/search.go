package check

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/arithlang/mlc/dsl"
)

// A Search says which trainings of a sweep to run, and for how long.
type Search struct {
	Kind   string // grid, random or halving; "": not set, so a grid
	Factor int    // halving: ratio of trainings between consecutive rungs
	Rungs  int    // halving
}

// Share returns the part of a budget that a training of halving has after a rung, counted from 0:
// all of it after the last one.
func (s Search) Share(rung int) float64 {
	return math.Pow(float64(s.Factor), float64(rung+1-s.Rungs))
}

// searching holds the attributes of a sweep.
type searching struct {
	Search
	trainings int // to draw; 0: all combinations
	seed      uint64
	at        *setting // nil: not set
}

// search reads sweep.search.
func (c *checker) search() searching {
	s := searching{at: c.settings["sweep.search"]}
	if s.at == nil {
		return s
	}
	v := c.value(c.lang.rows["sweep.search"], "sweep.search", s.at.value)
	if v == nil {
		return s
	}
	s.Kind = v.word
	if n := v.args["trainings"]; n != nil {
		s.trainings = int(n.num)
	}
	if n := v.args["seed"]; n != nil {
		s.seed = uint64(n.num)
	}
	if s.Kind == "halving" {
		s.Factor, s.Rungs = int(v.args["factor"].num), int(v.args["rungs"].num)
	}
	return s
}

// searched returns the points of a search: all combinations, or a number of drawn ones.
// ok is false if there are too many.
func (c *checker) searched(by searching) (all []point, ok bool) {
	if by.trainings == 0 {
		all, ok = c.combinations()
	} else {
		all, ok = c.drawn(by), by.trainings*max(len(c.stages), 1) <= maxPoints
	}
	for i := range all {
		p := &all[i]
		p.Search = by.Search
		if by.at != nil { // a point has only one combination of its values
			p.Set, p.at = append(p.Set, "sweep.search=grid"), append(p.at, by.at.value.Range)
		}
	}
	return all, ok
}

// A lot draws one training of a random search (Bergstra and Bengio, Journal of Machine
// Learning Research 13, 2012). Each axis draws its value independently.
type lot struct {
	seed uint64
	n    uint32 // number of the draw
	axis uint32
}

// word returns a random number that depends only on the lot.
func (d lot) word() uint64 {
	return rand.NewPCG(d.seed, uint64(d.n)<<32|uint64(d.axis)).Uint64()
}

// unit returns a random number in [0, 1).
func (d lot) unit() float64 { return float64(d.word()>>11) / (1 << 53) }

// triesPerTraining bounds the draws per distinct training. If there are few combinations,
// most draws repeat one.
const triesPerTraining = 100

// drawn returns the requested number of distinct points. A larger number begins with the
// same points.
func (c *checker) drawn(by searching) []point {
	var all []point
	seen := map[string]bool{}
	most := min(by.trainings, maxPoints+1)
	for n := 0; n < most*triesPerTraining && len(all) < most; n++ {
		p := point{own: c.single()}
		for i, axis := range c.axes {
			d := lot{by.seed, uint32(n), uint32(i)}
			p.draw = &d
			next := c.extend(p, axis)
			if len(next) == 0 {
				return all // after an error
			}
			p = next[d.word()%uint64(len(next))]
		}
		if !seen[p.Name] {
			seen[p.Name] = true
			all = append(all, p)
		}
		if c.list.HasErrors() {
			return all
		}
	}
	if len(all) < most {
		c.report("E0315", by.at.value.Range, "the sweep has %d trainings that differ, but %d are requested", len(all), by.trainings).
			WithHelp("ask for fewer, or for all with search = grid")
	}
	return all
}

// intervals are the distributions to draw a value from, by name, as functions of u in [0,
// 1).
var intervals = map[string]func(lo, hi, u float64) float64{
	"uniform":    func(lo, hi, u float64) float64 { return lo + float64((hi-lo)*u) },
	"loguniform": func(lo, hi, u float64) float64 { return lo * math.Pow(hi/lo, u) },
}

// fromInterval draws a value of an axis, or returns nil after an error.
func (c *checker) fromInterval(e *dsl.Expr, axis string, by *lot) *dsl.Expr {
	if by == nil {
		c.report("E0210", e.Range, "%s draws a value, but the search tries all combinations", e.Text).
			WithHelp("write search = random(trainings = 20) in the sweep, or list the values")
		return nil
	}
	if len(e.Args) != 2 || !plain(e.Args[0]) || !plain(e.Args[1]) || e.Arg(0).Unit != e.Arg(1).Unit {
		c.report("E0210", e.Range, "%s takes the ends of an interval, two numbers with one unit", e.Text).WithHelp("as in %s(1e-4, 1e-2) or %s(10%%, 40%%)", e.Text, e.Text)
		return nil
	}
	digits := dsl.Unit{Factor: 1}
	lo, hi := digits.Value(e.Arg(0).Text), digits.Value(e.Arg(1).Text)
	if lo >= hi || e.Text == "loguniform" && lo <= 0 {
		c.report("E0210", e.Range, "%s(%s, %s) is no interval to draw from", e.Text, text(e.Arg(0)), text(e.Arg(1))).
			WithHelp("the first number is the smaller one, and above 0 for loguniform")
		return nil
	}
	x := shortNumber(intervals[e.Text](lo, hi, by.unit()))
	if row := c.lang.meaning(axis); row != nil && (row.Type == dsl.Int || row.Type == dsl.Recurrences) {
		x = strconv.FormatFloat(math.Round(intervals[e.Text](lo, hi, by.unit())), 'f', -1, 64)
	}
	drawn := digitsAt(x, e)
	drawn.Unit = e.Arg(0).Unit
	return drawn
}

// plain reports whether an argument is a number without a name.
func plain(a dsl.Arg) bool { return a.Name == nil && a.Value.Kind == dsl.Number }

// shortNumber returns a number with three digits in a readable form.
func shortNumber(x float64) string {
	short, err := strconv.ParseFloat(fmt.Sprintf("%.3g", x), 64)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	if plain := strconv.FormatFloat(short, 'f', -1, 64); len(plain) <= 7 {
		return plain
	}
	return strconv.FormatFloat(short, 'e', -1, 64)
}
