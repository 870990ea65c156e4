package task

import (
	"math"
	"slices"

	"github.com/arithlang/mlc/runtime/philox"
)

// Train returns training example k of the run. With Below, each operand walks the training
// numbers (or a list's) independently, epoch by epoch. Each epoch has its own order unless the
// task is Repeated. Other sequences are drawn as grid.go says.
func (t *Task) Train(k int64) Problem {
	var d Draft
	of, k := t.at(k)
	of.train(&d, k)
	return d.Problem()
}

func (t *Task) train(d *Draft, k int64) {
	switch {
	case t.Listed():
		t.fromFile(d, k, false)
	case t.cfg.Below > 0:
		if t.cfg.Repeated {
			k %= t.trained
		}
		epoch, i := uint32(k/t.trained), k%t.trained
		t.ordered(d, k, false, func(operand int) int64 {
			order := t.order(philox.Epochs, t.trained, epoch, operand)
			return order.at(i)
		})
	case len(t.course.stages) > 0:
		t.staged(d, k)
	case t.rounds != nil:
		t.inRounds(d, k)
	default:
		t.anew(d, k, false)
	}
}

// WithRounds returns the task after rounds. The function draws a training example from what
// rounds kept; not ok: the example is one of the task's own.
func (t *Task) WithRounds(example func(src *philox.Source) (p Problem, ok bool)) *Task {
	u := *t
	u.rounds = example
	return &u
}

// inRounds makes training example k.
func (t *Task) inRounds(d *Draft, k int64) {
	src := t.Source(philox.Mixed, uint64(k))
	p, ok := t.rounds(src)
	if !ok {
		t.anew(d, k, false)
		return
	}
	d.of = t
	d.Room(len(p.Operands))
	for i, x := range p.Operands {
		d.Operands[i] = append(d.Operands[i][:0], x...)
	}
	d.Answer = append(d.Answer[:0], p.Answer...)
	if t.cfg.Sequence {
		t.decorate(d, src, false)
	}
}

// Source returns random numbers that depend on the seed and this part of the task.
func (t *Task) Source(stream philox.Stream, n uint64) *philox.Source {
	return philox.NewSource(t.seed, stream, n, uint16(t.part))
}

// SplitSeed is the seed of the hold-out.
func (t *Task) SplitSeed() uint64 { return t.split }

// anew draws example k of training or of the held-out problems. It reports whether the problem
// is on that side.
func (t *Task) anew(d *Draft, k int64, held bool) bool {
	if held && t.cfg.Examples == 0 && t.cfg.Holdout > 0 {
		if few := t.sides().held; len(few) > 0 {
			t.fromFew(d, k, few)
			return true
		}
	}
	if t.cfg.Sequence {
		return t.fromGrid(d, k, held)
	}
	return t.drawn(d, k, held)
}

// HeldOut returns problem k of those that training never sees. Without a hold-out
// they are like the training problems, in another order.
func (t *Task) HeldOut(k int64) Problem {
	var d Draft
	of, k := t.at(k)
	of.heldOut(&d, k)
	return d.Problem()
}

// HoldsOut reports whether there are problems that training never sees.
func (t *Task) HoldsOut() bool {
	if len(t.parts) > 0 {
		return !slices.ContainsFunc(t.parts, func(u *Task) bool { return !u.HoldsOut() })
	}
	if set := max(t.cfg.Below, t.cfg.Examples); set > 0 {
		return t.trained < set && t.leaves()
	}
	return t.sides().both
}

// leaves reports whether a set of Examples has problems besides those that are trained on.
func (t *Task) leaves() bool {
	if t.Listed() || t.cfg.Examples == 0 {
		return true
	}
	rest, problems := float64(t.cfg.Examples-t.trained), t.Distinct()
	switch {
	case rest*math.Log(problems/float64(t.trained)) >= surely: // almost surely one is new
		return true
	case t.cfg.Examples > maxSet:
		return float64(t.trained) < surely*problems
	}
	return len(t.unseen()) > 0
}

// Set is the number of held-out or of training problems before they repeat; 0: they do not.
func (t *Task) Set(heldOut bool) int64 {
	if len(t.parts) > 0 {
		least := t.parts[0].Set(heldOut)
		for _, u := range t.parts {
			least = min(least, u.Set(heldOut))
		}
		return least * int64(len(t.parts)) // they take turns
	}
	if set := max(t.cfg.Below, t.cfg.Examples); heldOut && t.HoldsOut() && set > 0 {
		if !t.Listed() && t.cfg.Examples > 0 && t.cfg.Examples <= maxSet {
			return int64(len(t.unseen()))
		}
		return set - t.trained
	} else if set > 0 {
		return t.trained
	}
	return 0
}

func (t *Task) heldOut(d *Draft, k int64) {
	switch held := t.cfg.Below - t.trained; {
	case t.Listed():
		t.fromFile(d, k, true)
	case t.cfg.Below > 0:
		t.ordered(d, k, true, func(int) int64 {
			if held == 0 {
				return k % t.cfg.Below
			}
			return t.trained + k%held
		})
	default:
		t.anew(d, k, true)
	}
}

// ordered makes problem k from the operands at these places of the order of [0, Below). The
// rest is drawn by the number k.
func (t *Task) ordered(d *Draft, k int64, held bool, place func(operand int) int64) {
	src := t.source(d, side(held), uint64(k))
	t.numbered(d, func(operand int) int64 {
		if operand == 1 && t.single() {
			return t.factor(src)
		}
		return t.entry(t.orders()[operand].at(place(operand)), operand)
	})
	if t.cfg.Sequence {
		t.decorate(d, src, held)
	}
}

// seedOf is the seed of a stream. Streams that choose held-out problems or the set of Examples
// have the seed of the split.
func (t *Task) seedOf(stream philox.Stream) uint64 {
	switch stream {
	case philox.Split, philox.Held, philox.Values, philox.Listed, philox.Shuffled:
		return t.split
	case philox.Sampled:
		if t.cfg.Examples > 0 && !t.Listed() {
			return t.split
		}
	}
	return t.seed
}

// fixedOrders returns the orders that all epochs share: of the set of Examples, or of [0,
// Below) for each operand.
func (t *Task) fixedOrders() []permutation {
	stream, n, count := philox.Values, t.cfg.Below, t.kind.Arity
	if t.cfg.Examples > 0 {
		stream, n, count = philox.Shuffled, t.cfg.Examples, 1
	}
	orders := make([]permutation, count)
	for i := range orders {
		orders[i] = t.order(stream, n, 0, i)
		orders[i].tabulate()
	}
	return orders
}

// order is a permutation of [0, n) of this part of the task.
func (t *Task) order(stream philox.Stream, n int64, turn uint32, operand int) permutation {
	return t.orderBy(t.seedOf(stream), stream, n, turn, operand)
}

func (t *Task) orderBy(seed uint64, stream philox.Stream, n int64, turn uint32, operand int) permutation {
	return newPermutation(philox.KeyOf(seed), uint64(n), turn, uint32(stream)<<16|uint32(t.part<<8|operand))
}

// source seeds a draft's random numbers for problem k of this part of the task.
func (t *Task) source(d *Draft, stream philox.Stream, k uint64) *philox.Source {
	d.carries = false
	d.src = *philox.NewSource(t.seedOf(stream), stream, k, uint16(t.part))
	return &d.src
}

// side is the stream of a side of the hold-out.
func side(held bool) philox.Stream {
	if held {
		return philox.Held
	}
	return philox.Sampled
}

// drawn makes problem k with DigitsLo to DigitsHi digits. It reports whether the problem is on
// the wanted side of the hold-out.
func (t *Task) drawn(d *Draft, k int64, held bool) bool {
	src := t.source(d, side(held), uint64(k))
	d.carries = !held && t.carriesAt(k, src)
	lengths, n := t.cfg.DigitsHi-t.cfg.DigitsLo+1, t.number(k, held, src)
	return t.sided(d, held, func() {
		t.DrawOperands(d, src, n, func(int) int { return t.cfg.DigitsLo + src.Intn(lengths) })
	})
}

// sided draws problems until one is on the wanted side of the hold-out, and reports whether it
// found one. It gives up after so many draws that it misses an existing side with probability
// exp(-40).
func (t *Task) sided(d *Draft, held bool, draw func()) bool {
	draw()
	t.solve(d)
	if t.cfg.Holdout == 0 || !t.sides().both {
		return true
	}
	tries := int(40 / min(t.cfg.Holdout, 1-t.cfg.Holdout))
	for ; t.isHeldOut(d) != held && tries > 0; tries-- {
		draw()
		t.solve(d)
	}
	return t.isHeldOut(d) == held
}

// isHeldOut reports whether a problem is held out.
func (t *Task) isHeldOut(d *Draft) bool { return t.sides().both && t.hashed(d.Operands) }

// hashed draws the side of a problem from the hash of its text.
func (t *Task) hashed(x [][]byte) bool {
	src := philox.NewSource(t.seedOf(philox.Split), philox.Split, t.hash(x), 0)
	return src.Float64() < t.cfg.Holdout
}

// hash is the hash of a problem's text.
func (t *Task) hash(operands [][]byte) uint64 {
	h := uint64(HashOffset)
	for i, x := range operands {
		if i > 0 {
			h = Hash(h, t.kind.Op)
		}
		h = Hash(h, x)
	}
	return h
}

const HashOffset = 0xcbf29ce484222325

// Hash continues a 64-bit FNV-1a hash.
func Hash[T text](h uint64, x T) uint64 {
	for i := range len(x) {
		h = (h ^ uint64(x[i])) * 0x100000001b3
	}
	return h
}
